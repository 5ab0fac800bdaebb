/** `/docs`: the list of operations as one HTML page without external resources. */
import { curlOf } from './code-samples.ts';
import { admissionOf, type Route, shownPath } from './routes.ts';

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (sign) => ESCAPES[sign] ?? sign);

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-top: 1px solid #8886; padding-top: 1rem; font-size: 1.1rem; }
code, pre { font: .875em/1.45 ui-monospace, monospace; }
pre { overflow: auto; padding: .75rem; background: #8882; border-radius: .25rem; max-height: 30rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
.method { font-weight: 700; }
`;

/** Forbids scripts, images and fonts from any origin. */
export const DOCS_HEADERS =
  "\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\nX-Content-Type-Options: nosniff";

function sectionOf(route: Route): string {
  const facts: readonly (readonly [string, string])[] = [
    ['Permission', admissionOf(route)],
    ['Rate limit', route.rateClass ?? 'none'],
    [
      'Monthly quota',
      route.charges?.quota ?? (route.quota ? `${route.quota.meter}, one per ${route.quota.per}` : 'none'),
    ],
    ['Credits', route.charges?.credits ?? String(route.credits)],
    ...route.parameters.map(
      (parameter) =>
        [
          `${parameter.name} (${parameter.in}${parameter.required ? '' : ', optional'})`,
          parameter.description,
        ] as const,
    ),
  ];
  const rows = facts
    .map(([name, value]) => `<tr><th>${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`)
    .join('');
  const curl = curlOf(route);
  const schema = (title: string, value: unknown): string =>
    `<details><summary>${title}</summary><pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre></details>`;
  return [
    `<h2 id="${route.id}"><span class="method">${route.method}</span> <code>${escapeHtml(shownPath(route))}</code></h2>`,
    `<p>${escapeHtml(route.summary)}. ${escapeHtml(route.description)}</p>`,
    `<table>${rows}</table>`,
    curl === null ? '' : `<pre>${escapeHtml(curl)}</pre>`,
    route.body === null ? '' : schema('Schema of the body', route.body),
    typeof route.response === 'string' ? '' : schema('Schema of the response', route.response),
  ].join('\n');
}

/** Returns the HTML of `/docs`. */
export function docsPage(version: string, all: readonly Route[]): string {
  const operations = all.filter(({ isListed }) => isListed);
  const links = operations
    .map(
      (route) =>
        `<li><a href="#${route.id}"><code>${route.method} ${escapeHtml(shownPath(route))}</code></a> ${escapeHtml(route.summary)}</li>`,
    )
    .join('\n');
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Assay ${escapeHtml(version)}</title><style>${STYLE}</style></head>
<body>
<h1>Assay ${escapeHtml(version)}</h1>
<p>Send <code>Authorization: Bearer &lt;API key&gt;</code>. A success is <code>{"success":true,"data":…}</code>, an error <code>{"error":"…"}</code>. The same as an OpenAPI document: <a href="/openapi.json">/openapi.json</a>. To try the operations in the browser, with scripts: <a href="/docs/api">/docs/api</a>. Replace <code>&lt;…&gt;</code> in the commands by your own values.</p>
<p>How to use and operate Assay: <a href="/docs/guide">/docs/guide</a>, with search.</p>
<ul>
${links}
</ul>
${operations.map(sectionOf).join('\n')}
</body>
</html>
`;
}

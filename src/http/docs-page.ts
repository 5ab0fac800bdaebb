/** `/docs`: the table of operations as one HTML page without external resources. */
import { API_BASE, admissionOf, ROUTES, type Route } from './routes.ts';

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

const placeOf = (route: Route): string => (route.stands === 'api' ? `${API_BASE}${route.path}` : route.path);

function curlOf(route: Route): string {
  const example: Readonly<Record<string, string>> = {
    chain: 'ETH',
    address: '0x28c6c06298d514db089934071355e5743bf21d60',
    ...(route.upload === undefined ? {} : { kind: 'labels', format: 'csv' }),
  };
  const query = route.parameters
    .filter((parameter) => parameter.in === 'query')
    .map((parameter) => `${parameter.name}=${example[parameter.name] ?? ''}`)
    .join('&');
  const path = placeOf(route).replace(/\{(\w+)\}/g, (_whole, name: string) => example[name] ?? name);
  const url = `http://127.0.0.1:8080${path}${query === '' ? '' : `?${query}`}`;
  const key = route.permission === null ? '' : " -H 'Authorization: Bearer <API key>'";
  const body =
    route.body === null
      ? ''
      : ` -d '${JSON.stringify(route.handler === 'screenBulk' ? { chain: example.chain, addresses: [example.address] } : example)}'`;
  const file = route.upload === undefined ? '' : ' --data-binary @addresses.csv';
  return `curl -s '${url}'${key}${body}${file}`;
}

function sectionOf(route: Route): string {
  const facts: readonly (readonly [string, string])[] = [
    ['Permission', admissionOf(route)],
    ['Rate limit', route.rateClass ?? 'none'],
    [
      'Monthly quota',
      route.takes?.quota ?? (route.quota ? `${route.quota.meter}, one per ${route.quota.per}` : 'none'),
    ],
    ['Credits', route.takes?.credits ?? String(route.credits)],
    ...route.parameters.map(
      (parameter) =>
        [
          `${parameter.name} (${parameter.in}${parameter.required ? '' : ', optional'})`,
          parameter.about,
        ] as const,
    ),
  ];
  const rows = facts
    .map(([name, value]) => `<tr><th>${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`)
    .join('');
  const schema = (title: string, value: unknown): string =>
    `<details><summary>${title}</summary><pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre></details>`;
  return [
    `<h2 id="${route.handler}"><span class="method">${route.method}</span> <code>${escapeHtml(placeOf(route))}</code></h2>`,
    `<p>${escapeHtml(route.summary)}. ${escapeHtml(route.description)}</p>`,
    `<table>${rows}</table>`,
    `<pre>${escapeHtml(curlOf(route))}</pre>`,
    route.body === null ? '' : schema('Schema of the body', route.body),
    typeof route.answer === 'string' ? '' : schema('Schema of the answer', route.answer),
  ].join('\n');
}

/** Returns the HTML of `/docs`. */
export function docsPage(version: string): string {
  const links = ROUTES.map(
    (route) =>
      `<li><a href="#${route.handler}"><code>${route.method} ${escapeHtml(placeOf(route))}</code></a> ${escapeHtml(route.summary)}</li>`,
  ).join('\n');
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Assay ${escapeHtml(version)}</title><style>${STYLE}</style></head>
<body>
<h1>Assay ${escapeHtml(version)}</h1>
<p>Send <code>Authorization: Bearer &lt;API key&gt;</code>. A success is <code>{"success":true,"data":…}</code>, an error <code>{"error":"…"}</code>. The same as a document: <a href="/openapi.json">/openapi.json</a>.</p>
<ul>
${links}
</ul>
${ROUTES.map(sectionOf).join('\n')}
</body>
</html>
`;
}

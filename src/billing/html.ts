/** Parts of pages to print. All texts of people are escaped, and the policy of a page forbids scripts and every source: it needs neither. */
import { createHash } from 'node:crypto';

/** A page, and the policy of its response. */
export interface PrintedPage {
  readonly html: string;
  readonly policy: string;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

/** Escapes a text for an element or an attribute. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"'`]/g, (char) => ESCAPES[char] ?? '');

/** A text of a person, isolated in its direction. */
export const own = (text: string): string => `<bdi>${escapeHtml(text)}</bdi>`;

/** The style of all pages to print. */
export const STYLE = `body{font:14px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#111;background:#fff}
h1{font-size:1.4rem;margin:2rem 0 1rem}address{font-style:normal}
table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{border-bottom:1px solid #bbb;padding:.4rem .5rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}tfoot th{border-bottom:0}
@media print{body{margin:0;max-width:none}tr{break-inside:avoid}}`;

/** The policy of a page with `STYLE`. */
export const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; sandbox; frame-ancestors 'none'`;

export const CENTS = 100;

/** Returns an amount with its currency, such as `1,299.00 USD`. */
export function money(amount: number, currency: string): string {
  const cents = Math.abs(amount);
  const whole = Math.floor(cents / CENTS).toLocaleString('en-US');
  return `${amount < 0 ? '−' : ''}${whole}.${String(cents % CENTS).padStart(2, '0')} ${currency}`;
}

/** Returns a page. */
export const printedPage = (title: string, body: string): PrintedPage => ({
  html: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body>
${body}
</body>
</html>
`,
  policy: POLICY,
});

/** Returns a row of a table with a label and a number. */
export const numberRow = (label: string, value: string): string =>
  `<tr><th scope="row">${label}</th><td class="n">${value}</td></tr>`;

/** Returns a row of a table with a label and a text, which is HTML. */
export const textRow = (label: string, html: string): string =>
  `<tr><th scope="row">${label}</th><td>${html}</td></tr>`;

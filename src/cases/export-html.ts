/**
 * The printable page of an exported case. All text of people is escaped and isolated in its direction, and a policy forbids scripts and
 * every source: the page needs neither.
 */
import { createHash } from 'node:crypto';
import { caseAnswer, eventAnswer } from './answers.ts';
import type { CaseEvent, CaseRecord } from './records.ts';
import { traceText } from './trace-view.ts';

/** Characters of HTML, `&` first, and control characters that reverse text beyond their element: these are shown by their code. */
const ESCAPES: readonly (readonly [string, string])[] = [
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
  ['`', '&#96;'],
  ...[
    '\u061c',
    '\u200e',
    '\u200f',
    '\u202a',
    '\u202b',
    '\u202c',
    '\u202d',
    '\u202e',
    '\u2066',
    '\u2067',
    '\u2068',
    '\u2069',
  ].map((char): [string, string] => [
    char,
    `[U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
  ]),
];

/** Returns a text as HTML. A function for each character would take ten times as long, and a case may have a million of them. */
export function escapeHtml(text: string): string {
  let html = text;
  for (const [char, shown] of ESCAPES) if (html.includes(char)) html = html.split(char).join(shown);
  return html;
}

/** A text of a person. */
const own = (text: string): string => `<bdi>${escapeHtml(text)}</bdi>`;

const STYLE = `body{font:14px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#111;background:#fff;overflow-wrap:anywhere}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}th,td{border:1px solid #bbb;padding:.3rem .5rem;text-align:left;vertical-align:top}
th{background:#f2f2f2}.note{white-space:pre-wrap}
@media print,(min-width:40rem){thead th,td:nth-child(-n+2){overflow-wrap:normal}}
@media print{body{margin:0;max-width:none}tr{break-inside:avoid}}`;

const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

const row = (...cells: readonly string[]): string =>
  `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;

const table = (header: readonly string[], rows: readonly string[]): string =>
  rows.length === 0
    ? '<p>None.</p>'
    : `<table><thead><tr>${header.map((cell) => `<th scope="col">${cell}</th>`).join('')}</tr></thead><tbody>\n${rows.join('\n')}\n</tbody></table>`;

const orDash = (text: string | null): string => (text === null ? '–' : own(text));

/** Says in one line what a link refers to. */
const subjectOf = ({
  id,
  chain,
  address,
  name,
}: Pick<CaseRecord['links'][number], 'id' | 'chain' | 'address' | 'name'>): string =>
  [name, chain, address, id].filter((part) => part !== null).join(' ');

/** Returns the cell that says what an event did. */
function detailOf({ change, link, file, decision, note }: ReturnType<typeof eventAnswer>): string {
  const parts = [
    change === null ? '' : `${change.field}: ${orDash(change.from)} → ${orDash(change.to)}`,
    link === null ? '' : `${link.type}: ${own(subjectOf(link))}`,
    file === null
      ? ''
      : `${own(file.name)} (${file.contentType}, ${file.bytes} bytes, SHA-256 ${file.sha256})`,
    decision === null
      ? ''
      : `${decision.action} ${decision.disposition} ${own(decision.reasonCode)} (event ${decision.proposal})`,
    note === null ? '' : `<div class="note">${own(note)}</div>`,
  ];
  return parts.filter((part) => part !== '').join('<br>');
}

/** Returns the page of a case and its events, oldest first. */
export function casePageHtml(record: CaseRecord, events: readonly CaseEvent[]): string {
  const shown = caseAnswer(record);
  const facts: readonly (readonly [string, string | null])[] = [
    ['Id', shown.id],
    ['Version', String(shown.version)],
    ['Status', shown.status],
    ['Priority', shown.priority],
    ['Assignee', shown.assignee],
    ['Due', shown.dueAt],
    ['Four-eyes rule', shown.fourEyes ? 'yes' : 'no'],
    ['Disposition', shown.disposition],
    ['Reason', shown.reasonCode],
    ['Decided by', shown.decidedBy],
    ['Approved by', shown.approvedBy],
    ['Created', `${shown.createdAt} by ${shown.createdBy}`],
    ['Updated', shown.updatedAt],
    ['Closed', shown.closedAt],
  ];
  const title = `Case ${shown.number}: ${shown.title}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Case ${shown.number}: ${own(shown.title)}</h1>
<table><tbody>
${facts.map(([name, value]) => `<tr><th scope="row">${name}</th><td>${orDash(value)}</td></tr>`).join('\n')}
</tbody></table>
<h2>Links</h2>
${table(
  ['Event', 'Type', 'Subject', 'Label', 'Data version', 'SHA-256 of the answer'],
  shown.links.map((link) =>
    row(
      String(link.event),
      link.type,
      `${own(subjectOf(link))}${link.trace ? `<br>${own(traceText(link.trace))}` : ''}`,
      orDash(link.label),
      orDash(link.answer?.dataVersion ?? link.trace?.dataVersion ?? null),
      orDash(link.answer?.sha256 ?? null),
    ),
  ),
)}
<h2>History</h2>
${table(
  ['No.', 'Time (UTC)', 'By', 'Type', 'Detail'],
  events
    .map(eventAnswer)
    .map((event) => row(String(event.sequence), event.at, own(event.by), event.type, detailOf(event))),
)}
</body>
</html>
`;
}

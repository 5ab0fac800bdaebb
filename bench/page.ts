/** One page of several runs, without scripts and without a network: their tables, and a plot of the figures that have a goal. */
import { escapeHtml } from '../src/cases/export-html.ts';
import { type Change, COMPARED_HEAD, type Comparison, comparedCells, comparisonNotes } from './compare.ts';
import { type BenchReport, type BenchRow, goalText, runNotes, shown } from './report.ts';

/** How far a figure is from its goal: 1 is the goal, more is better. Null without a goal, and for a goal of a ratio without a control. */
export function reached({ goal, value, ratio }: BenchRow): number | null {
  if (goal === null) return null;
  const judged = goal.of === 'ratio' ? ratio : value;
  if (judged === null) return null;
  if (goal.atLeast !== undefined) return goal.atLeast === 0 ? null : judged / goal.atLeast;
  if (goal.atMost === undefined || goal.atMost === 0) return null;
  return judged <= 0 ? null : goal.atMost / judged;
}

const PLOT = { width: 640, name: 300, row: 22, nameChars: 46 };
const SPAN = PLOT.width - PLOT.name;
const GOAL_X = PLOT.name + SPAN / 2;

/** The plot spans a tenth to ten times the goal, on a logarithmic scale: the goal is its middle. */
const xOf = (share: number): number => GOAL_X + Math.max(-1, Math.min(1, Math.log10(share))) * (SPAN / 2);

/** Returns the mark of one place of the scale, from the top of the plot to its end. */
function mark(share: number, height: number): string {
  const x = xOf(share).toFixed(1);
  const anchor = share === 0.1 ? 'start' : share === 10 ? 'end' : 'middle';
  return [
    `<line class="${share === 1 ? 'goal' : 'grid'}" x1="${x}" x2="${x}" y1="${PLOT.row}" y2="${height}"/>`,
    `<text x="${x}" y="14" text-anchor="${anchor}">${share === 1 ? 'goal' : `${share} ×`}</text>`,
  ].join('');
}

/** A share beyond the ends of the scale is written on its bar, which would otherwise look like that of a share at the end. */
function beyond(share: number, y: number): string {
  if (share >= 0.1 && share <= 10) return '';
  const [x, anchor] = share > 10 ? [PLOT.width - 4, 'end'] : [PLOT.name + 4, 'start'];
  return `<text class="beyond" x="${x}" y="${y + 15}" text-anchor="${anchor}">${shown(share)} ×</text>`;
}

function bar(name: string, share: number, y: number): string {
  const short = name.length > PLOT.nameChars ? `${name.slice(0, PLOT.nameChars - 1)}…` : name;
  const end = xOf(share);
  const width = Math.max(1, Math.abs(end - GOAL_X)).toFixed(1);
  return [
    `<text x="${PLOT.name - 8}" y="${y + 15}" text-anchor="end">${escapeHtml(short)}</text>`,
    `<rect class="${share >= 1 ? 'met' : 'missed'}" x="${Math.min(GOAL_X, end).toFixed(1)}" y="${y + 4}"`,
    ` width="${width}" height="${PLOT.row - 8}">`,
    `<title>${escapeHtml(name)}: ${shown(share)} of the goal</title></rect>`,
    beyond(share, y),
  ].join('');
}

function plot(rows: readonly BenchRow[]): string {
  let figure = '';
  const judged = rows.flatMap((row) => {
    const name = row.name.trim();
    const isPart = row.name.startsWith(' ');
    if (!isPart) figure = name;
    const share = reached(row);
    // Rows below different figures may have one name, such as p99.
    return share === null ? [] : [{ name: isPart ? `${name} – ${figure}` : name, share }];
  });
  if (judged.length === 0) return '';
  const height = (judged.length + 1) * PLOT.row;
  return [
    `<svg viewBox="0 0 ${PLOT.width} ${height}" role="img" aria-label="Figures beside their goals">`,
    ...[0.1, 0.5, 1, 2, 10].map((share) => mark(share, height)),
    ...judged.map(({ name, share }, at) => bar(name, share, (at + 1) * PLOT.row)),
    '</svg>',
  ].join('');
}

const cell = (text: string, kind = ''): string => `<td${kind && ` class="${kind}"`}>${escapeHtml(text)}</td>`;

function table(head: readonly string[], lines: readonly string[]): string {
  const names = head.map((text) => `<th scope="col">${escapeHtml(text)}</th>`).join('');
  const rows = lines.map((line) => `<tr>${line}</tr>`).join('');
  return `<table><thead><tr>${names}</tr></thead><tbody>${rows}</tbody></table>`;
}

function section(report: BenchReport): string {
  const subject = Object.entries(report.subject).map(([part, size]) => `${part}: ${size}`);
  const lines = report.rows.map((row) =>
    [
      cell(row.name, row.name.startsWith(' ') ? 'part' : ''),
      cell(shown(row.value)),
      cell(row.unit),
      cell(goalText(row.goal)),
      cell(row.control === null ? '' : shown(row.control)),
      cell(row.ratio === null ? '' : `${shown(row.ratio)} ×`),
      row.met === null ? cell('') : cell(row.met ? 'yes' : 'no', row.met ? 'met' : 'missed'),
    ].join(''),
  );
  return [
    `<section><h2>${escapeHtml(report.name)}</h2><p>${escapeHtml(subject.join(' · '))}</p>`,
    ...runNotes(report).map((note) => `<p class="missed">${escapeHtml(note)}</p>`),
    plot(report.rows),
    table(['', 'value', 'unit', 'goal', 'control', 'ratio', 'goal met'], lines),
    '</section>',
  ].join('\n');
}

const KINDS: Readonly<Record<Change, string>> = { worse: 'missed', better: 'met', changed: '', same: '' };

function comparisonSection(comparison: Comparison): string {
  const { name, before, repetitions, rows } = comparison;
  const lines = rows.map((row) =>
    comparedCells(row)
      .map((text, at) => cell(text, at === COMPARED_HEAD.length - 1 ? KINDS[row.mark] : ''))
      .join(''),
  );
  return [
    `<section><h2>${escapeHtml(name)}, compared with ${escapeHtml(before)}</h2>`,
    `<p>Runs: ${repetitions}. ${escapeHtml(comparisonNotes(comparison).join(' '))}</p>`,
    table(COMPARED_HEAD, lines),
    '</section>',
  ].join('\n');
}

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1c2330;background:#fff}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}td,th{padding:.2rem .6rem;border-bottom:1px solid #dfe3ea;text-align:right}
td:first-child,th:first-child{text-align:left}td.part{padding-left:1.8rem}td.met{color:#0b6b3a}td.missed{color:#a3162a;font-weight:600}
svg{width:100%;height:auto;font-size:11px}svg text{fill:#1c2330}svg text.beyond{fill:#fff}.grid{stroke:#dfe3ea}.goal{stroke:#1c2330}rect.met{fill:#2f9e63}rect.missed{fill:#d1495b}
@media (prefers-color-scheme:dark){body{color:#e6e9ef;background:#12161d}svg text{fill:#e6e9ef}svg text.beyond{fill:#fff}.goal{stroke:#e6e9ef}.grid,td,th{border-color:#2c3440;stroke:#2c3440}td.met{color:#5fd39a}td.missed{color:#ff8b98}}`;

/**
 * Returns the page of some runs.
 *
 * @param title - plain text; says what the runs are, such as a quick run
 */
export function reportPage(
  title: string,
  reports: readonly BenchReport[],
  comparisons: readonly Comparison[] = [],
): string {
  const [first] = reports;
  const machine = first
    ? `${first.machine.cpu}, ${first.machine.cores} cores, ${first.machine.memoryGb} GB · Node ${first.machine.node} · ${first.program === undefined ? '' : `${first.program} · `}${first.startedAt}`
    : '';
  const judged = reports.flatMap(({ rows }) => rows.filter(({ met }) => met !== null));
  const met = judged.filter((row) => row.met === true).length;
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body>`,
    `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(machine)}</p>`,
    `<p>Goals met: ${met} of ${judged.length}. Bars to the right of the line are better than the goal.</p>`,
    ...comparisons.map(comparisonSection),
    ...reports.map(section),
    '</body></html>\n',
  ].join('\n');
}

/** One page of several runs, without scripts and without a network: their tables, and a plot of the figures that have a goal. */
import { escapeHtml } from '../src/cases/export-html.ts';
import type { Comparison } from './compare.ts';
import { type BenchReport, type BenchRow, goalText, shown } from './harness.ts';

/** How far a figure is from its goal: 1 is the goal, more is better. Null without a goal. */
export function reached({ goal, value, ratio }: BenchRow): number | null {
  if (goal === null) return null;
  const judged = goal.of === 'ratio' ? (ratio ?? value) : value;
  if (goal.atLeast !== undefined) return goal.atLeast === 0 ? null : judged / goal.atLeast;
  if (goal.atMost === undefined || goal.atMost === 0) return null;
  return judged <= 0 ? null : goal.atMost / judged;
}

/** The plot spans a tenth to ten times the goal, on a logarithmic scale: the goal is its middle. */
const PLOT = { width: 640, name: 300, row: 22, decades: 1 };

function plot(rows: readonly BenchRow[]): string {
  const judged = rows.flatMap((row) => {
    const share = reached(row);
    return share === null ? [] : [{ row, share }];
  });
  if (judged.length === 0) return '';
  const span = PLOT.width - PLOT.name;
  const middle = PLOT.name + span / 2;
  const height = (judged.length + 1) * PLOT.row;
  const bars = judged.map(({ row, share }, at) => {
    const log = Math.max(-PLOT.decades, Math.min(PLOT.decades, Math.log10(share)));
    const end = middle + (log / PLOT.decades) * (span / 2);
    const y = (at + 1) * PLOT.row;
    const name = row.name.trim();
    return [
      `<text x="${PLOT.name - 8}" y="${y + 15}" text-anchor="end">${escapeHtml(name.length > 46 ? `${name.slice(0, 45)}…` : name)}</text>`,
      `<rect class="${share >= 1 ? 'met' : 'missed'}" x="${Math.min(middle, end).toFixed(1)}" y="${y + 4}" width="${Math.max(1, Math.abs(end - middle)).toFixed(1)}" height="${PLOT.row - 8}"><title>${escapeHtml(name)}: ${shown(share)} of the goal</title></rect>`,
    ].join('');
  });
  const marks = [0.1, 0.5, 1, 2, 10].map((share) => {
    const x = (middle + (Math.log10(share) / PLOT.decades) * (span / 2)).toFixed(1);
    const anchor = share === 0.1 ? 'start' : share === 10 ? 'end' : 'middle';
    return `<line class="${share === 1 ? 'goal' : 'grid'}" x1="${x}" x2="${x}" y1="${PLOT.row}" y2="${height}"/><text x="${x}" y="14" text-anchor="${anchor}">${share === 1 ? 'goal' : `${share} ×`}</text>`;
  });
  return `<svg viewBox="0 0 ${PLOT.width} ${height}" role="img" aria-label="Figures beside their goals">${marks.join('')}${bars.join('')}</svg>`;
}

const cell = (text: string, kind = ''): string => `<td${kind && ` class="${kind}"`}>${escapeHtml(text)}</td>`;

const table = (head: readonly string[], lines: readonly string[]): string =>
  `<table><thead><tr>${head.map((text) => `<th scope="col">${escapeHtml(text)}</th>`).join('')}</tr></thead><tbody>${lines.map((line) => `<tr>${line}</tr>`).join('')}</tbody></table>`;

function section(report: BenchReport): string {
  const subject = Object.entries(report.subject).map(([part, size]) => `${part}: ${size}`);
  const lines = report.rows.map((row) =>
    [
      cell(row.name),
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
    plot(report.rows),
    table(['', 'value', 'unit', 'goal', 'control', 'ratio', 'goal met'], lines),
    '</section>',
  ].join('\n');
}

function comparison({ name, before, rows, repetitions, differs, missing }: Comparison): string {
  const lines = rows.map((row) =>
    [
      cell(row.name),
      cell(shown(row.before)),
      cell(shown(row.after)),
      cell(row.of === 'ratio' ? '× control' : row.unit),
      cell(Number.isFinite(row.change) ? `${(100 * row.change).toFixed(1)} %` : '–'),
      cell(`±${(100 * row.noise).toFixed(1)} %`),
      cell(
        row.mark === 'same' ? '' : row.mark,
        row.mark === 'worse' ? 'missed' : row.mark === 'better' ? 'met' : '',
      ),
    ].join(''),
  );
  const notes = [
    ...(differs.length > 0 ? [`Not the same subject (${differs.join(', ')}): its figures say little.`] : []),
    ...(missing.length > 0 ? [`In one of the two only: ${missing.join('; ')}.`] : []),
  ];
  return [
    `<section><h2>${escapeHtml(name)}, compared with ${escapeHtml(before)}</h2><p>Runs: ${repetitions}. ${escapeHtml(notes.join(' '))}</p>`,
    table(['', 'before', 'after', 'unit', 'change', 'noise', ''], lines),
    '</section>',
  ].join('\n');
}

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1c2330;background:#fff}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}td,th{padding:.2rem .6rem;border-bottom:1px solid #dfe3ea;text-align:right}
td:first-child,th:first-child{text-align:left}td.met{color:#0b6b3a}td.missed{color:#a3162a;font-weight:600}
svg{width:100%;height:auto;font-size:11px}svg text{fill:#1c2330}.grid{stroke:#dfe3ea}.goal{stroke:#1c2330}rect.met{fill:#2f9e63}rect.missed{fill:#d1495b}
@media (prefers-color-scheme:dark){body{color:#e6e9ef;background:#12161d}svg text{fill:#e6e9ef}.goal{stroke:#e6e9ef}.grid,td,th{border-color:#2c3440;stroke:#2c3440}td.met{color:#5fd39a}td.missed{color:#ff8b98}}`;

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
    ? `${first.machine.cpu}, ${first.machine.cores} cores, ${first.machine.memoryGb} GB · Node ${first.machine.node} · ${first.startedAt}`
    : '';
  const judged = reports.flatMap(({ rows }) => rows.filter(({ met }) => met !== null));
  const met = judged.filter((row) => row.met === true).length;
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body>`,
    `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(machine)}</p><p>Goals met: ${met} of ${judged.length}. Bars to the right of the line are better than the goal.</p>`,
    ...comparisons.map(comparison),
    ...reports.map(section),
    '</body></html>\n',
  ].join('\n');
}

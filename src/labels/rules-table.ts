/** The table of rules in docs/reference/sources.md, generated from data/sources.json. */
import { shippedSources } from './source-table.ts';

const HEAD = ['Rule', 'Version', 'Source', 'Precision', 'Recall', 'Measured on', 'Date'];

const rateText = (rate: number | null): string => (rate === null ? 'not measured' : String(rate));

/**
 * Returns the table of all rules that derive labels, with their measured rates, or the reason why there are none.
 *
 * @returns Markdown.
 */
export function rulesMarkdown(): string {
  const rows = shippedSources().rows.flatMap(({ id, derivation }) => {
    if (derivation === undefined) return [];
    const { rule, version, precision, recall, measuredOn, measuredAt, notMeasured } = derivation;
    const text = [measuredOn, notMeasured].filter((part) => part !== null).join('. ');
    return [
      [
        ...[`\`${rule}\``, String(version), `\`${id}\``, rateText(precision), rateText(recall)],
        ...[text, measuredAt ?? ''],
      ],
    ];
  });
  return [HEAD, HEAD.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

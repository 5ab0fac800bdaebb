/** The table of sources in docs/reference/sources.md, generated from the descriptors. */
import { NAME_SOURCES, REGISTER_SOURCES, SOURCES } from './index.ts';
import type { NameSource, RegisterSource, Source } from './source.ts';

const HEAD = ['Argument', 'Data', 'Publisher', 'Sanctions lists', 'Download', 'Licence'];

const rowOf = (source: Source | NameSource | RegisterSource): readonly string[] => [
  `\`${source.id}\``,
  source.homepage === null ? source.name : `[${source.name}](${source.homepage})`,
  source.publisher,
  'lists' in source ? source.lists.map(({ id }) => `\`${id}\``).join(', ') : '',
  source.files.length > 0 ? 'yes' : '',
  source.licence ?? '',
];

/**
 * Returns the table of all sources.
 *
 * @param sources - Sources of labels.
 * @returns Markdown.
 */
export const sourcesMarkdown = (sources: readonly Source[] = SOURCES): string =>
  [HEAD, HEAD.map(() => '---'), ...[...sources, ...NAME_SOURCES, ...REGISTER_SOURCES].map(rowOf)]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');

/** The table of sources in docs/reference/sources.md, generated from the descriptors. */
import { NAME_SOURCES, REGISTER_SOURCES, SOURCES } from './index.ts';
import type { NameSource, RegisterSource, Source } from './source.ts';

const HEAD = ['Argument', 'Data', 'Publisher', 'Sanctions lists', 'Download', 'Licence'];

/** How the files arrive: by every sync, by one that names the source, or by hand. */
function downloadWord(source: Source | NameSource | RegisterSource): string {
  if (source.account !== null) return `by hand, with ${source.account}`;
  if (source.files.length === 0 && source.listing === null) return '';
  if (source.restriction !== null) return 'if the licence is accepted';
  return 'byDefault' in source && !source.byDefault ? 'if named, or with `labels sync --all`' : 'yes';
}

const rowOf = (source: Source | NameSource | RegisterSource): readonly string[] => [
  `\`${source.id}\``,
  source.homepage === null ? source.name : `[${source.name}](${source.homepage})`,
  source.publisher,
  'lists' in source ? source.lists.map(({ id }) => `\`${id}\``).join(', ') : '',
  downloadWord(source),
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

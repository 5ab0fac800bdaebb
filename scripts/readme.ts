/**
 * Writes the tables of settings and operations of the README, and the table of sources of docs/reference/sources.md, from the code
 * that defines them: `npm run readme`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../src/base/paths.ts';
import { SETTINGS } from '../src/config/config.ts';
import { routesMarkdown } from '../src/http/routes.ts';
import { sourcesMarkdown } from '../src/sources/table.ts';

/** Settings with a machine-dependent default, which is described in words. */
const TOLD_IN_WORDS = new Set(['ASSAY_DATA_DIR', 'ASSAY_WORKERS']);

function settingsMarkdown(): string {
  const rows = Object.values(SETTINGS).map(({ variable, fallback, about }) => {
    const shown = fallback === '' || TOLD_IN_WORDS.has(variable) ? '' : `\`${fallback}\``;
    return `| \`${variable}\` | ${shown} | ${about} |`;
  });
  return ['| Variable | Default | What it does |', '|---|---|---|', ...rows].join('\n');
}

/** Returns the text with the part between `<!-- name -->` and `<!-- /name -->` replaced. */
function withSection(text: string, name: string, content: string): string {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = text.indexOf(open);
  const to = text.indexOf(close);
  if (from < 0 || to < from) throw new Error(`The text has no section ${name}.`);
  return `${text.slice(0, from + open.length)}\n${content}\n${text.slice(to)}`;
}

/** Returns the README with both tables up to date. */
export function readmeOf(text: string): string {
  return withSection(withSection(text, 'settings', settingsMarkdown()), 'routes', routesMarkdown());
}

/** Returns docs/reference/sources.md with its table up to date. */
export const sourcesPageOf = (text: string): string => withSection(text, 'sources', sourcesMarkdown());

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, update] of [
    ['README.md', readmeOf],
    ['docs/reference/sources.md', sourcesPageOf],
  ] as const) {
    const path = join(projectRoot, name);
    writeFileSync(path, update(readFileSync(path, 'utf8')));
  }
}

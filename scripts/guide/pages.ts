/** The list of pages of the guide, in the order of its navigation. The pages, the search, the Markdown twins and llms.txt follow from it. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Path prefix of the pages. */
export const GUIDE = '/docs/guide';

export interface PageSource {
  /** Last segment of the path of the page. */
  readonly slug: string;
  /** Path of the Markdown file, relative to the project. */
  readonly file: string;
}

export interface SectionSources {
  readonly title: string;
  readonly pages: readonly PageSource[];
}

interface SectionPlan {
  readonly title: string;
  /** Files below docs/, without `.md`, in their order. */
  readonly named: readonly string[];
  /** Folder whose other files follow in alphabetical order, relative to the project. */
  readonly rest: string | null;
}

const PLAN: readonly SectionPlan[] = [
  {
    title: 'Guides',
    named: [
      'guides/first-hour',
      'guides/dashboard',
      'guides/screening',
      'guides/tracing',
      'guides/names',
      'guides/monitoring',
      'guides/bulk-jobs',
      'guides/accounts',
      'guides/billing',
    ],
    rest: 'docs/guides',
  },
  { title: 'Client libraries', named: [], rest: 'sdk' },
  {
    title: 'Data',
    named: [
      'guides/data-and-lists',
      'own-labels',
      'own-names',
      'transfers',
      'prices-csv',
      'registers-csv',
      'guides/chains',
      'guides/air-gap',
    ],
    rest: 'docs',
  },
  {
    title: 'Operation',
    named: ['OPERATIONS', 'guides/many-nodes', 'guides/load-balancers', 'guides/supply-chain'],
    rest: null,
  },
  {
    title: 'Reference',
    named: [
      'reference/api',
      'reference/cli',
      'reference/configuration',
      'reference/errors',
      'reference/metrics',
      'reference/sources',
      'reference/endpoint-layouts',
      'benchmarks',
      'reference/figures',
      'glossary',
    ],
    rest: 'docs/reference',
  },
  { title: 'Design', named: ['ARCHITECTURE', 'benchmark-history'], rest: 'docs/decisions' },
];

/** Returns the Markdown files of a folder; in `sdk`, those are the README files of its libraries. */
function filesOf(root: string, folder: string): readonly string[] {
  const path = join(root, folder);
  if (!existsSync(path)) return [];
  const entries = readdirSync(path, { withFileTypes: true });
  const files =
    folder === 'sdk'
      ? entries
          .filter((entry) => entry.isDirectory() && existsSync(join(path, entry.name, 'README.md')))
          .map(({ name }) => `${folder}/${name}/README.md`)
      : entries
          .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
          .map(({ name }) => `${folder}/${name}`);
  return files.toSorted();
}

/** A decision often has the name of a guide, and every library has a README: both get a prefix. */
function slugOf(file: string): string {
  const name = basename(file, '.md').toLowerCase();
  const folder = dirname(file);
  if (folder === 'docs/decisions') return `decision-${name}`;
  return folder.startsWith('sdk/') ? `sdk-${basename(folder)}` : name;
}

/**
 * Returns the sections and their pages. A new file of a folder becomes a page without an entry here.
 *
 * @param root - folder of the project
 * @throws if a named file is missing, or two files would have the same path
 */
export function guideSections(root: string): readonly SectionSources[] {
  const named = new Set(PLAN.flatMap((section) => section.named.map((name) => `docs/${name}.md`)));
  const seen = new Map<string, string>();
  const sections = PLAN.map(({ title, named: first, rest }) => {
    const own = first.map((name) => `docs/${name}.md`);
    const others = rest === null ? [] : filesOf(root, rest).filter((file) => !named.has(file));
    const pages = [...own, ...others].map((file) => {
      const slug = slugOf(file);
      const twin = seen.get(slug);
      if (twin !== undefined) throw new Error(`${file} and ${twin} would both be ${GUIDE}/${slug}.`);
      if (!existsSync(join(root, file))) throw new Error(`${file}: no such file (scripts/guide/pages.ts).`);
      seen.set(slug, file);
      return { slug, file };
    });
    return { title, pages };
  });
  return sections.filter(({ pages }) => pages.length > 0);
}

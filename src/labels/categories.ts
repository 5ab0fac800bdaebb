/** Categories as rows of data (data/categories.json): threat, weight, and what every publisher's word means in our taxonomy. */
import { readFileSync } from 'node:fs';
import { AssayError } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';
import type { ChainFamily } from '../chains/registry.ts';
import type { SanctionsList } from '../sources/records.ts';
import { CATEGORIES, type Category, THREAT_LEVELS, type ThreatLevel } from './taxonomy.ts';

export interface CategoryRow {
  readonly id: Category;
  readonly threatLevel: ThreatLevel;
  /** Risk points, 0 to 100, of owning an address of this category. */
  readonly weight: number;
  /** Tracing and taint stop at services. */
  readonly service: boolean;
  /** The address is usually a contract, which is labelled on its own chain only. */
  readonly contract: boolean;
  /** Counterparts in foreign vocabularies. */
  readonly interpol: readonly string[];
  readonly chainalysis: readonly string[];
  readonly explorer: readonly string[];
}

/** How much a word decides: 3 an abuse, 2 a kind of service, 1 too general to outweigh anything, 0 nothing. */
export type Strength = 0 | 1 | 2 | 3;

export interface Classification {
  readonly category: Category;
  readonly strength: Strength;
  /** The record repeats another publisher's list: it counts only until that list itself is loaded. */
  readonly copyOf: SanctionsList | null;
  /** Words that the vocabulary does not know. */
  readonly unknown: readonly string[];
}

export interface Taxonomy {
  /** The row of a category. */
  of(category: Category): CategoryRow;
  /** All rows, in the order of the taxonomy. */
  readonly rows: readonly CategoryRow[];
  /** Whether the vocabulary knows the word, if only to say that it means nothing. */
  knows(word: string): boolean;
  /**
   * Decides the category of a record from the publisher's words, most specific first, its printed name, and the chain family
   * of the address. The strongest word wins, the first of equals; a name pattern wins over words that are not stronger than
   * it allows. OTHER with strength 0 where nothing says anything.
   */
  classify(words: readonly string[], name: string, family: ChainFamily | null): Classification;
}

interface WordRow {
  readonly category: Category;
  readonly strength: Strength;
  readonly byFamily?: Readonly<Partial<Record<ChainFamily, Category>>>;
}

interface NameRow {
  readonly pattern: string;
  readonly category: Category;
  /** The strongest word that the pattern may override. */
  readonly over: Strength;
  readonly copyOf?: SanctionsList;
  readonly why: string;
}

interface CategoriesFile {
  readonly version: number;
  readonly categories: readonly CategoryRow[];
  readonly words: Readonly<Record<string, WordRow>>;
  readonly combinations: readonly { readonly all: readonly string[]; readonly category: Category }[];
  readonly names: readonly NameRow[];
}

const categoryIds: ReadonlySet<string> = new Set(CATEGORIES);
const threatLevels: ReadonlySet<string> = new Set(THREAT_LEVELS);

export const isCategory = (text: string): text is Category => categoryIds.has(text);
export const isThreatLevel = (text: string): text is ThreatLevel => threatLevels.has(text);

/** How bad a threat level is: 0 (SAFE) to 4 (CRITICAL). */
export const threatOrder = (level: ThreatLevel): number => THREAT_LEVELS.indexOf(level);

/** The form in which words are compared: lower case, separators as `_`. */
export const normalWord = (word: string): string =>
  word
    .trim()
    .toLowerCase()
    .replace(/[\s/-]+/g, '_');

const NOTHING_SAID: WordRow = { category: 'OTHER', strength: 0 };

/** Reads and checks data/categories.json. Throws STORE_CORRUPT naming what is wrong with it. */
export function loadTaxonomy(path: string = shippedData('categories.json')): Taxonomy {
  const file = JSON.parse(readFileSync(path, 'utf8')) as CategoriesFile;
  const rows = new Map<Category, CategoryRow>(file.categories.map((row) => [row.id, row]));
  checkFile(file, rows, path);
  const words = new Map(Object.entries(file.words));
  const names = file.names.map((row) => ({ ...row, test: new RegExp(row.pattern, 'iu') }));

  const of = (category: Category): CategoryRow => rows.get(category) as CategoryRow;

  function strongest(said: readonly string[], family: ChainFamily | null): WordRow {
    const set = new Set(said);
    let best = NOTHING_SAID;
    for (const row of file.combinations) {
      if (row.all.every((word) => set.has(word))) best = { category: row.category, strength: 2 };
    }
    for (const word of said) {
      const row = words.get(word);
      if (row && row.strength > best.strength) best = row;
    }
    const here = family === null ? undefined : best.byFamily?.[family];
    return here === undefined ? best : { ...best, category: here };
  }

  return {
    of,
    rows: CATEGORIES.map(of),
    knows: (word) => words.has(normalWord(word)),
    classify(printed, name, family) {
      const said = printed.map(normalWord);
      const unknown = said.filter((word) => !words.has(word));
      const best = strongest(said, family);
      const named = names.find((row) => best.strength <= row.over && row.test.test(name));
      if (!named) return { category: best.category, strength: best.strength, copyOf: null, unknown };
      const strength: Strength = best.strength === 3 ? 3 : 2;
      return { category: named.category, strength, copyOf: named.copyOf ?? null, unknown };
    },
  };
}

function checkFile(file: CategoriesFile, rows: ReadonlyMap<Category, CategoryRow>, path: string): void {
  const refuse = (what: string): never => {
    throw new AssayError('STORE_CORRUPT', `${path}: ${what}.`);
  };
  for (const id of CATEGORIES) if (!rows.has(id)) refuse(`category ${id} has no row`);
  for (const row of file.categories) {
    if (!isCategory(row.id)) refuse(`'${String(row.id)}' is not a category`);
    if (!isThreatLevel(row.threatLevel)) refuse(`threatLevel of ${row.id} is not one`);
    if (!(row.weight >= 0 && row.weight <= 100)) refuse(`weight of ${row.id} is not 0 to 100`);
  }
  const named = [...Object.values(file.words), ...file.combinations, ...file.names];
  for (const row of named)
    if (!isCategory(row.category)) refuse(`'${String(row.category)}' is not a category`);
}

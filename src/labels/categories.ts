/**
 * Categories as rows of data (data/categories.json): threat, weight, and the meaning of every publisher's word in the taxonomy
 * of Assay.
 */
import { readFileSync } from 'node:fs';
import { AssayError } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';
import type { ChainFamily } from '../chains/registry.ts';
import type { SanctionsList } from '../sources/index.ts';
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

/** How specific a word is: 3 an abuse, 2 a kind of service, 1 too general to outweigh another word, 0 no meaning. */
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
  /** Returns the row of a category. */
  of(category: Category): CategoryRow;
  /** All rows, in the order of the taxonomy. */
  readonly rows: readonly CategoryRow[];
  /** Returns whether the vocabulary contains the word, including words that it lists as meaningless. */
  knows(word: string): boolean;
  /**
   * Decides the category of a record. The word with the highest strength wins; among equals, the first. A name pattern wins
   * over words up to the strength that it allows.
   *
   * @param words The publisher's words, most specific first.
   * @param name The printed name.
   * @param family The chain family of the address.
   * @returns OTHER with strength 0 if neither a word nor the name decides.
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
  /** The highest strength of a word that the pattern overrides. */
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

/** Returns whether a text is the id of a category. */
export const isCategory = (text: string): text is Category => categoryIds.has(text);
/** Returns whether a text is a threat level. */
export const isThreatLevel = (text: string): text is ThreatLevel => threatLevels.has(text);

/** Returns the rank of a threat level: 0 (SAFE) to 4 (CRITICAL). */
export const threatOrder = (level: ThreatLevel): number => THREAT_LEVELS.indexOf(level);

/** Returns the form in which words are compared: lower case, separators as `_`. */
export const normalWord = (word: string): string =>
  word
    .trim()
    .toLowerCase()
    .replace(/[\s/-]+/g, '_');

const NO_MEANING: WordRow = { category: 'OTHER', strength: 0 };

/**
 * Reads and validates data/categories.json.
 *
 * @throws STORE_CORRUPT naming the faulty row.
 */
export function loadTaxonomy(path: string = shippedData('categories.json')): Taxonomy {
  const file = JSON.parse(readFileSync(path, 'utf8')) as CategoriesFile;
  const rows = new Map<Category, CategoryRow>(file.categories.map((row) => [row.id, row]));
  checkFile(file, rows, path);
  const words = new Map(Object.entries(file.words));
  const names = file.names.map((row) => ({ ...row, test: new RegExp(row.pattern, 'iu') }));

  const of = (category: Category): CategoryRow => rows.get(category) as CategoryRow;

  function strongest(candidates: readonly string[], family: ChainFamily | null): WordRow {
    const set = new Set(candidates);
    let best = NO_MEANING;
    for (const row of file.combinations) {
      if (row.all.every((word) => set.has(word))) best = { category: row.category, strength: 2 };
    }
    for (const word of candidates) {
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
      const normal = printed.map(normalWord);
      const unknown = normal.filter((word) => !words.has(word));
      const best = strongest(normal, family);
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
    if (!isThreatLevel(row.threatLevel)) refuse(`threatLevel of ${row.id} is not a threat level`);
    if (!(row.weight >= 0 && row.weight <= 100)) refuse(`weight of ${row.id} must be 0 to 100`);
  }
  const named = [...Object.values(file.words), ...file.combinations, ...file.names];
  for (const row of named)
    if (!isCategory(row.category)) refuse(`'${String(row.category)}' is not a category`);
}

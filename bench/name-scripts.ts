/**
 * Pairs of a name in its own script and a name in Latin letters. The matches are parties of the official lists with one Latin name and
 * one name in another script, and Japanese names with their romaji; the near misses are other parties that share a word with the Latin
 * name. The set is drawn from the lists when the benchmark runs, so each row has the list and the id of its party as source.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../src/base/paths.ts';
import { nameConfidence } from '../src/names/model.ts';
import type { NameEntity } from '../src/names/name.ts';
import { parseName } from '../src/names/parse.ts';
import { seeded } from './name-lists.ts';

export interface ScriptPair {
  readonly script: string;
  readonly own: string;
  readonly latin: string;
  readonly right: boolean;
  /** List and id of the party of `own`. */
  readonly source: string;
}

const SCRIPTS = [
  'Arabic',
  'Hebrew',
  'Han',
  'Hangul',
  'Hiragana',
  'Katakana',
  'Thai',
  'Devanagari',
  'Greek',
  'Georgian',
  'Armenian',
  'Cyrillic',
] as const;
const PATTERNS = SCRIPTS.map((script) => [script, new RegExp(`\\p{Script=${script}}{2}`, 'u')] as const);
const scriptOf = (text: string): string | null =>
  PATTERNS.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
const LATIN = /\p{Script=Latin}{2}/u;

/** Pairs of each script; the scripts of few parties have all of them. */
const PER_SCRIPT = 60;

interface Candidate {
  readonly script: string;
  readonly own: string;
  readonly latin: string;
  readonly source: string;
}

/** Draws the pairs from the lists: the same entities give the same pairs. */
export function crossScriptPairs(entities: readonly NameEntity[], seed = 29): ScriptPair[] {
  const random = seeded(seed);
  const people = entities.filter((entity) => entity.schema === 'Person');
  const byWord = new Map<string, { readonly source: string; readonly text: string }[]>();
  const candidates = new Map<string, Candidate[]>();
  for (const { list, entityId, names } of people) {
    const source = `${list} ${entityId}`;
    const latin = names.filter((name) => LATIN.test(name.text) && scriptOf(name.text) === null);
    const others = names.filter((name) => scriptOf(name.text) !== null && !LATIN.test(name.text));
    for (const { text } of latin) {
      for (const part of parseName(text).parts) {
        if (part.kind !== 'name' || part.text.length < 4) continue;
        const known = byWord.get(part.text);
        if (known) known.push({ source, text });
        else byWord.set(part.text, [{ source, text }]);
      }
    }
    // With one name of each kind there is no doubt which of them belong together.
    if (new Set(latin.map((name) => name.text.toLowerCase())).size !== 1 || others.length !== 1) continue;
    const [own, text] = [others[0]?.text ?? '', latin[0]?.text ?? ''];
    const script = scriptOf(own) as string;
    const row = { script, own, latin: text, source };
    const known = candidates.get(script);
    if (known) known.push(row);
    else candidates.set(script, [row]);
  }
  const pairs: ScriptPair[] = [];
  for (const script of [...candidates.keys()].sort()) {
    for (const row of sample(candidates.get(script) as Candidate[], PER_SCRIPT, random)) {
      pairs.push({ ...row, right: true });
      const miss = nearMiss(row, byWord, random);
      if (miss !== null) pairs.push({ ...row, latin: miss, right: false });
    }
  }
  return [...pairs, ...japanesePairs(random)];
}

/** Another party that shares a word, but not most words, with the Latin name of a row. */
function nearMiss(
  row: Candidate,
  byWord: ReadonlyMap<string, readonly { readonly source: string; readonly text: string }[]>,
  random: () => number,
): string | null {
  const own = new Set(parseName(row.latin).parts.map((part) => part.folded));
  const others = [...own]
    .flatMap((word) => byWord.get(word) ?? [])
    .filter(({ source, text }) => {
      // The same party may be on another list.
      if (source === row.source || source.split(' ')[0] !== row.source.split(' ')[0]) return false;
      const words = parseName(text).parts.filter((part) => part.kind === 'name');
      return words.length > 1 && words.filter((part) => own.has(part.folded)).length * 2 <= words.length;
    });
  return others[Math.floor(random() * others.length)]?.text ?? null;
}

/** How many names of people in one script match a Latin name of their own party at 0.7. */
export interface OwnScript {
  readonly names: number;
  readonly found: number;
}

/**
 * Compares every strong name of a person in another script with the Latin names of the same party, as the lists have them: with their errors, and
 * with names that are no spellings of each other.
 *
 * @param score - Returns the confidence of two names.
 */
export function ownScriptRecall(
  entities: readonly NameEntity[],
  score: (own: string, latin: string) => number,
): Readonly<Record<string, OwnScript>> {
  const found: Record<string, { names: number; found: number }> = {};
  for (const { schema, names } of entities) {
    const latin = names.filter(({ text, weak }) => !weak && LATIN.test(text) && scriptOf(text) === null);
    if (schema !== 'Person' || latin.length === 0) continue;
    for (const { text, weak } of names) {
      const script = scriptOf(text);
      if (weak || script === null || LATIN.test(text)) continue;
      const row = found[script] ?? { names: 0, found: 0 };
      row.names++;
      if (latin.some((each) => score(text, each.text) >= 0.7)) row.found++;
      found[script] = row;
    }
  }
  return found;
}

interface Politicians {
  readonly sources: Readonly<Record<string, string>>;
  /** Script, name in it, Latin name, key of the source. */
  readonly pairs: readonly (readonly [string, string, string, string])[];
}

/**
 * Returns the pairs of `name-politicians.json`, and for each two near misses: its given name with the family name of another politician who writes
 * the same script, and its family name with the given name of another.
 */
export function politicianPairs(): ScriptPair[] {
  const { sources, pairs } = JSON.parse(
    readFileSync(join(projectRoot, 'bench', 'name-politicians.json'), 'utf8'),
  ) as Politicians;
  const all: ScriptPair[] = [];
  for (const script of new Set(pairs.map((pair) => pair[0]))) {
    const rows = pairs.filter((pair) => pair[0] === script);
    for (const [at, [, own, latin, key]] of rows.entries()) {
      const row = { script, own, source: sources[key] ?? key };
      all.push({ ...row, latin, right: true });
      for (const made of missesOf(rows, at)) all.push({ ...row, latin: made, right: false });
    }
  }
  return all;
}

/** Rows between the politician of a pair and the first other one whose name is tried: neighbours share a letter. */
const STEP = 7;

function missesOf(rows: Politicians['pairs'], at: number): string[] {
  const [, own, latin] = rows[at] as Politicians['pairs'][number];
  const words = latin.split(' ');
  const [given, family] = [words[0] as string, words.at(-1) as string];
  for (let step = 1; step < rows.length; step++) {
    const [, otherOwn, otherLatin] = rows[(at + step * STEP) % rows.length] as Politicians['pairs'][number];
    const others = otherLatin.split(' ');
    const [otherGiven, otherFamily] = [others[0] as string, others.at(-1) as string];
    if (otherOwn === own || isAlike(given, otherGiven) || isAlike(family, otherFamily)) continue;
    return [[otherGiven, ...words.slice(1)].join(' '), [...words.slice(0, -1), otherFamily].join(' ')];
  }
  return [];
}

const isAlike = (one: string, other: string): boolean =>
  nameConfidence(parseName(one), parseName(other)) > 0.6;

function japanesePairs(random: () => number): ScriptPair[] {
  const { family, given, source } = JSON.parse(
    readFileSync(join(projectRoot, 'bench', 'name-japanese.json'), 'utf8'),
  ) as { family: [string, string][]; given: [string, string][]; source: string };
  const pairs: ScriptPair[] = [];
  for (let at = 0; at < PER_SCRIPT; at++) {
    const [kanji, romaji] = family[Math.floor(random() * family.length)] as [string, string];
    const [name, spelled] = given[Math.floor(random() * given.length)] as [string, string];
    const [, other] = given[Math.floor(random() * given.length)] as [string, string];
    const row = { script: 'Japanese', own: `${kanji}${name}`, source };
    pairs.push({ ...row, latin: `${spelled} ${romaji}`, right: true });
    if (other !== spelled) pairs.push({ ...row, latin: `${other} ${romaji}`, right: false });
  }
  return pairs;
}

function sample<T>(rows: readonly T[], count: number, random: () => number): T[] {
  const left = [...rows];
  const out: T[] = [];
  while (out.length < count && left.length > 0)
    out.push(left.splice(Math.floor(random() * left.length), 1)[0] as T);
  return out;
}

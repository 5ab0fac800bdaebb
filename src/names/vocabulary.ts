/** The words of `data/names/`, read once when the first name is parsed. */
import { readFileSync } from 'node:fs';
import { AssayError, messageOf } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';

export interface Vocabulary {
  /** `limited liability company` → its kind; keys are words joined by one space. */
  readonly forms: ReadonlyMap<string, string>;
  /** The most words that a form has. */
  readonly longestForm: number;
  readonly honorifics: ReadonlySet<string>;
  readonly particles: ReadonlySet<string>;
  /** Particles that are written as one with what they stand before (`abd al rahman`). */
  readonly joining: ReadonlySet<string>;
  readonly numbers: ReadonlyMap<string, number>;
  readonly tens: ReadonlyMap<string, number>;
  readonly roman: ReadonlyMap<string, number>;
  /** Numbers of the groups of given names that a word stands in. */
  readonly nicknames: ReadonlyMap<string, readonly number[]>;
  /** The first word of the group that a descriptive word stands in. */
  readonly descriptive: ReadonlyMap<string, string>;
  /** How much less a common word says than a rare one, 0–1. */
  readonly commonness: ReadonlyMap<string, number>;
}

let loaded: Vocabulary | undefined;

export function vocabulary(): Vocabulary {
  loaded ??= load();
  return loaded;
}

function readJson<T>(name: string): T {
  const path = shippedData('names', name);
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T;
  } catch (cause) {
    throw new AssayError('STORE_CORRUPT', `${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

function load(): Vocabulary {
  const { kinds } = readJson<{ kinds: Record<string, string[]> }>('organisation-forms.json');
  const forms = new Map<string, string>();
  for (const [kind, phrases] of Object.entries(kinds)) {
    for (const phrase of phrases) if (!forms.has(phrase)) forms.set(phrase, kind);
  }
  const particles = readJson<{ words: string[]; joining: string[] }>('particles.json');
  const numbers = readJson<{
    words: Record<string, number>;
    tens: Record<string, number>;
    roman: Record<string, number>;
  }>('numbers.json');
  const nicknames = new Map<string, number[]>();
  for (const [group, words] of readJson<{ groups: string[] }>('nicknames.json').groups.entries()) {
    for (const word of words.split(' ')) {
      const groups = nicknames.get(word);
      if (groups) groups.push(group);
      else nicknames.set(word, [group]);
    }
  }
  const descriptive = new Map<string, string>();
  for (const group of readJson<{ groups: string[] }>('descriptive-words.json').groups) {
    const words = group.split(' ');
    for (const word of words) if (!descriptive.has(word)) descriptive.set(word, words[0] as string);
  }
  const { counts, names } = readJson<{ names: number; counts: Record<string, number> }>('common-words.json');
  const rarest = Math.log(names / RARE_COUNT);
  const commonness = new Map(
    Object.entries(counts).map(([word, count]) => [
      word,
      Math.min(1, Math.max(0, 1 - Math.log(names / count) / rarest)),
    ]),
  );
  return {
    forms,
    longestForm: Math.max(...[...forms.keys()].map((phrase) => phrase.split(' ').length)),
    honorifics: new Set(readJson<{ words: string[] }>('honorifics.json').words),
    particles: new Set(particles.words),
    joining: new Set(particles.joining),
    numbers: new Map(Object.entries(numbers.words)),
    tens: new Map(Object.entries(numbers.tens)),
    roman: new Map(Object.entries(numbers.roman)),
    nicknames,
    descriptive,
    commonness,
  };
}

/** A word of at most so many names of the counted list is as rare as any. */
const RARE_COUNT = 8;

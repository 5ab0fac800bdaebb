/** The words of `data/names/`, loaded when the first name is parsed. */
import { readShipped } from './shipped.ts';
import { fold } from './sound.ts';
import { formWord, transliterateWord } from './transliterate.ts';

export interface Vocabulary {
  /** Maps `limited liability company` to its kind; keys are words joined by one space. */
  readonly forms: ReadonlyMap<string, string>;
  /** Forms of one word that are also names of people (`se`, `ag`). */
  readonly nameForms: ReadonlySet<string>;
  /** Maximum number of words of a form. */
  readonly longestForm: number;
  /** The first words of longer forms, joined by one space. */
  readonly formStarts: ReadonlySet<string>;
  readonly honorifics: ReadonlySet<string>;
  readonly particles: ReadonlySet<string>;
  /** Particles that join with the next word (`abd al rahman`). */
  readonly joining: ReadonlySet<string>;
  /** Words that are one half of many names (`abd`, `din`). */
  readonly halves: ReadonlySet<string>;
  readonly numbers: ReadonlyMap<string, number>;
  readonly tens: ReadonlyMap<string, number>;
  readonly roman: ReadonlyMap<string, number>;
  /** Numbers of the groups of given names that contain a word. */
  readonly nicknames: ReadonlyMap<string, readonly number[]>;
  /** Forms of several words, with each of their longer words removed in turn: the removed word and the kind. */
  readonly formsWithout: ReadonlyMap<string, readonly { readonly word: string; readonly kind: string }[]>;
  /** The longer words of forms of several words. */
  readonly formWords: ReadonlySet<string>;
  /** Forms of one long word, with their kinds, by the number of their letters. */
  readonly longForms: ReadonlyMap<number, readonly { readonly form: string; readonly kind: string }[]>;
  /**
   * Number of the group of words with one meaning that contains a descriptive word; distinct from the numbers in
   * `nicknames`.
   */
  readonly descriptive: ReadonlyMap<string, number>;
  /** How much less distinctive a common word is than a rare one, 0–1. */
  readonly commonness: ReadonlyMap<string, number>;
  /** How frequent a name is among the people of the counted countries, 0–1, by its folded spelling. */
  readonly frequency: ReadonlyMap<string, number>;
  /** Folded words that occur in the names of people, and hardly in others. */
  readonly personWords: ReadonlySet<string>;
  /**
   * All words that may be more than a name: those of `forms`, `formStarts`, `formWords`, `honorifics`, `particles`, `numbers`, `tens`, `roman` and
   * `descriptive`.
   */
  readonly special: ReadonlySet<string>;
}

/** Minimum length: a shorter word with a wrong letter could be any other word. */
const SLIPPED_LEAST = 5;
const LONG_FORM = 7;
/** First number of the groups of descriptive words. */
const DESCRIPTIVE_FROM = 100_000;

let loaded: Vocabulary | undefined;

/** Returns the vocabulary, which is loaded on the first call. */
export function vocabulary(): Vocabulary {
  loaded ??= load();
  return loaded;
}

const readJson = <T>(name: string): T => readShipped('names', name);

function load(): Vocabulary {
  const { forms, nameForms } = readForms();
  const particles = readJson<{ words: string[]; joining: string[]; halves: string[] }>('particles.json');
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
  const formsWithout = new Map<string, { word: string; kind: string }[]>();
  const formWords = new Set<string>();
  for (const [phrase, kind] of forms) {
    const words = phrase.split(' ');
    if (words.length === 1) continue;
    for (const [at, word] of words.entries()) {
      if (word.length < SLIPPED_LEAST) continue;
      formWords.add(word);
      const key = words.map((each, place) => (place === at ? '' : each)).join(' ');
      const known = formsWithout.get(key);
      if (known) known.push({ word, kind });
      else formsWithout.set(key, [{ word, kind }]);
    }
  }
  const descriptive = new Map<string, number>();
  for (const [at, group] of readJson<{ groups: string[] }>('descriptive-words.json').groups.entries()) {
    for (const word of group.split(' '))
      if (!descriptive.has(word)) descriptive.set(word, DESCRIPTIVE_FROM + at);
  }
  const { counts, names } = readJson<{ names: number; counts: Record<string, number> }>('common-words.json');
  const rarest = Math.log(names / RARE_COUNT);
  const commonness = new Map(
    Object.entries(counts).map(([word, count]) => [
      word,
      Math.min(1, Math.max(0, 1 - Math.log(names / count) / rarest)),
    ]),
  );
  const formStarts = formStartsOf(forms);
  const { words: honorifics } = readJson<{ words: string[] }>('honorifics.json');
  const counted = [numbers.words, numbers.tens, numbers.roman].flatMap((words) => Object.keys(words));
  return {
    forms,
    nameForms,
    formsWithout,
    formWords,
    longForms: longFormsOf(forms),
    formStarts,
    special: new Set([
      ...[...forms.keys(), ...formStarts].filter((phrase) => !phrase.includes(' ')),
      ...[...formWords, ...honorifics, ...particles.words, ...counted, ...descriptive.keys()],
    ]),
    longestForm: Math.max(...[...forms.keys()].map((phrase) => phrase.split(' ').length)),
    honorifics: new Set(honorifics),
    particles: new Set(particles.words),
    joining: new Set(particles.joining),
    halves: new Set(particles.halves),
    numbers: new Map(Object.entries(numbers.words)),
    tens: new Map(Object.entries(numbers.tens)),
    roman: new Map(Object.entries(numbers.roman)),
    nicknames,
    descriptive,
    commonness,
    ...readFrequencies(),
  };
}

function formStartsOf(forms: ReadonlyMap<string, string>): ReadonlySet<string> {
  const starts = new Set<string>();
  for (const phrase of forms.keys())
    for (let at = phrase.indexOf(' '); at > 0; at = phrase.indexOf(' ', at + 1))
      starts.add(phrase.slice(0, at));
  return starts;
}

function longFormsOf(forms: ReadonlyMap<string, string>): Vocabulary['longForms'] {
  const byLength = new Map<number, { form: string; kind: string }[]>();
  for (const [form, kind] of forms) {
    if (form.length < LONG_FORM || form.includes(' ')) continue;
    const known = byLength.get(form.length);
    if (known) known.push({ form, kind });
    else byLength.set(form.length, [{ form, kind }]);
  }
  return byLength;
}

/** Reads the legal forms: those in Latin letters first, which decide if a form has two kinds. */
function readForms(): Pick<Vocabulary, 'forms' | 'nameForms'> {
  const { kinds, people, languages } = readJson<{
    kinds: Record<string, string[]>;
    people: string[];
    languages: Record<string, Record<string, string[]>>;
  }>('organisation-forms.json');
  const forms = new Map<string, string>();
  for (const [kind, phrases] of Object.entries(kinds)) {
    for (const phrase of phrases) if (!forms.has(phrase)) forms.set(phrase, kind);
  }
  for (const own of Object.values(languages)) {
    for (const [kind, phrases] of Object.entries(own)) {
      for (const phrase of phrases.map(writtenPhrase)) if (!forms.has(phrase)) forms.set(phrase, kind);
    }
  }
  return { forms, nameForms: new Set(people) };
}

/** Returns the words of a form as a name with it has them, without dots. */
const writtenPhrase = (form: string): string =>
  form
    .normalize('NFKC')
    .replace(/[.'\u2019\u02bc\u02bb\u05f4]/g, '')
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .flatMap((word) => transliterateWord(word))
    .map(formWord)
    .join(' ');

/** Shares in hundred-thousandths: a name of this share in one country, or more, is as common as a name can be. */
const COMMON_SHARE = 2_000;
const RARE_SHARE = 10;

/** Frequencies of names by country: `data/names/frequencies.json`. */
export interface CountryNames {
  readonly given: Readonly<Record<string, number>>;
  readonly family: Readonly<Record<string, number>>;
}

/** Reads the frequencies of given names and surnames of each country. */
export const readCountryNames = (): Readonly<Record<string, CountryNames>> =>
  readJson<{ countries: Record<string, CountryNames> }>('frequencies.json').countries;

function readFrequencies(): Pick<Vocabulary, 'frequency' | 'personWords'> {
  const frequency = new Map<string, number>();
  const personWords = new Set(readJson<{ words: string }>('person-words.json').words.split(' '));
  const span = Math.log(COMMON_SHARE / RARE_SHARE);
  for (const { given, family } of Object.values(readCountryNames())) {
    for (const list of [given, family]) {
      for (const [name, share] of Object.entries(list)) {
        for (const { text } of transliterateWord(name.toLowerCase())) {
          const folded = fold(text);
          const common = Math.min(1, Math.max(0, Math.log(share / RARE_SHARE) / span));
          frequency.set(folded, Math.max(common, frequency.get(folded) ?? 0));
          personWords.add(folded);
        }
      }
    }
  }
  return { frequency, personWords };
}

/** A word counts as rare if at most this many names of the counted list have it. */
const RARE_COUNT = 8;

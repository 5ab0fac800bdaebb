/** Which kind of party a query names, and the matches that this rules out: a person is no company, and no vessel. */
import type { PartySchema } from '../sources/records.ts';
import type { Judgement } from './model.ts';
import type { NameQuery } from './name.ts';
import { isGivenAbjad, type NamePart } from './name-parts.ts';
import type { ParsedName } from './parse.ts';
import { isPinyin } from './readings/wade.ts';
import { vocabulary } from './vocabulary.ts';

/** Maximum score of a party of another kind than the query names; it is below the default threshold. */
const OTHER_KIND_MOST = 0.6;

export type AskedKind = 'Person' | 'Organization' | null;

/** Returns the kind of party that a query names: its `schema`, or what its words say; null if they say nothing. */
export function kindOf(query: NameQuery, asked: ParsedName): AskedKind {
  if (query.schema === 'Person') return 'Person';
  if (query.schema === 'Organization') return 'Organization';
  if (asked.forms.length > 0) return 'Organization';
  return namesPerson(asked) ? 'Person' : null;
}

/**
 * Returns whether the query may name a person with words that were read as legal forms (`Pak Han Se`): its `schema` says so, or says nothing and
 * people have such names.
 */
export function mayNamePerson({ schema }: NameQuery, asked: ParsedName): boolean {
  if (schema === 'Person') return asked.forms.length > 0;
  return asked.mayBePerson === true && (schema ?? 'Unknown') === 'Unknown';
}

/** Returns whether all words of a name are usual in the names of people. */
function namesPerson(asked: ParsedName): boolean {
  const { personWords } = vocabulary();
  let names = 0;
  let known = 0;
  let free = 0;
  let isMarked = asked.family !== 0;
  for (const part of asked.parts) {
    if (part.kind === 'initial') isMarked = true;
    else if (part.kind === 'descriptive' || part.kind === 'number') return false;
    else if (part.kind === 'name') {
      names++;
      if (part.script === 'latin' && (personWords.has(part.folded) || isPatronymic(part))) known++;
      // The word for a firm, a bank or a foundation is the first of its name.
      else if (names === 1 && part.script === 'abjad' && isGivenAbjad(part.origin)) known++;
      else if (part.script === 'latin' ? isPinyin(part.text) : isArabicName(part)) free++;
    }
  }
  if (names === 0) return false;
  // Any syllables can be a Chinese given name if a surname is beside them, and any word an Arabic surname beside a given name.
  // Abbreviations of organisations are written in capitals too, so half of the names must be those of people.
  return isMarked
    ? known > 0 && known * 2 >= names
    : names >= 2 && known > 0 && known + (names <= FREE_WORDS_MAX ? free : 0) === names;
}

const FREE_WORDS_MAX = 3;
/** `for` and `and` at the beginning of a word are those of firms (`للتجارة`, for trade; `وأولاده`, and sons). */
const ARABIC_JOINED = /^(?:لل|وا)/u;

const isArabicName = (part: NamePart): boolean => part.script === 'abjad' && !ARABIC_JOINED.test(part.origin);

const isPatronymic = (part: NamePart): boolean => /(?:ovich|evich|ovna|evna|ovych|ivna)$/.test(part.text);

/** Returns the maximum score of a listed party of some kind. Equal names are ruled out only if the query states its kind. */
export function mostForKinds(
  kind: AskedKind,
  query: NameQuery,
  schema: PartySchema,
  identical: boolean,
): number {
  if (schema === 'Unknown' || kind === null) return 1;
  const isPerson = schema === 'Person';
  if (isPerson === (kind === 'Person')) return 1;
  const isStated = (query.schema ?? 'Unknown') !== 'Unknown';
  return identical && !isStated ? 1 : OTHER_KIND_MOST;
}

/**
 * Returns whether only a single name matches: it does not identify a party with several names, nor a person. It identifies another party
 * only if it is the same word.
 */
export function isPartial(
  asked: ParsedName,
  judged: Judgement,
  schema: PartySchema,
  identical: boolean,
): boolean {
  if (judged.features.partial > 0) return true;
  return asked.forms.length === 0 && asked.parts.length === 1 && (schema === 'Person' || !identical);
}

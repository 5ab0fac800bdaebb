/** The request of a name screening, and the form on its way to the page. Names stay out of the URL: logs keep URLs, and names are personal data. */

import { callWhole, type ResponseOf, type Schemas } from '../../api/client.ts';
import { everyOf } from '../../api/every.ts';
import { hasKey, keyFor, renewKey } from '../../api/repeat-key.ts';
import { readTab, writeTab } from '../../api/tab-storage.ts';

export type NamesAnswer = ResponseOf<'/namescreen/bulk', 'post'>;
export type NameResult = NamesAnswer['results'][number];
export type Match = NameResult['topMatches'][number];
export type NameQuery = Schemas['NamesBody']['names'][number];

/** Bounds of the OpenAPI document: names of a request, and characters of one. */
export const NAMES_MAX = 50;
export const NAME_CHARS_MAX = 300;
export const SCHEMAS = ['Person', 'Organization', 'Vessel'] as const;
/** Kinds of numbers that identify a party, and the characters of one. */
export const IDENTIFIERS = everyOf<keyof NonNullable<NameQuery['identifiers']>>()([
  'imo',
  'tailNumber',
  'lei',
  'registrationNumber',
  'passport',
  'nationalId',
]);
export const IDENTIFIER_CHARS_MAX = 64;
export type IdentifierKind = (typeof IDENTIFIERS)[number];

const STORED = 'names';

const bodyOf = (names: readonly NameQuery[]) => ({ names: [...names] });

/** Keeps the names that the person asks to screen, over a reload and from the search box. */
export function keepNames(names: readonly NameQuery[]): void {
  writeTab(STORED, JSON.stringify(names));
  keyFor('names', bodyOf(names));
}

/** Returns the names that were kept last. */
export function keptNames(): readonly NameQuery[] {
  const parsed: unknown = JSON.parse(readTab(STORED) ?? '[]');
  return Array.isArray(parsed) ? (parsed as readonly NameQuery[]) : [];
}

/** Whether the person asked to screen the names less than a day ago. Later, the page may not do it without a press: it would be charged. */
export const isAsked = (names: readonly NameQuery[]): boolean => hasKey('names', bodyOf(names));

/** Makes the next screening of the names a new, charged one. */
export function renewNames(names: readonly NameQuery[]): void {
  renewKey('names', bodyOf(names));
}

/** Screens names. Another attempt and a reload have the same key, and are charged once. */
export function screenNames(names: readonly NameQuery[], signal: AbortSignal): Promise<NamesAnswer> {
  const body = bodyOf(names);
  return callWhole('post', '/namescreen/bulk', { body, signal, idempotencyKey: keyFor('names', body) });
}

/** Returns the names of a pasted list, one on each line, without repetitions. */
export const namesIn = (text: string): readonly string[] => [
  ...new Set(
    text
      .split(/[\r\n]+/)
      .map((line) => line.replace(/\s+/g, ' ').trim())
      .filter((line) => line !== ''),
  ),
];

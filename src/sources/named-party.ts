/**
 * The record of readers of lists that are screened by name only: politically exposed persons, adverse media, a user's own lists.
 * The official sanctions lists have their own record (`DesignatedParty`).
 */
import type { PartyIdentifier, PartyName, PartySchema, Provenance, Reject } from './records.ts';

/** The reason for being on a list. */
export type NamedListType = 'sanctions' | 'pep' | 'adverse_media';

export const NAMED_LIST_TYPES: readonly NamedListType[] = ['sanctions', 'pep', 'adverse_media'];

/** One person or organisation of one list. A party on two lists for two reasons has two records. */
export interface NamedParty {
  readonly type: 'named';
  readonly listType: NamedListType;
  /** The publisher's stable id of the party. */
  readonly entityId: string;
  readonly schema: PartySchema;
  /** The primary name first. */
  readonly names: readonly PartyName[];
  /** ISO dates or partial dates. */
  readonly birthDates: readonly string[];
  /** ISO 3166-1 alpha-2 if the reader could map it; otherwise the publisher's own text. */
  readonly countries: readonly string[];
  /** Reasons for the listing: positions held, topics, programmes. */
  readonly programs: readonly string[];
  /** ISO date. */
  readonly listedAt: string | null;
  readonly sourceUrl: string | null;
  /** Numbers of registers and documents that identify the party; absent if the file has none. */
  readonly identifiers?: readonly PartyIdentifier[];
  readonly provenance: Provenance;
}

/** Facts about a whole file; yielded exactly once, at its end. */
export interface NamedHeader {
  readonly type: 'header';
  /** ISO date or time, from inside the file; null if it does not state one. */
  readonly publishedAt: string | null;
  readonly layout: string;
  /** Number of valid records that are not a party of any supported list (addresses, companies without a topic, sanctions). */
  readonly passedOver: number;
}

export type NamedRecord = NamedParty | NamedHeader | Reject;

export type NamedReader = (files: readonly string[]) => AsyncIterable<NamedRecord>;

/**
 * The record that readers of lists screened by name alone yield: politically exposed persons, adverse media, a user's own lists.
 * The official sanctions lists have their own record (`DesignatedParty`).
 */
import type { PartyName, PartySchema, Provenance, Reject } from './records.ts';

/** What it means to stand on a list. */
export type NamedListType = 'sanctions' | 'pep' | 'adverse_media';

export const NAMED_LIST_TYPES: readonly NamedListType[] = ['sanctions', 'pep', 'adverse_media'];

/** One person or organisation of one list. Who is on two lists for two reasons is two records. */
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
  /** ISO 3166-1 alpha-2 where the reader could map it, else the publisher's own text. */
  readonly countries: readonly string[];
  /** Why the party is listed: positions held, topics, programmes. */
  readonly programs: readonly string[];
  /** ISO date. */
  readonly listedAt: string | null;
  readonly sourceUrl: string | null;
  readonly provenance: Provenance;
}

/** What is known of a whole file; yielded exactly once, at its end. */
export interface NamedHeader {
  readonly type: 'header';
  /** ISO date or time, from inside the file; null where it does not say. */
  readonly publishedAt: string | null;
  readonly layout: string;
  /** Records that are sound and no party of any of our lists (addresses, companies without a topic, sanctions). */
  readonly passedOver: number;
}

export type NamedRecord = NamedParty | NamedHeader | Reject;

export type NamedReader = (files: readonly string[]) => AsyncIterable<NamedRecord>;

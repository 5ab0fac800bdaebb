/** The types that the lists of names and the matcher share: indexed entities, queries, and matches. */
import type { IdentifierKind, PartyIdentifier, PartyName, PartySchema } from '../sources/records.ts';

export type NameListType = 'sanctions' | 'pep' | 'adverse_media';

export const NAME_LIST_TYPES: readonly NameListType[] = ['sanctions', 'pep', 'adverse_media'];

/** One listed person, organisation or craft with all its names, as input of the index. */
export interface NameEntity {
  /** The publisher's stable id; unique together with `list`. */
  readonly entityId: string;
  /** Source id of the list (`OFAC_SDN`, `EU`, `opensanctions`, …). */
  readonly list: string;
  readonly listType: NameListType;
  readonly schema: PartySchema;
  readonly names: readonly PartyName[];
  /** ISO dates or partial dates (`1972`, `1972-05`). */
  readonly birthDates: readonly string[];
  /** ISO 3166-1 alpha-2, or the publisher's own text if it could not be mapped. */
  readonly countries: readonly string[];
  readonly programs: readonly string[];
  /** ISO dates. */
  readonly listedAt: string | null;
  readonly delistedAt: string | null;
  readonly sourceUrl: string | null;
  /** Numbers of registers and documents that identify the party; absent if the list has none. */
  readonly identifiers?: readonly PartyIdentifier[];
}

export interface NameQuery {
  /** 1 to 300 characters of any script. */
  readonly name: string;
  /** ISO date or partial date. */
  readonly birthDate?: string | null;
  /** ISO 3166-1 alpha-2. */
  readonly countries?: readonly string[];
  readonly schema?: PartySchema | null;
  /** Numbers of registers and documents, in any form that `normaliseIdentifier` reads; each that is equal to a listed one is a match. */
  readonly identifiers?: Readonly<Partial<Record<IdentifierKind, string>>>;
}

export interface MatchOptions {
  /** Maximum number of matches returned, best first. Default 100. It never changes a score. */
  readonly limit?: number;
  /** Minimum confidence of returned matches, 0–1. Default 0.7. It never changes a score. */
  readonly threshold?: number;
  /** True: compares every name of the index, which takes seconds. It is the reference for the search of candidates. Default false. */
  readonly exhaustive?: boolean;
}

/** How one part of the query matched a part of the listed name, or other evidence that changed the score. */
export interface MatchReason {
  /**
   * `exact`, `nickname`, `initial`, `phonetic`, `spelling`, `glued`, `orgForm`, `number`: a part that matched another;
   * `missing`: a part of the query that the listed name lacks; `extra`: a part of the listed name that the query lacks;
   * `identifier`: a number of a register or document that is the same, which makes the confidence 1;
   * `birthDate`, `country`, `schema`, `weakAlias`, `order`, `partial`: evidence other than the words.
   */
  readonly kind: MatchReasonKind;
  /** The part of the query; null if no part of the query applies. */
  readonly asked: string | null;
  /** The part of the listed name, or the listed fact; null if neither applies. */
  readonly listed: string | null;
  /** Similarity of the two parts, 0–1; null if it does not apply. */
  readonly similarity: number | null;
  /** A sentence for people. */
  readonly message: string;
}

export type MatchReasonKind =
  | 'exact'
  | 'nickname'
  | 'initial'
  | 'phonetic'
  | 'spelling'
  | 'glued'
  | 'orgForm'
  | 'number'
  | 'identifier'
  | 'missing'
  | 'extra'
  | 'birthDate'
  | 'country'
  | 'schema'
  | 'weakAlias'
  | 'order'
  | 'partial';

/** The best match of one listed entity. Of the entity's names it has only the primary and the matched one. */
export interface NameMatch {
  readonly entityId: string;
  readonly list: string;
  readonly listType: NameListType;
  readonly schema: PartySchema;
  readonly primaryName: string;
  readonly matchedName: string;
  /** Whether the publisher marks the matched name as weak. */
  readonly weak: boolean;
  /** Calibrated confidence 0–1, three decimals. */
  readonly score: number;
  /** Whether only one name of several matches, or a person's only name: the score is then at most 0.8. */
  readonly partial: boolean;
  readonly countries: readonly string[];
  readonly birthDates: readonly string[];
  readonly programs: readonly string[];
  readonly listedAt: string | null;
  readonly delistedAt: string | null;
  readonly sourceUrl: string | null;
  readonly explanation: readonly MatchReason[];
}

export interface NameIndexMeta {
  readonly formatVersion: number;
  /** Hash of the content: the same entities in any order give the same version. */
  readonly version: string;
  /** ISO time. */
  readonly builtAt: string;
  readonly entities: number;
  readonly names: number;
  readonly byListType: Readonly<Record<NameListType, number>>;
  /** Entities of each list. */
  readonly byList: Readonly<Record<string, number>>;
}

/** One immutable, memory-mapped index. Calls are synchronous and depend only on the index and the query. */
export interface NameIndex {
  readonly meta: NameIndexMeta;
  /**
   * Returns one match per entity, best first (score, then sanctions before pep before adverse media, then list and id).
   */
  match(query: NameQuery, options?: MatchOptions): readonly NameMatch[];
  close(): void;
}

/**
 * The neutral records that every publisher's reader yields. They contain the publisher's own words and the position in the file;
 * the code that maps them (labels, names) decides chains, categories and identities. `List` is the ids of the sanctions lists that
 * a reader can yield; the descriptor of its source declares them.
 */

/** Position of a record in a publisher's file, for rejects and audits. */
export interface Provenance {
  /** File name without its folder. */
  readonly file: string;
  /** 1-based line, or the number of the element if lines have no meaning (JSON). */
  readonly line: number;
}

export type PartySchema = 'Person' | 'Organization' | 'Vessel' | 'Aircraft' | 'Unknown';

export interface PartyName {
  readonly text: string;
  readonly kind: 'primary' | 'alias' | 'former';
  /** The publisher marks it as weak, low quality or not sufficient on its own. */
  readonly weak: boolean;
  /** ISO 15924 or the publisher's own word for the script; null if not stated. */
  readonly script: string | null;
}

/** A number by which a register or a document identifies a party. */
export type IdentifierKind = 'imo' | 'tailNumber' | 'lei' | 'registrationNumber' | 'passport' | 'nationalId';

/** An identifier of a listed party, in the form in which identifiers are compared (see `normaliseIdentifier`). */
export interface PartyIdentifier {
  readonly kind: IdentifierKind;
  readonly value: string;
}

/** An address that a list attributes to a party. */
export interface ListedAddress {
  readonly address: string;
  /** Currency or chain as printed (`XBT`, `ETH`, `USDT`); null in free text that names none. The address decides the chain. */
  readonly currency: string | null;
  readonly provenance: Provenance;
}

/** One designated party of one sanctions list, with all its names and wallets. */
export interface DesignatedParty<List extends string = string> {
  readonly type: 'party';
  readonly list: List;
  /** The publisher's stable id of the party (OFAC uid, EU logical id, UN dataid, UK unique id, SECO ssid). */
  readonly entityId: string;
  readonly schema: PartySchema;
  readonly names: readonly PartyName[];
  readonly programs: readonly string[];
  /** ISO dates or partial dates (`1972`, `1972-05`). */
  readonly birthDates: readonly string[];
  /** ISO 3166-1 alpha-2 if the reader could map it; otherwise the publisher's own text. */
  readonly countries: readonly string[];
  /** ISO date of the listing, if the publisher states it. */
  readonly listedAt: string | null;
  /** ISO date, for publishers that keep delisted parties in the file (SECO). */
  readonly delistedAt: string | null;
  readonly addresses: readonly ListedAddress[];
  readonly remarks: string | null;
  /** Numbers of registers and documents that identify the party; absent if the file has none. */
  readonly identifiers?: readonly PartyIdentifier[];
  /** The publisher's words for the measures imposed (`Asset freeze`, `Travel Ban`), if its file lists them. */
  readonly measures?: readonly string[];
  /** Whether an asset freeze is among the measures; null or absent if the file does not state it. */
  readonly assetFreeze?: boolean | null;
  /** A second id that the publisher prints in addition to `entityId`, such as the EU reference number. */
  readonly reference?: string | null;
  readonly provenance: Provenance;
}

/** One address that a publisher attributes to an actor. */
export interface AttributedAddress {
  readonly type: 'address';
  readonly address: string;
  /** Chain or currency as printed; null if the publisher gives only the address. */
  readonly currency: string | null;
  /** The publisher's id of the actor, for joins; null if there is no id. */
  readonly actorId: string | null;
  /** Name of the actor as printed. */
  readonly actorName: string;
  /** The publisher's own words for the kind of actor, most specific first (`exchange`, `phish-hack`, `mixing_service`). */
  readonly concepts: readonly string[];
  readonly tags: readonly string[];
  /** The publisher's own confidence word or number (`ownership`, `web_crawl`, `0.8`); null if it gives none. */
  readonly confidence: string | null;
  readonly jurisdiction: string | null;
  readonly url: string | null;
  /** ISO dates. */
  readonly firstSeen: string | null;
  readonly lastSeen: string | null;
  /** Whether this is a contract or token, which is labelled on its own chain only; null if not stated. */
  readonly isContract: boolean | null;
  /** False for a shipped fact that was not checked against a publisher's file. */
  readonly verified: boolean;
  /** Page on which the publisher makes this statement about the address; `url` is the actor's own site. */
  readonly sourceUrl?: string | null;
  /**
   * A category of Assay's taxonomy, stated directly (seed, packages, the user's own files); it takes precedence over `concepts`.
   */
  readonly category?: string | null;
  /** A threat level of Assay, stated directly; it takes precedence over the category's default. */
  readonly threatLevel?: string | null;
  /** A sanctions entry of this address, from a shipped fact. */
  readonly sanctions?: StatedSanction | null;
  readonly provenance: Provenance;
}

/** A sanction from a shipped fact; the list's own file may not have been read yet. */
export interface StatedSanction {
  /** Id of the list, as the file states it. */
  readonly list: string;
  /** The list's own id of the party. */
  readonly entityId: string;
  readonly program: string | null;
  /** ISO dates. */
  readonly listedAt: string | null;
  readonly delistedAt: string | null;
}

/** A row that could not be read, with the reason. No row is dropped silently. */
export interface Reject {
  readonly type: 'reject';
  readonly reason: string;
  /** The row as printed, cut to 500 characters. */
  readonly text: string;
  /** The publisher's id of the party whose row it is; absent if the row does not show it. */
  readonly entityId?: string;
  readonly provenance: Provenance;
}

/** Returns the member `entityId` of a rejected row; none if the id is empty. */
export const partyOfRow = (entityId: string): Pick<Reject, 'entityId'> =>
  entityId === '' ? {} : { entityId };

/** Facts about a whole file; a reader yields it exactly once, before or after its records. */
export interface FileHeader<List extends string = string> {
  readonly type: 'header';
  /** Lists that this file contains completely: a party of them that is absent from the file is delisted as of `publishedAt`. */
  readonly lists: readonly List[];
  /** ISO date or time of publication, from inside the file; null if the file does not state one. */
  readonly publishedAt: string | null;
  /** The publisher's layout (`SDN_ADVANCED`, `SDN_XML`, `LEGACY_CSV`, `EU_FSF_1_1`, …). */
  readonly layout: string;
}

export type SourceRecord<List extends string = string> =
  | FileHeader<List>
  | DesignatedParty<List>
  | AttributedAddress
  | Reject;

/** A publisher's reader: streams records from one or more files that belong together, in bounded memory. */
export type SourceReader<List extends string = string> = (
  files: readonly string[],
) => AsyncIterable<SourceRecord<List>>;

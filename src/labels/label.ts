/** The label record: the facts about an address, their source, and the confidence in them. */
import type { ChainId } from '../chains/registry.ts';
import type { SanctionsList } from '../sources/index.ts';
import type { EvidenceClass } from './evidence-class.ts';
import type { Category, ThreatLevel } from './taxonomy.ts';

export interface Entity {
  /** Stable slug (`binance`, `ofac:12345`). */
  readonly id: string;
  readonly name: string;
  readonly category: Category;
  /** ISO 3166-1 alpha-2; null if not known. */
  readonly jurisdiction: string | null;
  readonly url: string | null;
}

/** The one label that attributes an address to a designated party. */
export interface OwnerAttribution {
  /** Source id of the label. */
  readonly source: string;
  /** Confidence of the label, 0 to 1. */
  readonly confidence: number;
  /** ISO date of the label, or else of its dataset; null if neither is known. */
  readonly date: string | null;
}

/** One list's statement about one address. If `delistedAt` is set, the entry is history. */
export interface SanctionsEntry {
  readonly list: SanctionsList;
  readonly authority: string;
  readonly program: string | null;
  readonly entityName: string;
  readonly entityId: string;
  readonly listedAt: string | null;
  /**
   * The meaning of `listedAt`: `PARTY`, the date on which the list designated the party; `WALLET`, the date on which the wallet
   * first appeared in the imported files of the list.
   */
  readonly listedAtBasis: 'PARTY' | 'WALLET';
  readonly delistedAt: string | null;
  readonly sourceUrl: string;
  /**
   * DIRECT: the list names the address. OWNER: a list or a published label attributes the address to a party that the list
   * designates. CLUSTER: derived, the address appears to share its owner with a listed address or to belong to a designated party.
   */
  readonly matchType: 'DIRECT' | 'OWNER' | 'CLUSTER';
  /** Present on entries that rest on a label of a linked entity. */
  readonly attribution?: OwnerAttribution;
}

/** The chains on which a label holds: accounts hold on every EVM chain, contracts and tokens on their own chain only. */
export type LabelScope = ChainId | 'EVM';

/** All fields of a label except the address and its dates. Millions of addresses share one template. */
export interface LabelTemplate {
  readonly entity: Entity;
  readonly scope: LabelScope;
  readonly category: Category;
  readonly threatLevel: ThreatLevel;
  /** Source id (`ofac`, `graphsense`, …). */
  readonly source: string;
  /** A URL with the evidence for people to read; null if the publisher gives none. */
  readonly sourceUrl: string | null;
  readonly tags: readonly string[];
  /** 0 to 1. */
  readonly confidence: number;
  readonly sanctions: readonly SanctionsEntry[];
  /** False for a shipped fact that was not checked against a publisher's file. */
  readonly verified: boolean;
  /** Made by `index synth`, for scale only. */
  readonly synthetic: boolean;
}

export interface Label extends LabelTemplate {
  /** The class of the label's source, or `list` if a list names the address itself. */
  readonly class: EvidenceClass;
  /** ISO dates; null if not known. */
  readonly firstSeen: string | null;
  readonly lastSeen: string | null;
}

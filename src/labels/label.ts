/** The label record: what is known of an address, who says so, and how sure. */
import type { ChainId } from '../chains/registry.ts';
import type { SanctionsList } from '../sources/records.ts';
import type { EvidenceClass } from './evidence-class.ts';
import type { Category, ThreatLevel } from './taxonomy.ts';

export interface Entity {
  /** Stable slug (`binance`, `ofac:12345`). */
  readonly id: string;
  readonly name: string;
  readonly category: Category;
  /** ISO 3166-1 alpha-2; null where not known. */
  readonly jurisdiction: string | null;
  readonly url: string | null;
}

/** The one label that attributes an address to a designated party. */
export interface OwnerAttribution {
  /** Source id of the label. */
  readonly source: string;
  /** Of the label, 0 to 1. */
  readonly confidence: number;
  /** ISO date of the label, else of the dataset that it is from; null if neither is known. */
  readonly date: string | null;
}

/** One list's word on one address. `delistedAt` set: history, not in force. */
export interface SanctionsEntry {
  readonly list: SanctionsList;
  readonly authority: string;
  readonly program: string | null;
  readonly entityName: string;
  readonly entityId: string;
  readonly listedAt: string | null;
  /**
   * The date that `listedAt` is: `PARTY`, when the list designated the party; `WALLET`, when the wallet first appeared in the
   * files of the list that were imported.
   */
  readonly listedAtBasis: 'PARTY' | 'WALLET';
  readonly delistedAt: string | null;
  readonly sourceUrl: string;
  /**
   * DIRECT: the list names the address. OWNER: a list or a published label attributes the address to a party that the list
   * designates. CLUSTER: derived, the address appears to share its owner with a listed address or to belong to a designated party.
   */
  readonly matchType: 'DIRECT' | 'OWNER' | 'CLUSTER';
  /** Of entries that rest on a label of a linked entity. */
  readonly attribution?: OwnerAttribution;
}

/** Where a label holds: accounts held by a key hold on every EVM chain, contracts and tokens on their own chain only. */
export type LabelScope = ChainId | 'EVM';

/** All of a label but the address and its dates. Millions of addresses share one. */
export interface LabelTemplate {
  readonly entity: Entity;
  readonly scope: LabelScope;
  readonly category: Category;
  readonly threatLevel: ThreatLevel;
  /** Source id (`ofac`, `graphsense`, …). */
  readonly source: string;
  /** Where a person can read it: a URL, or null where the publisher gives none. */
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
  /** How the label came to be known: of its source, or `list` if it carries a list's word on the address itself. */
  readonly class: EvidenceClass;
  /** ISO dates; null where not known. */
  readonly firstSeen: string | null;
  readonly lastSeen: string | null;
}

/** The one shape of a label in answers: `labels[]` of the API, the same from objects and from pre-rendered bytes. */
import type { EvidenceClass } from './evidence-class.ts';
import type { Label, LabelScope } from './label.ts';
import type { Category, ThreatLevel } from './taxonomy.ts';

export interface LabelJson {
  /** Name of the entity. */
  readonly name: string;
  readonly category: Category;
  readonly threatLevel: ThreatLevel;
  readonly source: string;
  /** How the label came to be known: list, published, structural or inferred. */
  readonly class: EvidenceClass;
  readonly tags: readonly string[];
  /** 0 to 1. */
  readonly confidence: number;
  readonly entityId: string;
  /** ISO 3166-1 alpha-2; null where not known. */
  readonly jurisdiction: string | null;
  readonly url: string | null;
  readonly sourceUrl: string | null;
  /** ISO dates; null where not known. */
  readonly firstSeen: string | null;
  readonly lastSeen: string | null;
  /** False: ships with the product and was not checked against a publisher's file. */
  readonly verified: boolean;
  /** The chain the label holds on, or EVM for all of that family. */
  readonly chain: LabelScope;
  /** Only there, and true, on labels made by `index synth`. */
  readonly synthetic?: true;
}

/** The label as answers show it. The order of the fields is part of the contract: bytes and objects must agree. */
export function labelToJson(label: Label): LabelJson {
  return {
    name: label.entity.name,
    category: label.category,
    threatLevel: label.threatLevel,
    source: label.source,
    class: label.class,
    tags: label.tags,
    confidence: label.confidence,
    entityId: label.entity.id,
    jurisdiction: label.entity.jurisdiction,
    url: label.entity.url,
    sourceUrl: label.sourceUrl,
    firstSeen: label.firstSeen,
    lastSeen: label.lastSeen,
    verified: label.verified,
    chain: label.scope,
    ...(label.synthetic ? { synthetic: true as const } : {}),
  };
}

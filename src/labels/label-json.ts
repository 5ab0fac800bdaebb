/**
 * The shape of a label in responses: `labels[]` of the API. Rendering from objects and from pre-rendered bytes gives
 * the same text.
 */
import { type Derivation, derivationOf } from './derivation.ts';
import type { EvidenceClass } from './evidence-class.ts';
import type { Label, LabelScope } from './label.ts';
import type { Category, ThreatLevel } from './taxonomy.ts';

export interface LabelJson {
  /** Name of the entity. */
  readonly name: string;
  readonly category: Category;
  readonly threatLevel: ThreatLevel;
  readonly source: string;
  /** Kind of evidence behind the label: list, published, structural or inferred. */
  readonly class: EvidenceClass;
  readonly tags: readonly string[];
  /** 0 to 1. */
  readonly confidence: number;
  readonly entityId: string;
  /** ISO 3166-1 alpha-2; null if not known. */
  readonly jurisdiction: string | null;
  readonly url: string | null;
  readonly sourceUrl: string | null;
  /** ISO dates; null if not known. */
  readonly firstSeen: string | null;
  readonly lastSeen: string | null;
  /** False: the label ships with the product and was not checked against a publisher's file. */
  readonly verified: boolean;
  /** The chain on which the label holds, or EVM for all chains of that family. */
  readonly chain: LabelScope;
  /** Present only on structural and inferred labels: the rule that made the label, and its measured error rate. */
  readonly derivation?: Derivation;
  /** Present, and true, only on labels made by `index synth`. */
  readonly synthetic?: true;
}

/**
 * Returns the label as responses show it. The order of the fields
 * is part of the contract, and equal for bytes and objects.
 */
export function labelToJson(label: Label): LabelJson {
  const derivation = derivationOf(label);
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
    ...(derivation === null ? {} : { derivation }),
    ...(label.synthetic ? { synthetic: true as const } : {}),
  };
}

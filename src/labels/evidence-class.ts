/** The kind of evidence behind a label. Only lists and published labels can make a verdict CRITICAL. */

/**
 * - `list`: an authority names the address.
 * - `published`: a named publisher attributes the address.
 * - `structural`: reproducible from the chain, such as a cluster of addresses that spend together.
 * - `inferred`: the result of a model, or of a source that does not name its evidence.
 */
export const EVIDENCE_CLASSES = ['list', 'published', 'structural', 'inferred'] as const;

export type EvidenceClass = (typeof EVIDENCE_CLASSES)[number];

/** Returns whether a class is derived: derived classes cap exposure points below CRITICAL and never make an address a service. */
export const isDerived = (evidence: EvidenceClass): boolean =>
  evidence === 'structural' || evidence === 'inferred';

/** The rule behind a structural or inferred label. Rates are null if they were not measured: never read them as zero. */
export interface Derivation {
  /** Id of the rule (`exchange-deposit`), or the source of the label if the source names no rule. */
  readonly rule: string;
  readonly version: number;
  /** Part of the labels that are right, 0 to 1. `1 - precision` is the error rate. */
  readonly precision: number | null;
  /** Part of the addresses of the kind that the rule finds, 0 to 1. */
  readonly recall: number | null;
  /** The data on which both were measured. */
  readonly measuredOn: string | null;
  /** ISO date. */
  readonly measuredAt: string | null;
  /** Why a rate is null, in words; null if both were measured. */
  readonly notMeasured: string | null;
}

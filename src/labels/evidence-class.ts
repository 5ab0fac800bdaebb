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

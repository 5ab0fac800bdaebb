/**
 * How a derived label came to be: the rule, its version, and its measured error rate. The rule of a label is that of its source
 * (`derivation` in data/sources.json); the evidence for one address is in the store of attributions.
 */
import { type EvidenceClass, isDerived } from './evidence-class.ts';
import { shippedSources } from './source-table.ts';

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
}

/**
 * Returns the derivation of a label.
 *
 * @returns Null for list and published labels, which a person or an authority stands for.
 */
export function derivationOf(label: {
  readonly source: string;
  readonly class: EvidenceClass;
}): Derivation | null {
  if (!isDerived(label.class)) return null;
  return (
    shippedSources().of(label.source)?.derivation ?? {
      rule: label.source,
      version: 1,
      precision: null,
      recall: null,
      measuredOn: null,
      measuredAt: null,
    }
  );
}

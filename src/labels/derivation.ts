/**
 * How a derived label came to be: the rule, its version, and its measured error rate. The rule of a label is that of its source
 * (`derivation` in data/sources.json); the evidence for one address is in the store of attributions.
 */
import { type Derivation, type EvidenceClass, isDerived } from './evidence-class.ts';
import { shippedSources } from './source-table.ts';

export type { Derivation } from './evidence-class.ts';

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
      notMeasured: 'The source names no rule.',
    }
  );
}

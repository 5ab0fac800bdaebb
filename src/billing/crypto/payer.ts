/** The check of payers: credits are booked only if no sender is on a sanctions list, by lists that are fresh. */
import type { ChainId } from '../../chains/registry.ts';

export type PayerVerdict =
  | { readonly kind: 'CLEAR' }
  /** On a list: the operator decides. */
  | { readonly kind: 'SANCTIONED'; readonly reason: string }
  /** The lists are stale or missing, or the sender is unknown: it is checked again. */
  | { readonly kind: 'UNCHECKED'; readonly reason: string };

/** Checks the senders of a payment; null if they are unknown. */
export type ScreenPayers = (chain: ChainId, payers: readonly string[] | null) => PayerVerdict;

/** Result of a sanctions check of one address. */
export interface SanctionsFacts {
  readonly sanctioned: boolean;
  /** Ids of the lists that name the address. */
  readonly lists: readonly string[];
  /** A sentence if the lists are stale or missing; null if they are fresh. */
  readonly stale: string | null;
}

/**
 * Returns the check of payers over a sanctions check.
 *
 * @param check - throws if no labels are loaded
 */
export function payerScreening(check: (chain: ChainId, address: string) => SanctionsFacts): ScreenPayers {
  return (chain, payers) => {
    if (payers === null) return { kind: 'UNCHECKED', reason: 'The sender of the payment is not known.' };
    let stale: string | null = null;
    for (const payer of payers) {
      let facts: SanctionsFacts;
      try {
        facts = check(chain, payer);
      } catch {
        return {
          kind: 'UNCHECKED',
          reason: 'The sender could not be checked: no sanctions lists are loaded.',
        };
      }
      if (facts.sanctioned)
        return {
          kind: 'SANCTIONED',
          reason: `The sender ${payer} is sanctioned (${facts.lists.join(', ')}).`,
        };
      stale ??= facts.stale;
    }
    return stale === null ? { kind: 'CLEAR' } : { kind: 'UNCHECKED', reason: stale };
  };
}

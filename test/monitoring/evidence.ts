/** Evidence for the tests of rules. */
import type { Evidence } from '../../src/monitoring/rules.ts';
import { UNATTRIBUTED } from '../../src/screening/attribution.ts';

/** Returns inbound evidence of 5,000 USD from an unlabelled address, with the fields of `change`. */
export const evidence = (change: Partial<Evidence>): Evidence => ({
  direction: 'in',
  amountUsd: 5_000,
  counterparty: UNATTRIBUTED,
  behind: [],
  clusterSanctioned: false,
  suspectedOwner: null,
  velocity: null,
  isDust: false,
  spoof: null,
  imitation: null,
  ...change,
});

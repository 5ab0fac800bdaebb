/** Evidence for rules, as tests need it. */
import type { Evidence } from '../../src/monitoring/rules.ts';
import { UNATTRIBUTED } from '../../src/screening/attribution.ts';

/** Inbound evidence of 5,000 USD from an address that no label names, but for `change`. */
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

/** Bounds, choices and defaults of the options of a request. The use cases enforce them, and schemas of requests state them. */
import { TAINT_METHODS } from '../graph/utxo/taint-rules.ts';

/** Bounds and default of `maxHops`, from the decisions. */
export const EXPOSURE_HOPS = { min: 1, max: 5, standard: 3 } as const;

/** Bounds and defaults of `hops` and `maxDepth`, from the specification and the decisions. */
export const TRACE_HOPS = { min: 1, max: 3, standard: 1 } as const;
export const PATH_DEPTH = { min: 1, max: 7, standard: 3 } as const;

export const DIRECTION_CHOICES = ['in', 'out', 'both'] as const;
export const DIRECTION_DEFAULT = 'both';

/** Rules by which tainted funds are traced; `all` computes every rule that the chain allows. */
export const TAINT_CHOICES = [...TAINT_METHODS, 'all'] as const;
export const TAINT_DEFAULT = 'haircut';

/** Jurisdiction of the legal interpretation: ISO 3166-1 alpha-2. */
export const JURISDICTION_DEFAULT = 'CH';

/**
 * Sections of a screening that a client may ask for by name. The other fields (the address, score and level, verdicts of lists,
 * reasons, coverage and versions) are part of every answer.
 */
export const SCREENING_SECTIONS = [
  'scoreBreakdown',
  'balance',
  'balanceUsd',
  'totalTransactions',
  'sanctionsCheck',
  'entity',
  'entityLabels',
  'labelConflicts',
  'flaggedTransactions',
  'spoofableTransfers',
  'topCounterparties',
  'exposureSending',
  'exposureReceiving',
  'exposures',
  'taint',
  'stoppedAt',
  'clusterAnalysis',
  'transactionFlow',
  'geographicRisk',
  'fundFlowJurisdictions',
  'historicalServices',
  'crossChainBalances',
  'bridgeActivity',
  'darknetExposure',
  'addressValidation',
  'legalInterpretation',
] as const;
export type ScreeningSection = (typeof SCREENING_SECTIONS)[number];

/** Bounds of `limit`, the number of rows in each list of a screening; by default, all that are listed. */
export const SECTION_ROWS = { min: 1, max: 1_000 } as const;

/** Connects the use cases of the HTTP operations with the services that answer them. */
import type { Clock } from '../base/clock.ts';
import type { AttributionServices } from '../cli/services.ts';
import type { Config } from '../config/config.ts';
import type { UseCases } from '../http/ports.ts';
import type { WorkerPool } from '../pool/pool.ts';
import { poolUseCases } from '../pool/routing.ts';
import { type GraphUseCases, TASKS } from '../pool/tasks/index.ts';
import { OracleTrees, oracleFolderOf } from '../receipts/oracle/trees.ts';
import { createLabelContext } from '../screening/context.ts';
import { resolveNames } from '../screening/ens-names.ts';
import { createLabelSetWriter, labelSetVersion } from '../screening/label-set.ts';
import { historyFacts } from '../screening/on-demand.ts';
import { createAttestedOracle } from '../screening/oracle.ts';
import { createOracleWriter } from '../screening/oracle-writer.ts';
import { createAttestedSanctionsCheck, createSanctionsCheckWriter } from '../screening/sanctions-check.ts';
import { createTransactionSearch } from '../screening/transaction-search.ts';
import type { AccountServices } from './account-services.ts';
import type { ChainServices } from './chain-services.ts';
import type { LabelServices } from './label-services.ts';
import type { ScreeningServices } from './screening-services.ts';

/** Services that the first operation that needs them opens. */
export type OpenedLater = Pick<
  UseCases,
  | 'monitoring'
  | 'cases'
  | 'savedScreenings'
  | 'billingStreams'
  | 'receiptLog'
  | 'receipts'
  | 'receiptBatches'
  | 'jobs'
>;

export interface UseCaseDeps {
  readonly clock: Clock;
  readonly labels: LabelServices;
  readonly screening: ScreeningServices;
  readonly accounts: AccountServices;
  readonly attribution: Pick<AttributionServices, 'decide' | 'explain' | 'report' | 'reported' | 'reports'>;
  readonly pool: WorkerPool;
  /** Use cases over transfers, on whichever node they are stored. */
  readonly graph: GraphUseCases;
}

/** Returns the use cases over the transfers that this node stores. */
export function localGraph(pool: WorkerPool, chains: ChainServices): GraphUseCases {
  return {
    ...poolUseCases(TASKS, pool),
    screening: async (request) => pool.run('screening', { request, facts: await chains.readLive(request) }),
    async kyt(query) {
      const { request, resolved } = await resolveNames(query, chains.names());
      const facts = { ...(await historyFacts(request, chains.onDemand())), resolved };
      return pool.run('kyt', { request, facts });
    },
  };
}

/** Returns the use cases of the operations. */
export function useCasesOf(
  { dataDir }: Config,
  { clock, labels, screening, accounts, attribution, pool, graph }: UseCaseDeps,
  openedLater: OpenedLater,
): UseCases {
  const deps = screening.deps();
  const oracleFolder = oracleFolderOf(dataDir);
  const contextNow = createLabelContext(deps);
  return {
    labelSet: createLabelSetWriter(deps),
    labelSetVersion: () => labelSetVersion(contextNow()),
    attribution: (chain, address) => attribution.explain(chain, address),
    labelReports: {
      file: (draft) => attribution.report(draft),
      list: (accountId, query) => attribution.reports().list(accountId, query),
      openCount: () => attribution.reports().openCount(),
      labelsOf: (report) => attribution.reported(report),
      decide: (id, decision) => attribution.decide(id, decision),
    },
    sanctionsCheck: createSanctionsCheckWriter(deps),
    oracle: createOracleWriter({ ...deps, exposures: screening.exposureReader() }),
    oracleTrees: new OracleTrees(oracleFolder, {
      clock,
      dataVersion: () => deps.labels.current.meta.dataVersion,
      build: (chain) => pool.run('oracle-tree', { folder: oracleFolder, chain }),
    }),
    attestedOracle: createAttestedOracle({
      ...deps,
      exposures: screening.exposureReader(),
      heightOf: (chain) => deps.transfers.coverage(chain).lastBlock,
    }),
    attestedSanctionsCheck: createAttestedSanctionsCheck(deps),
    exchangeStatus: (name, jurisdiction) =>
      labels.exchanges().answerBytes(name, jurisdiction, contextNow().staleReason),
    bulk: (body) => pool.runShort('bulk-labels', body),
    ...graph,
    transaction: createTransactionSearch({ clock, search: graph.chainTransaction }),
    names: { screen: (requests) => pool.run('names', requests), cleared: accounts.cleared },
    billing: accounts.billing,
    ...openedLater,
  };
}

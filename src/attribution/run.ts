/**
 * Applies the rules to a chain: deposit addresses from the transfer store, facts from logs if the chain has a node, and labels from both.
 * A run reads only what is new; an interrupted one resumes.
 */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { endReading } from '../base/reading.ts';
import type { ChainId } from '../chains/registry.ts';
import type { TransferStore } from '../graph/store.ts';
import type { ImportDeps } from '../labels/import-report.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import { withLock } from '../state/writer-lock.ts';
import { COINBASE_CHAIN, hasAccounts } from './chains.ts';
import { type BlockReader, COINBASES, type ReadCoinbasesReport, readCoinbases } from './coinbase/read.ts';
import type { PoolTags } from './coinbase/tags.ts';
import {
  CREATIONS,
  type CreationReader,
  type ReadCreationsReport,
  readCreations,
} from './contracts/creations.ts';
import { ContractNaming } from './contracts/naming.ts';
import { PROXY_EVENTS, type ProxyReader, type ReadProxiesReport, readProxies } from './contracts/proxies.ts';
import { type Anchors, readAnchors } from './deposit/anchors.ts';
import { DepositFollower, type FollowReport, type SweepReason, sweepReason } from './deposit/follow.ts';
import { type DepositLabelsReport, importDepositLabels } from './deposit/labels.ts';
import { sweepDeposits } from './deposit/sweep.ts';
import type { Disputes } from './disputes.ts';
import { depositLockOf, logLockOf } from './follow-chain.ts';
import { type LogContract, nameOfContract } from './logs/contracts.ts';
import { importFactLabels } from './logs/labels.ts';
import { type LogReader, type ReadLogsReport, readContractLogs } from './logs/read.ts';
import type { AttributionStore } from './store.ts';

export interface AttributeOptions {
  readonly chain: ChainId;
  /** Folder of attributions. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** First block of the logs of a contract that was never read. */
  readonly fromBlock?: number;
  /** Read only logs of contracts that were read before: the history of another one takes hours. Default: all contracts. */
  readonly onlyKnownLogs?: boolean;
  readonly onProgress?: (step: string, done: number, total: number, unit: string) => void;
}

export interface AttributeDeps {
  readonly transfers: TransferStore;
  readonly labels: LabelReader;
  readonly store: AttributionStore;
  readonly importing: ImportDeps;
  readonly clock: Clock;
  /** The node of the chain; null if none is configured. */
  readonly logs: LogReader | null;
  /** The same node, for creations and proxies; null if none is configured. */
  readonly state: (CreationReader & ProxyReader) | null;
  /** The node of Bitcoin; null if none is configured, or for another chain. */
  readonly blocks: BlockReader | null;
  readonly pools: () => PoolTags;
  readonly contracts: readonly LogContract[];
  /** Addresses whose labels an operator disputes get none. */
  readonly disputes: Pick<Disputes, 'of'>;
}

export interface DepositRun {
  /** Collecting wallets that are known, and the entities that they belong to. */
  readonly wallets: number;
  readonly entities: number;
  /** Why the whole log was swept; null if only new transfers were read. */
  readonly swept: SweepReason | null;
  readonly followed: FollowReport | null;
  readonly accounts: number;
  readonly labels: DepositLabelsReport;
}

/** What was read of contracts, or why the node did not answer: the other rules do not depend on it. */
export type ContractsRead<Report> = Report | { readonly refused: string };

export interface AttributeReport {
  readonly chain: ChainId;
  /** Null if no transfer of the chain is stored. */
  readonly deposits: DepositRun | null;
  readonly logs: readonly ReadLogsReport[];
  /** Null without a node. */
  readonly creations: ContractsRead<ReadCreationsReport> | null;
  readonly proxies: ContractsRead<ReadProxiesReport> | null;
  /** Null on other chains than Bitcoin, and without its node. */
  readonly coinbases: ReadCoinbasesReport | null;
  /** Labels by source. */
  readonly facts: readonly { readonly source: string; readonly labels: number }[];
  /** Whether a dataset of labels changed, so that an index has to be built. */
  readonly changed: boolean;
}

/** How long a run waits for another one: following a block takes milliseconds, and a sweep can take an hour. */
const LOCK_WAIT_MS = 10_000;

/** Budget of one request for logs: a range of 2,000 blocks of a busy factory takes public nodes seconds. */
const LOGS_MS = 30_000;

/**
 * Checks that the rules apply to a chain.
 *
 * @throws INVALID_REQUEST naming the chains that have deposit addresses
 */
export function requireAttributable(chain: ChainId): void {
  if (hasAccounts(chain) || chain === COINBASE_CHAIN) return;
  throw new AssayError(
    'INVALID_REQUEST',
    `chain: the rules apply to EVM chains and TRON, where each customer has an account, and to coinbases of BTC (got "${chain}"). Use \`assay cluster\` for chains of outputs.`,
    { field: 'chain' },
  );
}

const disputedOn =
  (chain: ChainId, { disputes }: Pick<AttributeDeps, 'disputes'>) =>
  (key: Uint8Array): boolean =>
    disputes.of(chain, key) !== null;

/**
 * Imports the labels of what the rules have found already, without reading anything new: after a dispute.
 *
 * @throws STORE_BUSY; the signal's reason if aborted
 */
export async function importDerivedLabels(
  chain: ChainId,
  deps: Pick<AttributeDeps, 'transfers' | 'labels' | 'store' | 'importing' | 'disputes'>,
  signal: AbortSignal,
): Promise<void> {
  const { transfers, labels, store, importing } = deps;
  const graph = transfers.graph(chain);
  const isDisputed = disputedOn(chain, deps);
  if (graph !== null && store.depositState() !== null)
    await importDepositLabels(chain, { store, graph, labels, importing, isDisputed }, signal);
  const naming = new ContractNaming(chain, { labels, store });
  await importFactLabels(chain, store, importing, { isDisputed, naming, signal });
}

async function runDeposits(options: AttributeOptions, deps: AttributeDeps): Promise<DepositRun | null> {
  const { chain, folder, signal, onProgress } = options;
  const { transfers, labels, store, clock, importing } = deps;
  if (!hasAccounts(chain)) return null;
  const graph = transfers.graph(chain);
  const position = transfers.logPosition(chain);
  if (graph === null || position === null || position.transfers === 0) return null;
  const anchors: Anchors = readAnchors(chain, graph, labels);
  const swept = sweepReason(store.depositState(), position, anchors);
  if (swept !== null) {
    // Until the sweep is complete there is no result, and an interrupted sweep finds none when it resumes.
    if (store.depositState() !== null) store.write(() => store.clearDeposits());
    await sweepDeposits(
      {
        chain,
        folder: join(folder, `sweep-${chain.toLowerCase()}`),
        signal,
        onProgress: (step, done, total) =>
          onProgress?.(`deposits, ${step}`, done, total, step === 'judge' ? 'parts' : 'transfers'),
      },
      { transfers, anchors, store, clock },
    );
  }
  const followed = new DepositFollower(chain, anchors, { transfers, store, clock }).follow();
  return {
    wallets: anchors.byNode.size,
    entities: anchors.entities.length,
    swept,
    followed,
    accounts: store.depositCount(),
    labels: await importDepositLabels(
      chain,
      { store, graph, labels, importing, isDisputed: disputedOn(chain, deps) },
      signal,
    ),
  };
}

async function runLogs(options: AttributeOptions, deps: AttributeDeps): Promise<ReadLogsReport[]> {
  const { chain, signal, fromBlock = 0, onlyKnownLogs = false, onProgress } = options;
  const { logs: adapter, store } = deps;
  const reports: ReadLogsReport[] = [];
  if (adapter === null) return reports;
  const wanted = (row: LogContract): boolean =>
    row.chain === chain && (!onlyKnownLogs || store.cursor(nameOfContract(row)) !== null);
  for (const contract of deps.contracts.filter(wanted))
    reports.push(
      await readContractLogs(
        {
          contract,
          fromBlock,
          call: { signal, budgetMs: LOGS_MS },
          onProgress: (block, head) => onProgress?.(`logs of ${contract.id}`, block, head, 'blocks'),
        },
        { adapter, store },
      ),
    );
  return reports;
}

/**
 * Runs a rule that needs more of a node than logs. A node that refuses (no state of the block, no receipts) does not stop the other rules.
 * One that forgot the state while a long history was read is asked again with that of a newer block.
 */
async function unlessRefused<Report>(
  run: () => Promise<Report>,
  position: () => number,
): Promise<ContractsRead<Report>> {
  for (;;) {
    const before = position();
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof AssayError) || error.code !== 'CHAIN_REFUSED') throw error;
      if (position() <= before) return { refused: error.message };
    }
  }
}

async function runContracts(
  options: AttributeOptions,
  deps: AttributeDeps,
): Promise<Pick<AttributeReport, 'creations' | 'proxies'>> {
  const { chain, signal, fromBlock, onlyKnownLogs = false, onProgress } = options;
  const { state: adapter, store } = deps;
  if (adapter === null) return { creations: null, proxies: null };
  const read = (step: string) => ({
    chain,
    ...(fromBlock === undefined ? {} : { fromBlock }),
    call: { signal, budgetMs: LOGS_MS },
    onProgress: (block: number, head: number): void => onProgress?.(step, block, head, 'blocks'),
  });
  const isWanted = (by: string): boolean => !onlyKnownLogs || store.cursor(by) !== null;
  const positionOf = (by: string) => (): number => store.cursor(by)?.nextBlock ?? 0;
  const creations = (): Promise<ReadCreationsReport> =>
    readCreations(read('created contracts'), { adapter, store });
  const proxies = (): Promise<ReadProxiesReport> => readProxies(read('proxies'), { adapter, store });
  return {
    creations: isWanted(CREATIONS) ? await unlessRefused(creations, positionOf(CREATIONS)) : null,
    proxies: isWanted(PROXY_EVENTS) ? await unlessRefused(proxies, positionOf(PROXY_EVENTS)) : null,
  };
}

async function runCoinbases(
  options: AttributeOptions,
  deps: AttributeDeps,
): Promise<ReadCoinbasesReport | null> {
  const { chain, signal, fromBlock, onlyKnownLogs = false, onProgress } = options;
  const { blocks, store, pools } = deps;
  if (blocks === null || chain !== COINBASE_CHAIN) return null;
  if (onlyKnownLogs && store.cursor(COINBASES) === null) return null;
  return readCoinbases(
    {
      chain,
      ...(fromBlock === undefined ? {} : { fromBlock }),
      call: { signal, budgetMs: LOGS_MS },
      onProgress: (block, head) => onProgress?.('coinbases', block, head, 'blocks'),
    },
    { adapter: blocks, store, pools: pools() },
  );
}

/**
 * Runs all rules over a chain.
 *
 * @throws INVALID_REQUEST for a chain without accounts; STORE_BUSY; errors of the node, after which a further run resumes
 */
export async function attributeChain(
  options: AttributeOptions,
  deps: AttributeDeps,
): Promise<AttributeReport> {
  const { chain, signal } = options;
  requireAttributable(chain);
  const { folder } = options;
  const before = deps.importing.store.revision();
  const waiting = { waitMs: LOCK_WAIT_MS, signal };
  const deposits = await withLock(depositLockOf(folder, chain), waiting, () => {
    // Values read before the lock may be older than those that its last holder wrote.
    endReading();
    return runDeposits(options, deps);
  });
  const logs =
    deps.logs === null ? [] : await withLock(logLockOf(folder, chain), waiting, () => runLogs(options, deps));
  const contracts =
    deps.state === null
      ? { creations: null, proxies: null }
      : await withLock(logLockOf(folder, chain), waiting, () => runContracts(options, deps));
  const coinbases =
    deps.blocks === null
      ? null
      : await withLock(logLockOf(folder, chain), waiting, () => runCoinbases(options, deps));
  const facts = await importFactLabels(chain, deps.store, deps.importing, {
    isDisputed: disputedOn(chain, deps),
    naming: new ContractNaming(chain, deps),
    signal,
  });
  await deps.store.flushed();
  return {
    chain,
    deposits,
    logs,
    ...contracts,
    coinbases,
    facts: facts.map(({ source, labels }) => ({ source, labels })),
    changed: deps.importing.store.revision() !== before,
  };
}

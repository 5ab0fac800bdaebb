/**
 * Reads the logs of factories and issuers through the nodes of a chain, and stores what they prove. Each contract has its own position:
 * reading resumes there, and goes back if the chain has replaced the block before it.
 */

import { AssayError } from '../../base/errors.ts';
import { maxKeyBytes, parseAddress, writeAddressKeyFromText } from '../../chains/address/parse.ts';
import type { Call, ChainAdapter, LogEntry, LogQuery } from '../../chains/families/port.ts';
import { ATTRIBUTION_LIMITS } from '../limits.ts';
import type { AttributionStore, Fact } from '../store.ts';
import { type LogContract, nameOfContract } from './contracts.ts';
import { decodeLog, isExpectedPool, TOPICS } from './decode.ts';

/** Ids of the rules (data/sources.json). */
export const FACTORY_RULE = 'contract-factory';
export const FREEZE_RULE = 'issuer-freeze';
export const STAKE_RULE = 'validator-withdrawal';

/** Blocks that are read again if the chain replaced the newest one that was read: the deepest reorg that following accepts. */
export const REORG_BLOCKS = 512;
/** Blocks behind the head whose facts are listed by block: twice as many, so that a run that began earlier is covered, too. */
export const LISTED_BLOCKS = 2 * REORG_BLOCKS;

export type LogReader = Required<Pick<ChainAdapter, 'logs' | 'header'>> & Pick<ChainAdapter, 'head'>;

export interface ReadLogsOptions {
  readonly contract: LogContract;
  /** First block of a contract that was never read. Default 0. */
  readonly fromBlock?: number;
  readonly call: Call;
  readonly onProgress?: (block: number, head: number) => void;
}

export interface ReadLogsReport {
  readonly contract: string;
  readonly logs: number;
  /** New facts. */
  readonly facts: number;
  /** Facts removed because the chain reverted their blocks. */
  readonly reverted: number;
  /** Logs without the layout of their event, or of a pool at another address than CREATE2 gives. */
  readonly ignored: number;
  readonly nextBlock: number;
}

function ruleOf({ kind }: LogContract): string {
  if (kind === 'validator-deposits') return STAKE_RULE;
  return kind.endsWith('freezes') ? FREEZE_RULE : FACTORY_RULE;
}

const keyBytes = new Uint8Array(maxKeyBytes);

/** Returns the key of a decoded address, without its text with a checksum. The bytes are valid until the next call. */
function keyOf({ chain }: LogContract, subject: string): Uint8Array {
  const length = writeAddressKeyFromText(chain, subject, keyBytes, 0);
  // `parseAddress` throws an error that explains why the address is not valid.
  return length < 0 ? parseAddress(chain, subject).key : keyBytes.subarray(0, length);
}

/**
 * Converts logs to facts and stores them in one transaction.
 *
 * @param timeOf - returns the time of a block in milliseconds, or null if it is not known
 * @param revertibleFrom - facts of blocks from this one on are listed by block, so that removing them reads nothing else
 */
export function storeLogs(
  contract: LogContract,
  logs: readonly LogEntry[],
  store: AttributionStore,
  timeOf: (block: number) => number | null = () => null,
  revertibleFrom: number = Number.POSITIVE_INFINITY,
): { readonly facts: number; readonly ignored: number } {
  const by = nameOfContract(contract);
  const rule = ruleOf(contract);
  let facts = 0;
  let ignored = 0;
  if (logs.length === 0) return { facts, ignored };
  store.write(() => {
    for (const log of logs) {
      const decoded = log.address === contract.address ? decodeLog(contract, log) : null;
      if (decoded === null || isExpectedPool(contract, decoded) === false) {
        ignored++;
        continue;
      }
      const key = keyOf(contract, decoded.subject);
      const fact: Fact = {
        rule,
        by,
        kind: decoded.kind,
        blockNumber: log.blockNumber,
        txHash: log.txHash,
        logIndex: log.logIndex,
        timestampMs: timeOf(log.blockNumber),
        values: decoded.values,
      };
      if (store.addFact(key, fact, log.blockNumber >= revertibleFrom)) facts++;
    }
  }, 'later');
  return { facts, ignored };
}

/**
 * Reads the logs of a contract up to the head of its chain.
 *
 * @throws the errors of the adapter; what was read before is stored, and the next call resumes there
 */
export async function readContractLogs(
  options: ReadLogsOptions,
  deps: { readonly adapter: LogReader; readonly store: AttributionStore },
): Promise<ReadLogsReport> {
  const { contract, call, onProgress, fromBlock = 0 } = options;
  const { adapter, store } = deps;
  const name = nameOfContract(contract);
  const cursor = store.cursor(name);
  let next = cursor?.nextBlock ?? fromBlock;
  let reverted = 0;
  if (cursor?.hash != null && next > 0) {
    const header = await adapter.header(next - 1, call);
    if (header?.hash !== cursor.hash) {
      next = Math.max(fromBlock, next - REORG_BLOCKS);
      const from = next;
      reverted = store.write(() => {
        const removed = store.removeFacts(name, from);
        store.setCursor(name, { ...cursor, nextBlock: from, hash: null, facts: cursor.facts - removed });
        return removed;
      });
    }
  }
  const head = await adapter.head(call);
  const revertibleFrom = Math.max(0, head.height - LISTED_BLOCKS);
  const total = { logs: 0, facts: 0, ignored: 0 };
  let width: number = ATTRIBUTION_LIMITS.logBlocksMax;
  while (next <= head.height) {
    call.signal.throwIfAborted();
    const last = Math.min(head.height, next + width - 1);
    const { address, kind } = contract;
    const logs = await logsIn(
      adapter,
      { address, topics: TOPICS[kind], fromBlock: next, toBlock: last },
      call,
    );
    if (logs === null) {
      // The node refuses ranges with too many logs.
      width = Math.max(1, Math.floor(width / 4));
      continue;
    }
    const times = await timesOf(contract, logs, adapter, call);
    const timeOf = (block: number): number | null => times.get(block) ?? null;
    const { facts, ignored } = storeLogs(contract, logs, store, timeOf, revertibleFrom);
    const header = last === head.height ? head : await adapter.header(last, call);
    total.logs += logs.length;
    total.facts += facts;
    total.ignored += ignored;
    const before = next;
    next = last + 1;
    store.write(() =>
      advanceCursor(store, name, {
        ...{ from: before, nextBlock: next, hash: header?.hash ?? null, revertibleFrom, facts },
      }),
    );
    onProgress?.(last, head.height);
    width = Math.min(ATTRIBUTION_LIMITS.logBlocksMax, width * 2);
  }
  await store.flushed();
  return { contract: name, ...total, reverted, nextBlock: next };
}

/** What one step of a reader stored: new facts of the blocks from `from` to the one before `nextBlock`, which has the hash. */
export interface ReadStep {
  readonly from: number;
  readonly nextBlock: number;
  readonly hash: string | null;
  /** Facts of this step are listed by block from this block on. */
  readonly revertibleFrom: number;
  readonly facts: number;
}

/** Stores the position of a reader after a step, and settles the facts that no reorg reverts any more. Call it inside of a transaction. */
export function advanceCursor(store: AttributionStore, name: string, step: ReadStep): void {
  const { from, nextBlock, hash, revertibleFrom, facts } = step;
  const known = store.cursor(name);
  // Facts of old blocks in between are not listed.
  const listed = revertibleFrom > from ? revertibleFrom : (known?.indexedFrom ?? from);
  const indexedFrom = Math.max(listed, revertibleFrom);
  if (known?.indexedFrom !== undefined && indexedFrom > known.indexedFrom)
    store.settleFacts(name, indexedFrom);
  store.setCursor(name, { nextBlock, hash, indexedFrom, facts: (known?.facts ?? 0) + facts });
}

/**
 * Reads logs.
 *
 * @returns null if the node refuses the range, which has several blocks: a shorter one may pass
 */
export async function logsIn(
  adapter: Pick<LogReader, 'logs'>,
  query: LogQuery,
  call: Call,
): Promise<readonly LogEntry[] | null> {
  try {
    return await adapter.logs(query, call);
  } catch (error) {
    if (query.fromBlock < query.toBlock && error instanceof AssayError && error.code === 'CHAIN_REFUSED')
      return null;
    throw error;
  }
}

/** Reads the times of blocks with freezes, which are few; their date matters. */
async function timesOf(
  contract: LogContract,
  logs: readonly LogEntry[],
  adapter: LogReader,
  call: Call,
): Promise<ReadonlyMap<number, number>> {
  const times = new Map<number, number>();
  if (ruleOf(contract) !== FREEZE_RULE) return times;
  for (const block of new Set(logs.map(({ blockNumber }) => blockNumber))) {
    const header = await adapter.header(block, call);
    if (header !== null) times.set(block, header.timestampMs);
  }
  return times;
}

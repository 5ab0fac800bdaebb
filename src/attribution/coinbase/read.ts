/**
 * Reads the coinbases of a chain's blocks through its node, and stores which pool mined for which address. Reading resumes after the last
 * block, and goes back if the chain has replaced it.
 */

import { parseAddress } from '../../chains/address/parse.ts';
import type { Block } from '../../chains/block.ts';
import type { Call, ChainAdapter } from '../../chains/families/port.ts';
import type { ChainId } from '../../chains/registry.ts';
import { ATTRIBUTION_LIMITS } from '../limits.ts';
import { REORG_BLOCKS } from '../logs/read.ts';
import type { AttributionStore, Fact } from '../store.ts';
import type { PoolTags } from './tags.ts';

/** Id of the rule (data/sources.json). */
export const COINBASE_RULE = 'coinbase-tag';
/** Name under which progress and facts are stored. */
export const COINBASES = 'coinbase-tags';

export type BlockReader = Pick<ChainAdapter, 'block' | 'head'>;

export interface ReadCoinbasesReport {
  readonly blocks: number;
  /** New facts: blocks with a known tag that pay one address. */
  readonly facts: number;
  /** Facts removed because the chain reverted their blocks. */
  readonly reverted: number;
  /** Blocks of which the node did not return the script. */
  readonly unread: number;
  readonly nextBlock: number;
}

/** Returns what a block proves; null if its coinbase has no known tag, or pays several addresses, which may be those of miners. */
export function factOf(
  block: Block,
  pools: PoolTags,
): { readonly address: string; readonly fact: Fact } | null {
  const coinbase = block.transactions?.[0];
  if (coinbase?.isCoinbase !== true || coinbase.coinbaseScript === undefined) return null;
  const pool = pools.poolOf(coinbase.coinbaseScript);
  const paid = coinbase.outputs.filter(({ value }) => value > 0n);
  const [first] = paid;
  if (pool === null || first === undefined || first.address === null) return null;
  if (paid.some(({ address }) => address !== first.address)) return null;
  const amount = paid.reduce((sum, { value }) => sum + value, 0n);
  return {
    address: first.address,
    fact: {
      ...{ rule: COINBASE_RULE, by: COINBASES, kind: pool.id, blockNumber: block.height },
      ...{ txHash: coinbase.txid, logIndex: first.n, timestampMs: block.timestampMs },
      values: { amount: amount.toString() },
    },
  };
}

/**
 * Reads coinbases up to the head of a chain.
 *
 * @param options.fromBlock - first block if none was ever read. Default: the newest ones (`coinbaseBlocksFirst`)
 * @throws the errors of the adapter; what was read before is stored, and the next call resumes there
 */
export async function readCoinbases(
  options: {
    readonly chain: ChainId;
    readonly fromBlock?: number;
    readonly call: Call;
    readonly onProgress?: (block: number, head: number) => void;
  },
  deps: { readonly adapter: BlockReader; readonly store: AttributionStore; readonly pools: PoolTags },
): Promise<ReadCoinbasesReport> {
  const { chain, call, onProgress } = options;
  const { adapter, store, pools } = deps;
  const head = await adapter.head(call);
  const cursor = store.cursor(COINBASES);
  let next =
    cursor?.nextBlock ??
    options.fromBlock ??
    Math.max(0, head.height - ATTRIBUTION_LIMITS.coinbaseBlocksFirst);
  let reverted = 0;
  if (cursor?.hash != null && next > 0) {
    const last = await adapter.block(next - 1, call);
    if (last.block?.hash !== cursor.hash) {
      next = Math.max(0, next - REORG_BLOCKS);
      const from = next;
      reverted = store.write(() => {
        const removed = store.removeFacts(COINBASES, from);
        store.setCursor(COINBASES, { ...cursor, nextBlock: from, hash: null, facts: cursor.facts - removed });
        return removed;
      });
    }
  }
  const total = { blocks: 0, facts: 0, unread: 0 };
  for (; next <= head.height; next++) {
    call.signal.throwIfAborted();
    const { block } = await adapter.block(next, call);
    // The head went back since: the next run finds out where the chain continues.
    if (block === null) break;
    const found = factOf(block, pools);
    if (block.transactions?.[0]?.coinbaseScript === undefined) total.unread++;
    store.write(() => {
      const known = store.cursor(COINBASES);
      const isNew = found !== null && store.addFact(parseAddress(chain, found.address).key, found.fact, true);
      if (isNew) total.facts++;
      const settled = Math.max(known?.indexedFrom ?? next, next - 2 * REORG_BLOCKS);
      if (known?.indexedFrom !== undefined && settled > known.indexedFrom)
        store.settleFacts(COINBASES, settled);
      store.setCursor(COINBASES, {
        ...{ nextBlock: next + 1, hash: block.hash, indexedFrom: settled },
        facts: (known?.facts ?? 0) + (isNew ? 1 : 0),
      });
    }, 'later');
    total.blocks++;
    onProgress?.(next, head.height);
  }
  await store.flushed();
  return { ...total, reverted, nextBlock: next };
}

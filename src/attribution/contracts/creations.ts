/**
 * Reads which accounts created which contracts, from the transactions and receipts of blocks, and whether these contracts are proxies.
 * Contracts that other contracts create are not in receipts: the logs of factories cover those.
 */
import { parseAddress } from '../../chains/address/parse.ts';
import type { BlockCreations, Call, ChainAdapter, Creation } from '../../chains/families/port.ts';
import type { ChainId } from '../../chains/registry.ts';
import { ATTRIBUTION_LIMITS } from '../limits.ts';
import { advanceCursor, LISTED_BLOCKS, REORG_BLOCKS } from '../logs/read.ts';
import type { AttributionStore, Fact } from '../store.ts';
import { inGroups, type ReadAt, revertContractFacts, storeContract } from './facts.ts';
import { type ProxyState, ProxyStates, type StateReader } from './proxy-state.ts';

/** Id of the rule (data/sources.json). */
export const CREATOR_RULE = 'contract-creator';
/** Name under which progress and facts are stored. */
export const CREATIONS = 'contract-creations';

export type CreationReader = Required<Pick<ChainAdapter, 'creations' | 'header'>> &
  Pick<ChainAdapter, 'head'> &
  StateReader;

export interface ReadCreationsOptions {
  readonly chain: ChainId;
  /** First block if none was ever read. Default: the newest ones (`creationBlocksFirst`). */
  readonly fromBlock?: number;
  readonly call: Call;
  readonly onProgress?: (block: number, head: number) => void;
}

export interface ReadCreationsReport {
  readonly blocks: number;
  /** Contracts that were created, and how many of them are proxies. */
  readonly created: number;
  readonly proxies: number;
  /** Facts removed because the chain reverted their blocks. */
  readonly reverted: number;
  /** Creations that the node places at another address than CREATE gives. */
  readonly ignored: number;
  readonly nextBlock: number;
}

interface Found {
  readonly block: BlockCreations;
  readonly creation: Creation;
  readonly state: ProxyState | null;
}

const revertibleFrom = ({ height }: ReadAt): number => Math.max(0, height - LISTED_BLOCKS);

/** Stores a creation, and what the contract delegates to. Returns the number of new facts. */
function storeCreation(
  { block, creation, state }: Found,
  chain: ChainId,
  store: AttributionStore,
  at: ReadAt,
): number {
  const { key } = parseAddress(chain, creation.contract);
  const isRevertible = block.height >= revertibleFrom(at);
  const seen = {
    ...{ by: CREATIONS, blockNumber: block.height, txHash: creation.txHash },
    ...{ logIndex: creation.index, timestampMs: block.timestampMs },
  };
  const values = { creator: creation.creator.toLowerCase() };
  const created: Fact = { ...seen, rule: CREATOR_RULE, kind: 'created', values };
  const isNew = store.addFact(key, created, isRevertible);
  const proxies =
    state === null
      ? 0
      : storeContract(key, { kind: 'proxy', state }, seen, { chain, store, at, isRevertible });
  return (isNew ? 1 : 0) + proxies;
}

/** Returns the blocks up to the first one that does not follow its predecessor: the chain replaced it while it was read. */
function linked(blocks: readonly (BlockCreations | null)[], hash: string | null): readonly BlockCreations[] {
  const following: BlockCreations[] = [];
  let parent = hash;
  for (const block of blocks) {
    if (block === null || (parent !== null && block.parentHash !== parent)) break;
    following.push(block);
    parent = block.hash;
  }
  return following;
}

/**
 * Reads the creations of contracts up to the head of a chain.
 *
 * @throws the errors of the adapter; what was read before is stored, and the next call resumes there
 */
export async function readCreations(
  options: ReadCreationsOptions,
  deps: { readonly adapter: CreationReader; readonly store: AttributionStore },
): Promise<ReadCreationsReport> {
  const { chain, call, onProgress } = options;
  const { adapter, store } = deps;
  const head = await adapter.head(call);
  const states = new ProxyStates(chain, adapter, head.hash, call);
  const cursor = store.cursor(CREATIONS);
  const first = options.fromBlock ?? Math.max(0, head.height - ATTRIBUTION_LIMITS.creationBlocksFirst);
  let next = cursor?.nextBlock ?? first;
  let hash = cursor?.hash ?? null;
  let reverted = 0;
  if (hash !== null && (await adapter.header(next - 1, call))?.hash !== hash) {
    next = Math.max(0, next - REORG_BLOCKS);
    hash = null;
    reverted = await revertContractFacts(CREATIONS, next, { chain, store, states, head });
  }
  const total = { blocks: 0, created: 0, proxies: 0, ignored: 0 };
  while (next <= head.height) {
    call.signal.throwIfAborted();
    const count = Math.min(ATTRIBUTION_LIMITS.creationBlocksAtOnce, head.height - next + 1);
    const heights = Array.from({ length: count }, (_, at) => next + at);
    const blocks = linked(await Promise.all(heights.map((height) => adapter.creations(height, call))), hash);
    // The next run finds out where the chain continues.
    const last = blocks.at(-1);
    if (last === undefined) break;
    const created = blocks.flatMap((block) => block.creations.map((creation) => ({ block, creation })));
    const found = await inGroups(created, async (one) => ({
      ...one,
      state: await states.of(one.creation.contract),
    }));
    store.write(() => {
      const facts = found.reduce((sum, one) => sum + storeCreation(one, chain, store, head), 0);
      const step = { from: next, nextBlock: last.height + 1, hash: last.hash, facts };
      advanceCursor(store, CREATIONS, { ...step, revertibleFrom: revertibleFrom(head) });
    }, 'later');
    total.blocks += blocks.length;
    total.created += created.length;
    total.proxies += found.filter(({ state }) => state !== null).length;
    total.ignored += blocks.reduce((sum, { unverified }) => sum + unverified, 0);
    next = last.height + 1;
    hash = last.hash;
    onProgress?.(last.height, head.height);
  }
  await store.flushed();
  return { ...total, reverted, nextBlock: next };
}

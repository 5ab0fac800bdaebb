/**
 * Finds proxies by the events that they log when their code changes, and reads from the node which code they have. An event only says
 * which contract to look at: any contract can log it.
 */
import { parseAddress } from '../../chains/address/parse.ts';
import type { Call, LogEntry } from '../../chains/families/port.ts';
import type { ChainId } from '../../chains/registry.ts';
import { ATTRIBUTION_LIMITS } from '../limits.ts';
import { advanceCursor, LISTED_BLOCKS, type LogReader, logsIn, REORG_BLOCKS } from '../logs/read.ts';
import type { AttributionStore } from '../store.ts';
import {
  beaconFactOf,
  type ContractState,
  inGroups,
  proxyFactOf,
  revertContractFacts,
  storeContract,
} from './facts.ts';
import { keccakOf, ProxyStates, type StateReader } from './proxy-state.ts';

/** Name under which progress and facts are stored. */
export const PROXY_EVENTS = 'proxy-events';

/** EIP-1967; ZeppelinOS logs the first and the last one, too. */
const UPGRADED = keccakOf('Upgraded(address)');
const TOPICS = [UPGRADED, keccakOf('BeaconUpgraded(address)'), keccakOf('AdminChanged(address,address)')];

export type ProxyReader = LogReader & StateReader;

export interface ReadProxiesOptions {
  readonly chain: ChainId;
  /** First block if none was ever read. Default: the newest ones (`proxyBlocksFirst`). */
  readonly fromBlock?: number;
  readonly call: Call;
  readonly onProgress?: (block: number, head: number) => void;
}

export interface ReadProxiesReport {
  readonly logs: number;
  /** New facts about proxies and beacons. */
  readonly facts: number;
  /** Facts removed because the chain reverted their blocks. */
  readonly reverted: number;
  /** Contracts that logged such an event, but are no proxies of a known standard. */
  readonly ignored: number;
  readonly nextBlock: number;
}

/** The events of one contract in a range that count: the first one and the last one, between which its state is not known. */
interface Candidate {
  readonly address: string;
  readonly logs: readonly LogEntry[];
}

function candidatesOf(logs: readonly LogEntry[]): readonly Candidate[] {
  const byAddress = new Map<string, LogEntry[]>();
  for (const log of logs)
    byAddress.set(log.address, [...(byAddress.get(log.address) ?? []).slice(0, 1), log]);
  return [...byAddress].map(([address, own]) => ({ address, logs: own }));
}

interface Found extends Candidate {
  readonly key: Uint8Array;
  readonly read: ContractState;
}

/** Reads what a contract is; null if it is and was neither proxy nor beacon. */
async function readContract(
  chain: ChainId,
  candidate: Candidate,
  { states, store }: { readonly states: ProxyStates; readonly store: AttributionStore },
): Promise<Found | null> {
  const { address, logs } = candidate;
  const { key } = parseAddress(chain, address);
  const found = (read: ContractState): Found => ({ ...candidate, key, read });
  const state = await states.of(address);
  if (state !== null) return found({ kind: 'proxy', state });
  const isUpgraded = logs.some(({ topics }) => topics[0] === UPGRADED);
  const implementation = isUpgraded ? await states.beaconTarget(address) : null;
  if (implementation !== null) return found({ kind: 'beacon', implementation });
  const known = store.facts(key);
  if (proxyFactOf(known) !== null) return found({ kind: 'proxy', state: null });
  return beaconFactOf(known) === null ? null : found({ kind: 'beacon', implementation: null });
}

/**
 * Reads the events of proxies up to the head of a chain.
 *
 * @throws the errors of the adapter; what was read before is stored, and the next call resumes there
 */
export async function readProxies(
  options: ReadProxiesOptions,
  deps: { readonly adapter: ProxyReader; readonly store: AttributionStore },
): Promise<ReadProxiesReport> {
  const { chain, call, onProgress } = options;
  const { adapter, store } = deps;
  const head = await adapter.head(call);
  const states = new ProxyStates(chain, adapter, head.hash, call);
  const cursor = store.cursor(PROXY_EVENTS);
  const first = options.fromBlock ?? Math.max(0, head.height - ATTRIBUTION_LIMITS.proxyBlocksFirst);
  let next = cursor?.nextBlock ?? first;
  let reverted = 0;
  if (cursor?.hash != null && (await adapter.header(next - 1, call))?.hash !== cursor.hash) {
    next = Math.max(0, next - REORG_BLOCKS);
    reverted = await revertContractFacts(PROXY_EVENTS, next, { chain, store, states, head });
  }
  const revertibleFrom = Math.max(0, head.height - LISTED_BLOCKS);
  const total = { logs: 0, facts: 0, ignored: 0 };
  let width: number = ATTRIBUTION_LIMITS.logBlocksMax;
  while (next <= head.height) {
    call.signal.throwIfAborted();
    const last = Math.min(head.height, next + width - 1);
    const query = { address: null, topics: TOPICS, fromBlock: next, toBlock: last };
    const logs = await logsIn(adapter, query, call);
    if (logs === null) {
      width = Math.max(1, Math.floor(width / 4));
      continue;
    }
    const candidates = candidatesOf(logs);
    const read = await inGroups(candidates, (one) => readContract(chain, one, { states, store }));
    const found = read.filter((one) => one !== null);
    const blocks = [...new Set(found.flatMap((one) => one.logs.map(({ blockNumber }) => blockNumber)))];
    const times = new Map(
      await inGroups(
        blocks,
        async (block) => [block, (await adapter.header(block, call))?.timestampMs] as const,
      ),
    );
    const hash = last === head.height ? head.hash : ((await adapter.header(last, call))?.hash ?? null);
    store.write(() => {
      let facts = 0;
      for (const { key, logs: own, read: state } of found)
        for (const { blockNumber, txHash, logIndex } of own) {
          const timestampMs = times.get(blockNumber) ?? null;
          const seen = { by: PROXY_EVENTS, blockNumber, txHash, logIndex, timestampMs };
          const isRevertible = blockNumber >= revertibleFrom;
          facts += storeContract(key, state, seen, { chain, store, at: head, isRevertible });
        }
      advanceCursor(store, PROXY_EVENTS, { from: next, nextBlock: last + 1, hash, revertibleFrom, facts });
      total.facts += facts;
    }, 'later');
    total.logs += logs.length;
    total.ignored += candidates.length - found.length;
    next = last + 1;
    onProgress?.(last, head.height);
    width = Math.min(ATTRIBUTION_LIMITS.logBlocksMax, width * 2);
  }
  await store.flushed();
  return { ...total, reverted, nextBlock: next };
}

/** The facts that a contract is a proxy: what they contain, and how they are reverted with the blocks of their evidence. */
import { formatAddressKey, parseAddress } from '../../chains/address/parse.ts';
import type { ChainId } from '../../chains/registry.ts';
import { ATTRIBUTION_LIMITS } from '../limits.ts';
import type { AttributionStore, Fact } from '../store.ts';
import type { ProxyState, ProxyStates } from './proxy-state.ts';

/** Id of the rule (data/sources.json). */
export const PROXY_RULE = 'proxy-code';

type ProxyKind = ContractState['kind'];

/** The block at which state was read. */
export interface ReadAt {
  readonly height: number;
}

/** Returns the values of a fact; a contract that is no proxy (any more) has none but the block. */
function valuesOf(state: ProxyState | null, { height }: ReadAt): Readonly<Record<string, string>> {
  const readAt = String(height);
  if (state === null) return { readAt };
  const { standard, implementation, beacon, admin } = state;
  return {
    standard,
    // Which code a beacon names is a fact about the beacon: an upgrade there changes all of its proxies.
    ...(beacon === null
      ? { implementation: implementation.toLowerCase() }
      : { beacon: beacon.toLowerCase() }),
    ...(admin === null ? {} : { admin: admin.toLowerCase() }),
    readAt,
  };
}

/** Returns the values of a fact about a beacon. */
const beaconValues = (
  implementation: string | null,
  { height }: ReadAt,
): Readonly<Record<string, string>> => ({
  ...(implementation === null ? {} : { implementation: implementation.toLowerCase() }),
  readAt: String(height),
});

const readAtOf = ({ values }: Fact): number => Number(values.readAt ?? 0);

/** Returns the fact with the newest state; of equal ones the one with the newest event. */
function newestOf(facts: readonly Fact[], kind: ProxyKind): Fact | null {
  let newest: Fact | null = null;
  for (const fact of facts) {
    if (fact.rule !== PROXY_RULE || fact.kind !== kind) continue;
    if (newest === null || readAtOf(fact) >= readAtOf(newest)) newest = fact;
  }
  return newest;
}

/** Returns the fact that decides which code a contract delegates to; null if none is stored. */
export const proxyFactOf = (facts: readonly Fact[]): Fact | null => newestOf(facts, 'proxy');

/** Returns the fact that decides which code the proxies of a beacon have; null if none is stored. */
export const beaconFactOf = (facts: readonly Fact[]): Fact | null => newestOf(facts, 'beacon');

/** What was read of a contract. */
export type ContractState =
  /** Null: the contract is no proxy any more. */
  | { readonly kind: 'proxy'; readonly state: ProxyState | null }
  | { readonly kind: 'beacon'; readonly implementation: string | null };

/** Where a contract was seen: a log, or the transaction that created it. */
export type Seen = Pick<Fact, 'by' | 'blockNumber' | 'txHash' | 'logIndex' | 'timestampMs'>;

/** Notes what a beacon names: once for each source, because a beacon can have a million proxies; later readings replace the values. */
function noteBeacon(
  beacon: Uint8Array,
  fact: Fact,
  { store, isRevertible }: { readonly store: AttributionStore; readonly isRevertible: boolean },
): number {
  const known = store.facts(beacon).filter(({ rule, kind }) => rule === PROXY_RULE && kind === 'beacon');
  const older = known.filter(({ blockNumber }) => blockNumber <= fact.blockNumber);
  for (const one of known)
    if (readAtOf(one) <= readAtOf(fact)) store.updateFact(beacon, { ...one, values: fact.values });
  return older.length === 0 && store.addFact(beacon, fact, isRevertible) ? 1 : 0;
}

/**
 * Stores what was read of a contract.
 *
 * @returns the number of new facts
 */
export function storeContract(
  key: Uint8Array,
  read: ContractState,
  seen: Seen,
  options: {
    readonly chain: ChainId;
    readonly store: AttributionStore;
    readonly at: ReadAt;
    readonly isRevertible: boolean;
  },
): number {
  const { chain, store, at, isRevertible } = options;
  const { kind } = read;
  const values = read.kind === 'proxy' ? valuesOf(read.state, at) : beaconValues(read.implementation, at);
  let facts = store.addFact(key, { ...seen, rule: PROXY_RULE, kind, values }, isRevertible) ? 1 : 0;
  if (read.kind !== 'proxy' || read.state === null || read.state.beacon === null) return facts;
  const { beacon, implementation } = read.state;
  const fact: Fact = { ...seen, rule: PROXY_RULE, kind: 'beacon', values: beaconValues(implementation, at) };
  facts += noteBeacon(parseAddress(chain, beacon).key, fact, { store, isRevertible });
  return facts;
}

/** Calls a function for each item, `proxiesAtOnce` of them at a time. Results are in the order of items. */
export async function inGroups<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += ATTRIBUTION_LIMITS.proxiesAtOnce)
    results.push(...(await Promise.all(items.slice(at, at + ATTRIBUTION_LIMITS.proxiesAtOnce).map(work))));
  return results;
}

/** Reads the state behind the earlier facts of a contract again. */
async function readAgain(
  address: string,
  facts: readonly Fact[],
  states: ProxyStates,
  head: ReadAt,
): Promise<readonly Fact[]> {
  const has = (wanted: ProxyKind): boolean => facts.some(({ kind }) => kind === wanted);
  const proxy = has('proxy') ? valuesOf(await states.of(address), head) : {};
  const beacon = has('beacon') ? beaconValues(await states.beaconTarget(address), head) : {};
  return facts.map((fact) => ({ ...fact, values: fact.kind === 'proxy' ? proxy : beacon }));
}

/**
 * Removes the facts of one source from blocks of `fromBlock` on, and sets its position there. If a contract has earlier facts of the proxy
 * rule, their state was read after the removed blocks: it is read again.
 *
 * @returns how many facts were removed
 */
export async function revertContractFacts(
  by: string,
  fromBlock: number,
  deps: {
    readonly chain: ChainId;
    readonly store: AttributionStore;
    readonly states: ProxyStates;
    readonly head: ReadAt;
  },
): Promise<number> {
  const { chain, store, states, head } = deps;
  const contracts = new Map<string, Uint8Array>();
  for (const [key, { rule }] of store.factsFrom(by, fromBlock))
    if (rule === PROXY_RULE) contracts.set(formatAddressKey(key, chain), key);
  const updated = await inGroups([...contracts], async ([address, key]) => {
    const earlier = store
      .facts(key)
      .filter((fact) => fact.rule === PROXY_RULE && (fact.by !== by || fact.blockNumber < fromBlock));
    return { key, facts: await readAgain(address, earlier, states, head) };
  });
  return store.write(() => {
    const cursor = store.cursor(by);
    const removed = store.removeFacts(by, fromBlock);
    for (const { key, facts } of updated) for (const fact of facts) store.updateFact(key, fact);
    if (cursor !== null)
      store.setCursor(by, { ...cursor, nextBlock: fromBlock, hash: null, facts: cursor.facts - removed });
    return removed;
  });
}

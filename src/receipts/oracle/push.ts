/**
 * Makes the contracts of an operator equal to the sanctions lists. Only the difference to the state on chain is sent, so a run that was
 * killed is continued by the next one.
 */
import { AssayError } from '../../base/errors.ts';
import { asHexCount } from '../../chains/endpoints/exact-json.ts';
import type { ChainId } from '../../chains/registry.ts';
import {
  type ListChange,
  type ListState,
  listCall,
  type RootState,
  readList,
  readRoot,
  rootCall,
} from './contracts.ts';
import { ORACLE_LIMITS } from './limits.ts';
import { blockNumber, type ChainRpc } from './rpc.ts';
import type { Mined, Outcome } from './sender.ts';
import type { TreeFacts } from './tree-file.ts';
import { snapshotHash } from './trees.ts';

/** The part of a Sender that a push needs. */
export interface PushSender {
  readonly address: string;
  settle(): Promise<Outcome | null>;
  send(to: string, data: string): Promise<Outcome>;
}

/** One transaction of a push. In a dry run it has no hash, and its gas is estimated. */
export interface PushedBatch {
  readonly change: ListChange | 'ROOT' | 'EARLIER_RUN';
  readonly addresses: number;
  readonly hash: string | null;
  readonly gasUsed: number;
  /** Wei, decimal; null in a dry run. */
  readonly fee: string | null;
}

export interface PushReport {
  readonly chain: ChainId;
  readonly contract: string;
  readonly dataVersion: string;
  /** Addresses of the lists. */
  readonly addresses: number;
  /** Addresses on chain before. */
  readonly before: number;
  readonly added: number;
  readonly removed: number;
  readonly batches: readonly PushedBatch[];
  readonly gasUsed: number;
  /** Wei, decimal. */
  readonly fee: string;
  readonly isDryRun: boolean;
  /** Of a root. */
  readonly root?: string;
  readonly epoch?: number;
  readonly expiresAt?: number;
}

export interface PushTarget {
  readonly rpc: ChainRpc;
  readonly contract: string;
  /** Null for a dry run. */
  readonly sender: PushSender | null;
  /** Accept that more than half of the listed addresses are removed. */
  readonly force: boolean;
  readonly onBatch: (batch: PushedBatch) => void;
}

type Facts = Pick<TreeFacts, 'chain' | 'dataVersion'>;

/** Collects the transactions of one push. */
class Batches {
  readonly all: PushedBatch[] = [];
  readonly #onBatch: (batch: PushedBatch) => void;

  constructor(onBatch: (batch: PushedBatch) => void) {
    this.#onBatch = onBatch;
  }

  add(change: PushedBatch['change'], addresses: number, mined: Mined): void {
    this.#push({ change, addresses, hash: mined.hash, gasUsed: mined.gasUsed, fee: mined.fee });
  }

  estimate(change: PushedBatch['change'], addresses: number, gasUsed: number): void {
    this.#push({ change, addresses, hash: null, gasUsed, fee: null });
  }

  #push(batch: PushedBatch): void {
    this.all.push(batch);
    this.#onBatch(batch);
  }

  totals(): Pick<PushReport, 'batches' | 'gasUsed' | 'fee'> {
    return {
      batches: this.all,
      gasUsed: this.all.reduce((sum, { gasUsed }) => sum + gasUsed, 0),
      fee: String(this.all.reduce((sum, { fee }) => sum + BigInt(fee ?? 0), 0n)),
    };
  }
}

/** Refuses to send if the key is not the pusher: every transaction would revert. */
function requirePusher({ pusher }: { readonly pusher: string }, { sender, contract }: PushTarget): void {
  if (sender !== null && sender.address.toLowerCase() !== pusher.toLowerCase())
    throw new AssayError(
      'CHAIN_REFUSED',
      `The key is that of ${sender.address}, but the pusher of ${contract} is ${pusher}.`,
    );
}

function requirePlausible(before: number, gone: number, { force }: PushTarget): void {
  if (force || gone * 2 <= before) return;
  throw new AssayError(
    'IMPLAUSIBLE_LIST',
    `${gone} of ${before} addresses would be removed, more than half. If that is correct, push with --force.`,
  );
}

const estimate = ({ rpc, contract }: PushTarget, from: string, data: string): Promise<number> =>
  rpc.request('eth_estimateGas', [{ from, to: contract, data }], (result) => asHexCount(result, 'gas'));

/** Finishes the transaction of a killed run. Its effect is then part of the state that is read. */
async function settle({ sender }: PushTarget, batches: Batches): Promise<void> {
  const outcome = await sender?.settle();
  if (outcome && outcome !== 'REPLACED') batches.add('EARLIER_RUN', 0, outcome);
}

interface Difference {
  readonly state: ListState;
  readonly changes: readonly { readonly change: ListChange; readonly addresses: readonly string[] }[];
  readonly added: number;
  readonly removed: number;
}

function differenceOf(wanted: ReadonlySet<string>, state: ListState, batch: number): Difference {
  const added = [...wanted].filter((address) => !state.addresses.has(address));
  const removed = [...state.addresses].filter((address) => !wanted.has(address)).sort();
  const parts = (change: ListChange, all: readonly string[]): Difference['changes'] =>
    Array.from({ length: Math.ceil(all.length / batch) }, (_, at) => ({
      change,
      addresses: all.slice(at * batch, (at + 1) * batch),
    }));
  return {
    state,
    // Additions first: a late one lets a sanctioned address pass.
    changes: [...parts('ADD', added), ...parts('REMOVE', removed)],
    added: added.length,
    removed: removed.length,
  };
}

/**
 * Makes the list of a SanctionsOracle equal to a set of addresses.
 *
 * @param wanted - lower case
 * @throws IMPLAUSIBLE_LIST unless `force`; CHAIN_REFUSED, CHAIN_TIMEOUT, STORE_BUSY: what was confirmed before stays
 */
export async function pushList(
  { chain, dataVersion }: Facts,
  wanted: ReadonlySet<string>,
  target: PushTarget,
  batch: number = ORACLE_LIMITS.batchAddresses,
): Promise<PushReport> {
  const batches = new Batches(target.onBatch);
  await settle(target, batches);
  const { rpc, contract, sender } = target;
  const differ = async (): Promise<Difference> =>
    differenceOf(wanted, await readList(rpc, contract, await blockNumber(rpc)), batch);
  const first = await differ();
  requirePusher(first.state, target);
  requirePlausible(first.state.addresses.size, first.removed, target);
  if (sender === null) await estimateChanges(first, target, batches);
  else await sendChanges(first, differ, sender, contract, batches);
  return {
    chain,
    contract,
    dataVersion,
    addresses: wanted.size,
    before: first.state.addresses.size,
    added: first.added,
    removed: first.removed,
    ...batches.totals(),
    isDryRun: sender === null,
  };
}

async function estimateChanges(
  { state, changes }: Difference,
  target: PushTarget,
  batches: Batches,
): Promise<void> {
  for (const { change, addresses } of changes)
    batches.estimate(
      change,
      addresses.length,
      await estimate(target, state.pusher, await listCall(change, addresses)),
    );
}

async function sendChanges(
  first: Difference,
  differ: () => Promise<Difference>,
  sender: PushSender,
  contract: string,
  batches: Batches,
): Promise<void> {
  let { changes } = first;
  for (let round = 0; changes.length > 0; round++) {
    if (round === ORACLE_LIMITS.pushRoundsMax)
      throw new AssayError(
        'STORE_BUSY',
        `Transactions of ${sender.address} were replaced by others ${round} times. Use an account that nothing else uses.`,
      );
    for (const { change, addresses } of changes) {
      const outcome = await sender.send(contract, await listCall(change, addresses));
      // The effect of the other transaction is not known, so the state is read again.
      if (outcome === 'REPLACED') break;
      batches.add(change, addresses.length, outcome);
    }
    ({ changes } = await differ());
  }
}

export interface RootOptions {
  /** How long the root is valid, in seconds. */
  readonly lifeSeconds: number;
  /** Seconds since 1970. */
  readonly now: number;
}

/**
 * Publishes the root of a tree, if it is another one or less than half of its life is left.
 *
 * @throws as `pushList`
 */
export async function pushRoot(
  tree: TreeFacts,
  { lifeSeconds, now }: RootOptions,
  target: PushTarget,
): Promise<PushReport> {
  const batches = new Batches(target.onBatch);
  await settle(target, batches);
  const { rpc, contract, sender } = target;
  const read = async (): Promise<RootState> => readRoot(rpc, contract, await blockNumber(rpc));
  const first = await read();
  requirePusher(first, target);
  requirePlausible(first.size, Math.max(0, first.size - tree.size), target);
  const isCurrent = (state: RootState): boolean =>
    state.root === tree.root && state.expiresAt - now >= lifeSeconds / 2;
  let state = first;
  for (let round = 0; !isCurrent(state); round++) {
    if (round === ORACLE_LIMITS.pushRoundsMax)
      throw new AssayError(
        'STORE_BUSY',
        `The root of ${contract} was replaced by another one ${round} times.`,
      );
    const call = {
      ...{ root: tree.root, size: tree.size, epoch: state.epoch + 1, expiresAt: now + lifeSeconds },
      snapshot: snapshotHash(tree.dataVersion),
    };
    const data = await rootCall(call);
    if (sender === null) {
      batches.estimate('ROOT', tree.size, await estimate(target, state.pusher, data));
      state = { ...state, ...call };
      break;
    }
    const outcome = await sender.send(contract, data);
    if (outcome !== 'REPLACED') batches.add('ROOT', tree.size, outcome);
    state = await read();
  }
  return {
    chain: tree.chain,
    contract,
    dataVersion: tree.dataVersion,
    addresses: tree.size,
    before: first.size,
    added: Math.max(0, tree.size - first.size),
    removed: Math.max(0, first.size - tree.size),
    ...batches.totals(),
    isDryRun: sender === null,
    root: tree.root,
    epoch: state.epoch,
    expiresAt: state.expiresAt,
  };
}

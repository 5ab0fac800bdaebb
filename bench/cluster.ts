/**
 * Union–find over 10 million addresses, compared with the same sets kept in a Map, the obvious first implementation; and
 * the links of transactions. Run: node --expose-gc dist/bench/cluster.js [--addresses N] [--no-save]
 */
import { isoTime, systemClock } from '../src/base/clock.ts';
import { seededUint32 } from '../src/base/random.ts';
import { formatAddressKey, parseAddress } from '../src/chains/address/parse.ts';
import type { UtxoTransaction } from '../src/chains/utxo-transaction.ts';
import { createLinkFinder, type NumberedTransaction } from '../src/graph/cluster/links.ts';
import { createUnionFind } from '../src/graph/cluster/union-find.ts';
import { argument, type BenchRow, publish, report, row } from './harness.ts';

const SEED = 7;
/** Average unions per address: a transaction with three inputs makes two. */
const UNIONS_AN_ADDRESS = 1;
/** Transactions for complete clustering, starting from address texts. */
const PAYMENTS = 200_000;

interface Pairs {
  readonly left: Uint32Array;
  readonly right: Uint32Array;
}

/**
 * Pairs such as inputs of transactions form: half of them close together (an address spends soon after it was created), the others
 * anywhere, and a tenth of all with one of a thousand services that many transactions share.
 */
function pairsOf(addresses: number): Pairs {
  const next = seededUint32(SEED);
  const count = addresses * UNIONS_AN_ADDRESS;
  const left = new Uint32Array(count);
  const right = new Uint32Array(count);
  for (let at = 0; at < count; at++) {
    const kind = next() % 10;
    const first = next() % addresses;
    left[at] = first;
    if (kind === 0) right[at] = (next() % 1000) * Math.floor(addresses / 1000);
    else if (kind < 6) right[at] = Math.min(addresses - 1, first + (next() % 500));
    else right[at] = next() % addresses;
  }
  return { left, right };
}

/** All unions, then the representative of every address, which is all that clustering needs. */
function byTypedArray({ left, right }: Pairs, addresses: number): number {
  const sets = createUnionFind(addresses);
  sets.reset(addresses);
  for (let at = 0; at < left.length; at++) sets.union(left[at] as number, right[at] as number);
  let clusters = 0;
  for (const [id, smallest] of sets.flatten().entries()) if (id === smallest) clusters++;
  return clusters;
}

function byMap({ left, right }: Pairs, addresses: number): number {
  const parents = new Map<number, number>();
  for (let id = 0; id < addresses; id++) parents.set(id, id);
  const find = (id: number): number => {
    let root = id;
    for (let parent = parents.get(root); parent !== root; parent = parents.get(root)) root = parent as number;
    for (let at = id; at !== root; ) {
      const parent = parents.get(at) as number;
      parents.set(at, root);
      at = parent;
    }
    return root;
  };
  for (let at = 0; at < left.length; at++) {
    const a = find(left[at] as number);
    const b = find(right[at] as number);
    if (a !== b) parents.set(b, a);
  }
  let clusters = 0;
  for (let id = 0; id < addresses; id++) if (find(id) === id) clusters++;
  return clusters;
}

const MODEL = parseAddress('BTC', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4').key;

/** Payments with one to four inputs and two outputs, with addresses drawn from as many as there are transactions. */
function payments(count: number): NumberedTransaction[] {
  const next = seededUint32(SEED);
  const key = Buffer.from(MODEL);
  const addresses = Array.from({ length: count }, (_, number) => {
    key.writeUInt32BE((number * 2_654_435_761) >>> 0, 2);
    key.writeUInt32BE(number, key.length - 4);
    return formatAddressKey(key, 'BTC');
  });
  return Array.from({ length: count }, (_, number) => {
    const inputs = Array.from({ length: 1 + (next() % 4) }, () => next() % count);
    const outputs = [next() % count, next() % count];
    const tx: UtxoTransaction = {
      chain: 'BTC',
      txid: number.toString(16).padStart(64, '0'),
      blockNumber: 600_000 + Math.floor(number / 2_000),
      indexInBlock: number % 2_000,
      timestampMs: number,
      isCoinbase: false,
      inputs: inputs.map((address, vout) => ({
        txid: '0'.repeat(64),
        vout,
        address: addresses[address] as string,
        value: BigInt(5_000_000 + (next() % 5_000_000)),
      })),
      outputs: outputs.map((address, n) => ({
        n,
        address: addresses[address] as string,
        value: BigInt(1_000_000 + (next() % 9_000_000)),
        script: 'p2wpkh',
      })),
    };
    // Number 0 is no address.
    return { tx, inputs: inputs.map((one) => one + 1), outputs: outputs.map((one) => one + 1) };
  });
}

/** The links of transactions: CoinJoins, multi-input and change. */
function linksOf(transactions: readonly NumberedTransaction[]): number {
  let links = 0;
  const finder = createLinkFinder({ completeHistory: true }, () => links++);
  for (const tx of transactions) finder.add(tx);
  return links;
}

function timed(work: () => number): { seconds: number; clusters: number } {
  globalThis.gc?.();
  const start = systemClock.monotonic();
  const clusters = work();
  return { seconds: (systemClock.monotonic() - start) / 1000, clusters };
}

function main(): void {
  const startedAt = isoTime(systemClock.now());
  const addresses = argument('--addresses', 10_000_000);
  const pairs = pairsOf(addresses);
  const ours = timed(() => byTypedArray(pairs, addresses));
  const control = timed(() => byMap(pairs, addresses));
  if (ours.clusters !== control.clusters)
    throw new Error(`The two ways found ${ours.clusters} and ${control.clusters} clusters.`);
  const made = payments(PAYMENTS);
  const whole = timed(() => linksOf(made));
  const rows: BenchRow[] = [
    row('union–find and every representative', ours.seconds, 's', { atMost: 2 }, control.seconds),
    row('unions', pairs.left.length / ours.seconds, 'a second'),
    row('links of transactions, with CoinJoins and change', PAYMENTS / whole.seconds, 'a second'),
  ];
  const subject = {
    addresses,
    unions: pairs.left.length,
    clusters: ours.clusters,
    payments: PAYMENTS,
    seed: SEED,
  };
  const bench = report('cluster', startedAt, subject, rows);
  publish(bench);
}

main();

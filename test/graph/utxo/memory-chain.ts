/** A chain of outputs in memory, and random ones, for tests of the taint kernels. */
import fc from 'fast-check';
import type { SpendGraph, SpendOutput, SpendTransaction } from '../../../src/graph/utxo/spend-graph.ts';

export interface Draft {
  readonly name: string;
  readonly block: number;
  readonly indexInBlock?: number;
  /** The spent outputs as `name:n`; empty for a coinbase. */
  readonly inputs: readonly string[];
  readonly outputs: readonly bigint[];
  /** Numbers of addresses, one per output. */
  readonly addresses?: readonly number[];
  readonly shieldedIn?: bigint;
  readonly shieldedOut?: bigint;
}

export interface MemoryChain extends SpendGraph {
  ref(name: string): { tx: number; n: number };
}

const txidOf = (name: string): string => Buffer.from(name.padEnd(32, '.')).toString('hex').slice(0, 64);

/** Numbers follow the order of the drafts. A draft may spend outputs of a later draft; an input with an unknown name has the number 0. */
export function memoryChain(drafts: readonly Draft[]): MemoryChain {
  const numbers = new Map(drafts.map(({ name }, index) => [name, index + 1]));
  const refOf = (text: string): { tx: number; n: number } => {
    const [name, n] = text.split(':');
    return { tx: numbers.get(name ?? '') ?? 0, n: Number(n) };
  };
  const spends = new Map<string, number>();
  for (const { name, inputs } of drafts)
    for (const input of inputs) spends.set(input, numbers.get(name) ?? 0);
  const transactions: SpendTransaction[] = drafts.map((draft, index) => ({
    number: index + 1,
    txid: txidOf(draft.name),
    isKnown: true,
    isCoinbase: draft.inputs.length === 0,
    block: draft.block,
    indexInBlock: draft.indexInBlock ?? index,
    timestampMs: draft.block * 600_000,
    inputs: draft.inputs.map(refOf),
    outputs: draft.outputs.map(
      (value, n): SpendOutput => ({
        n,
        value,
        script: 'p2pkh',
        address: draft.addresses?.[n] ?? 0,
        spentBy: spends.get(`${draft.name}:${n}`) ?? null,
      }),
    ),
    shieldedIn: draft.shieldedIn ?? 0n,
    shieldedOut: draft.shieldedOut ?? 0n,
  }));
  return {
    numberOf: (txid) => transactions.find((transaction) => transaction.txid === txid)?.number ?? null,
    transaction: (number) => transactions[number - 1] as SpendTransaction,
    keyOf: (address) => Uint8Array.of(2, 1, address),
    ref: refOf,
  };
}

/** A random valid chain: every transaction spends earlier outputs, and pays no more than its inputs. */
export const randomDrafts: fc.Arbitrary<Draft[]> = fc
  .array(
    fc.record({
      coinbase: fc.bigInt({ min: 0n, max: 5_000n }),
      spends: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 4 }),
      shares: fc.array(fc.nat(100), { minLength: 1, maxLength: 4 }),
      fee: fc.nat(20),
      sameBlock: fc.boolean(),
      isCoinbase: fc.boolean(),
    }),
    { minLength: 2, maxLength: 25 },
  )
  .map((steps) => {
    const drafts: Draft[] = [];
    const open: { ref: string; value: bigint }[] = [];
    let block = 0;
    for (const [index, step] of steps.entries()) {
      if (!step.sameBlock) block++;
      const name = `t${index}`;
      const inputs: string[] = [];
      let total = step.coinbase;
      if (!step.isCoinbase && open.length > 0) {
        total = 0n;
        for (const pick of step.spends) {
          if (open.length === 0) break;
          const [spent] = open.splice(pick % open.length, 1);
          if (!spent) break;
          inputs.push(spent.ref);
          total += spent.value;
        }
      }
      const weights = [...step.shares, inputs.length > 0 ? step.fee : 0].map(BigInt);
      const sum = weights.reduce((a, b) => a + b, 0n);
      const outputs = weights.slice(0, -1).map((weight) => (sum === 0n ? 0n : (total * weight) / sum));
      drafts.push({ name, block, inputs, outputs });
      for (const [n, value] of outputs.entries()) open.push({ ref: `${name}:${n}`, value });
    }
    return drafts;
  });

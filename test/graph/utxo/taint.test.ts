import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type TaintAnswer, taintOf } from '../../../src/graph/utxo/taint.ts';
import { TAINT_METHODS, type TaintMethod } from '../../../src/graph/utxo/taint-rules.ts';
import { type Draft, type MemoryChain, memoryChain, randomDrafts } from './memory-chain.ts';

const amounts = (answer: TaintAnswer): Record<string, bigint> =>
  Object.fromEntries(
    answer.outputs.map(({ txid, n, tainted }) => [
      `${Buffer.from(txid, 'hex').toString().replaceAll('.', '')}:${n}`,
      tainted,
    ]),
  );

const follow = (
  chain: MemoryChain,
  seeds: readonly string[],
  method: TaintMethod,
  rest: object = {},
): TaintAnswer => taintOf(chain, seeds.map(chain.ref), { method, ...rest });

/** 30 tainted and 70 clean in, 60 and 35 out, fee 5. */
const MIX: Draft[] = [
  { name: 'bad', block: 1, inputs: [], outputs: [30n] },
  { name: 'good', block: 2, inputs: [], outputs: [70n] },
  { name: 'mix', block: 3, inputs: ['bad:0', 'good:0'], outputs: [35n, 60n] },
];

describe('taint through one transaction', () => {
  it.each([
    ['poison', { 'mix:0': 35n, 'mix:1': 60n }, 5n],
    ['haircut', { 'mix:0': 10n, 'mix:1': 18n }, 1n],
    ['fifo', { 'mix:0': 30n }, 0n],
    ['lifo', { 'mix:1': 25n }, 5n],
    ['tiho', { 'mix:1': 30n }, 0n],
  ] as const)('%s', (method, expected, fee) => {
    const answer = follow(memoryChain(MIX), ['bad:0'], method);
    expect(amounts(answer)).toEqual(expected);
    expect(answer.fee).toBe(fee);
  });

  it('tracks which satoshi of an output are tainted under fifo and lifo', () => {
    const chain = memoryChain([
      ...MIX,
      { name: 'split', block: 4, inputs: ['mix:0'], outputs: [31n, 4n] },
      { name: 'other', block: 4, inputs: ['mix:1'], outputs: [10n, 50n] },
    ]);
    // FIFO: mix:0 is 30 tainted, then 5 clean. LIFO: mix:1 took 35 clean, then 25 tainted, and is spent from its end.
    expect(amounts(follow(chain, ['bad:0'], 'fifo'))).toEqual({ 'split:0': 30n });
    expect(amounts(follow(chain, ['bad:0'], 'lifo'))).toEqual({ 'other:0': 10n, 'other:1': 15n });
  });

  it('keeps the order of parts under lifo', () => {
    const chain = memoryChain([
      { name: 'clean', block: 1, inputs: [], outputs: [10n] },
      { name: 'bad', block: 1, inputs: [], outputs: [10n] },
      { name: 'one', block: 2, inputs: ['clean:0', 'bad:0'], outputs: [20n] },
      { name: 'two', block: 3, inputs: ['one:0'], outputs: [5n, 15n] },
    ]);
    // one:0 is 10 tainted, then 10 clean: the tainted input was last and is taken first. two:0 takes 5 clean from the end.
    expect(amounts(follow(chain, ['bad:0'], 'lifo'))).toEqual({ 'two:1': 10n });
  });

  it('uses the inputs in the order of the transaction, not of their age', () => {
    const chain = memoryChain([
      { name: 'bad', block: 2, inputs: [], outputs: [30n] },
      { name: 'good', block: 1, inputs: [], outputs: [70n] },
      { name: 'mix', block: 3, inputs: ['good:0', 'bad:0'], outputs: [35n, 60n] },
    ]);
    expect(amounts(follow(chain, ['bad:0'], 'fifo'))).toEqual({ 'mix:1': 25n });
  });

  it('fills the first of equal outputs under tiho, and the fee last', () => {
    const chain = memoryChain([
      { name: 'bad', block: 1, inputs: [], outputs: [90n] },
      { name: 'mix', block: 2, inputs: ['bad:0'], outputs: [20n, 20n] },
    ]);
    const answer = follow(chain, ['bad:0'], 'tiho');
    expect(amounts(answer)).toEqual({ 'mix:0': 20n, 'mix:1': 20n });
    expect(answer.fee).toBe(50n);
  });
});

describe('edge cases', () => {
  it('allow a coinbase output as a seed, and taint in a fee does not reach the coinbase of its block', () => {
    const chain = memoryChain([
      { name: 'reward', block: 1, inputs: [], outputs: [50n] },
      { name: 'pay', block: 2, inputs: ['reward:0'], outputs: [40n] },
      { name: 'next', block: 2, inputs: [], outputs: [60n] },
    ]);
    const answer = follow(chain, ['reward:0'], 'poison');
    expect(amounts(answer)).toEqual({ 'pay:0': 40n });
    expect(answer.fee).toBe(10n);
  });

  it('count a duplicate seed once', () => {
    const chain = memoryChain(MIX);
    expect(follow(chain, ['bad:0', 'bad:0'], 'haircut')).toEqual(follow(chain, ['bad:0'], 'haircut'));
  });

  it('assign nothing to an output of zero, also under poison', () => {
    const chain = memoryChain([
      { name: 'bad', block: 1, inputs: [], outputs: [10n, 0n] },
      { name: 'pay', block: 2, inputs: ['bad:0', 'bad:1'], outputs: [0n, 10n] },
      { name: 'zero', block: 3, inputs: ['pay:0'], outputs: [0n] },
    ]);
    for (const method of TAINT_METHODS) {
      const answer = follow(chain, ['bad:0', 'bad:1'], method);
      expect(amounts(answer)).toEqual({ 'pay:1': 10n });
      expect(answer.seeds).toBe(2);
    }
  });

  it('separate two outputs of one address and value', () => {
    const chain = memoryChain([
      { name: 'bad', block: 1, inputs: [], outputs: [10n, 10n], addresses: [7, 7] },
      { name: 'pay', block: 2, inputs: ['bad:0', 'bad:1'], outputs: [12n, 8n] },
    ]);
    expect(amounts(follow(chain, ['bad:1'], 'fifo'))).toEqual({ 'pay:0': 2n, 'pay:1': 8n });
  });

  it('process parents before children, in any order in the block', () => {
    const drafts: Draft[] = [
      { name: 'bad', block: 1, inputs: [], outputs: [10n] },
      { name: 'child', block: 2, indexInBlock: 1, inputs: ['parent:0', 'bad:0'], outputs: [20n] },
      { name: 'parent', block: 2, indexInBlock: 2, inputs: ['seed:0'], outputs: [10n] },
      { name: 'seed', block: 1, inputs: [], outputs: [10n] },
    ];
    for (const method of TAINT_METHODS) {
      const answer = follow(memoryChain(drafts), ['seed:0', 'bad:0'], method);
      expect(amounts(answer)).toEqual({ 'child:0': 20n });
      expect(answer.transactions).toBe(2);
    }
  });

  it('follow a spent seed, and taint one downstream of another fully and once', () => {
    const chain = memoryChain([
      ...MIX,
      { name: 'end', block: 4, inputs: ['mix:0', 'mix:1'], outputs: [95n] },
    ]);
    const answer = follow(chain, ['bad:0', 'mix:1'], 'haircut');
    expect(answer.intoSeeds).toBe(18n);
    expect(amounts(answer)).toEqual({ 'end:0': 70n });
  });

  it('ignore spends after the last block', () => {
    const chain = memoryChain(MIX);
    expect(amounts(follow(chain, ['bad:0'], 'fifo', { until: 2 }))).toEqual({ 'bad:0': 30n });
  });

  it('end taint at a stop, but follow a seed there', () => {
    const chain = memoryChain([
      { name: 'bad', block: 1, inputs: [], outputs: [30n], addresses: [9] },
      { name: 'pay', block: 2, inputs: ['bad:0'], outputs: [30n], addresses: [9] },
      { name: 'on', block: 3, inputs: ['pay:0'], outputs: [30n] },
    ]);
    const answer = follow(chain, ['bad:0'], 'haircut', { stopAt: (address: number) => address === 9 });
    expect(answer.outputs).toMatchObject([{ end: 'STOPPED', tainted: 30n }]);
    expect(answer.unspent).toBe(0n);
  });

  it('do not ask about outputs without an address whether they are a stop', () => {
    const chain = memoryChain([
      { name: 'bad', block: 1, inputs: [], outputs: [30n] },
      { name: 'pay', block: 2, inputs: ['bad:0'], outputs: [20n, 10n], addresses: [0, 1] },
    ]);
    const asked: number[] = [];
    const stopAt = (address: number): boolean => asked.push(address) > 0;
    const answer = follow(chain, ['bad:0'], 'haircut', { stopAt });
    expect(asked).toEqual([1]);
    expect(answer.outputs).toMatchObject([
      { n: 0, end: 'UNSPENT', tainted: 20n },
      { n: 1, end: 'STOPPED', tainted: 10n },
    ]);
  });

  it('treat value from a shielded pool as clean, and report taint that enters it', () => {
    const chain = memoryChain([
      { name: 'bad', block: 1, inputs: [], outputs: [30n] },
      { name: 'mix', block: 2, inputs: ['bad:0'], outputs: [20n], shieldedIn: 30n, shieldedOut: 30n },
    ]);
    const answer = follow(chain, ['bad:0'], 'haircut');
    expect([answer.tainted, answer.shielded, answer.fee]).toEqual([10n, 15n, 5n]);
  });

  it('list outputs by their taint, then by transaction and number', () => {
    const chain = memoryChain([
      { name: 'b', block: 1, inputs: [], outputs: [10n, 10n, 20n, 10n] },
      { name: 'a', block: 2, inputs: [], outputs: [10n, 5n] },
    ]);
    const answer = follow(chain, ['b:3', 'a:1', 'b:1', 'b:0', 'b:2', 'a:0'], 'fifo');
    const named = ({ txid, n }: { readonly txid: string; readonly n: number }) =>
      `${Buffer.from(txid, 'hex').toString().replaceAll('.', '')}:${n}`;
    expect(answer.outputs.map(named)).toEqual(['b:2', 'a:0', 'b:0', 'b:1', 'b:3', 'a:1']);
  });

  it('report an exhausted budget', () => {
    const drafts: Draft[] = [{ name: 'a0', block: 0, inputs: [], outputs: [10n] }];
    for (let step = 1; step < 10; step++)
      drafts.push({ name: `a${step}`, block: step, inputs: [`a${step - 1}:0`], outputs: [10n] });
    const answer = follow(memoryChain(drafts), ['a0:0'], 'fifo', { budget: { transactions: 4, pieces: 9 } });
    expect(answer).toMatchObject({ truncated: 'TRANSACTIONS', transactions: 4, tainted: 10n, unspent: 0n });
    expect(answer.outputs[0]?.end).toBe('LEFT');
  });
});

/** A chain, and some of its outputs as seeds. */
const world = fc
  .tuple(randomDrafts, fc.array(fc.nat(1_000), { minLength: 1, maxLength: 4 }))
  .map(([drafts, picks]) => {
    const refs = drafts.flatMap(({ name, outputs }) => outputs.map((_, n) => `${name}:${n}`));
    return { drafts, seeds: picks.map((pick) => refs[pick % refs.length] as string) };
  });

describe('properties', () => {
  it('preserve the sum of taint under every rule but poison', () => {
    fc.assert(
      fc.property(world, ({ drafts, seeds }) => {
        const chain = memoryChain(drafts);
        for (const method of ['haircut', 'fifo', 'lifo', 'tiho'] as const) {
          const { seedValue, tainted, fee, intoSeeds, rounded } = follow(chain, seeds, method);
          expect(tainted + fee + intoSeeds + rounded).toBe(seedValue);
          if (method !== 'haircut') expect(rounded).toBe(0n);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('assign no output more than its value, and no rule more than poison', () => {
    fc.assert(
      fc.property(world, ({ drafts, seeds }) => {
        const chain = memoryChain(drafts);
        const poisoned = amounts(follow(chain, seeds, 'poison'));
        for (const method of TAINT_METHODS) {
          for (const [name, amount] of Object.entries(amounts(follow(chain, seeds, method))))
            expect(amount).toBeLessThanOrEqual(poisoned[name] ?? 0n);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('do not depend on the order of seeds, numbers and positions in a block', () => {
    const shuffled = world.chain((given) =>
      fc.record({
        given: fc.constant(given),
        order: fc.shuffledSubarray(
          given.drafts.map((_, index) => index),
          { minLength: given.drafts.length },
        ),
      }),
    );
    fc.assert(
      fc.property(shuffled, ({ given: { drafts, seeds }, order }) => {
        const chain = memoryChain(drafts);
        const other = memoryChain(
          order.map((at, indexInBlock) => ({ ...(drafts[at] as Draft), indexInBlock })),
        );
        for (const method of TAINT_METHODS) {
          const answer = follow(other, [...seeds].reverse(), method);
          expect(amounts(answer)).toEqual(amounts(follow(chain, seeds, method)));
        }
      }),
      { numRuns: 300 },
    );
  });
});

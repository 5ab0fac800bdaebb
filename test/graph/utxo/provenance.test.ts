import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import type { OutputsReader } from '../../../src/graph/utxo/outputs-store.ts';
import { type Provenance, provenanceOf } from '../../../src/graph/utxo/provenance.ts';
import type { OutputRef } from '../../../src/graph/utxo/taint.ts';
import { taintOf } from '../../../src/graph/utxo/taint.ts';
import { createTaintReader } from '../../../src/graph/utxo/taint-reader.ts';
import { TAINT_METHODS, type TaintMethod } from '../../../src/graph/utxo/taint-rules.ts';
import { type Draft, type MemoryChain, memoryChain, randomDrafts } from './memory-chain.ts';

const SUBJECT = 1;
const LABELS = new Map([
  [2, 'MIXER'],
  [3, 'SCAM'],
]);
const originOf = (address: number): string | null => LABELS.get(address) ?? null;

const outputsOf = (drafts: readonly Draft[], chain: MemoryChain, address: number): OutputRef[] =>
  drafts.flatMap(({ name, addresses = [] }) =>
    addresses.flatMap((of, n) => (of === address ? [chain.ref(`${name}:${n}`)] : [])),
  );

const ask = (drafts: readonly Draft[], method: TaintMethod, rest: object = {}): Provenance<string> => {
  const chain = memoryChain(drafts);
  return provenanceOf(chain, outputsOf(drafts, chain, SUBJECT), {
    method,
    subject: SUBJECT,
    originOf,
    ...rest,
  });
};

/** 30 of a scam, 50 of a mixer and 20 of a miner are mixed; 60 reach the subject, which spends none of them. */
const MIXED: Draft[] = [
  { name: 'old', block: 0, inputs: [], outputs: [100n], addresses: [2] },
  { name: 'scam', block: 1, inputs: [], outputs: [30n], addresses: [3] },
  { name: 'mixer', block: 2, inputs: ['old:0'], outputs: [50n, 50n], addresses: [2, 2] },
  { name: 'miner', block: 3, inputs: [], outputs: [20n], addresses: [9] },
  {
    name: 'mix',
    block: 4,
    inputs: ['scam:0', 'mixer:0', 'miner:0'],
    outputs: [60n, 40n],
    addresses: [SUBJECT, 8],
  },
];

describe('the origin of the money of an address', () => {
  it.each([
    ['haircut', { SCAM: 18n, MIXER: 30n }, 12n],
    ['fifo', { SCAM: 30n, MIXER: 30n }, 0n],
    ['lifo', { MIXER: 40n }, 20n],
    ['poison', { SCAM: 60n, MIXER: 60n }, 60n],
    ['tiho', { SCAM: 30n, MIXER: 50n }, 20n],
  ] as const)('%s', (method, expected, mined) => {
    const { shares, mined: sum, total, outputs, unknown } = ask(MIXED, method);
    const received = shares.filter((share) => share.received > 0n);
    expect(Object.fromEntries(received.map((share) => [share.category, share.received]))).toEqual(expected);
    expect(sum).toEqual({ received: mined, unspent: mined });
    expect(total).toEqual({ received: 60n, unspent: 60n });
    expect([outputs, unknown.received]).toEqual([1, 0n]);
  });

  it('hides the origins behind an origin', () => {
    const drafts: Draft[] = [
      { name: 'scam', block: 1, inputs: [], outputs: [10n], addresses: [3] },
      { name: 'mixer', block: 2, inputs: ['scam:0'], outputs: [10n], addresses: [2] },
      { name: 'pay', block: 3, inputs: ['mixer:0'], outputs: [10n], addresses: [SUBJECT] },
    ];
    const { shares, transactions } = ask(drafts, 'haircut');
    expect(shares).toEqual([{ category: 'MIXER', received: 10n, unspent: 10n, origins: 1 }]);
    expect(transactions).toBe(1);
  });

  it('ends taint at another label, even if both are origins', () => {
    const drafts: Draft[] = [
      { name: 'scam', block: 1, inputs: [], outputs: [10n, 10n], addresses: [3, 3] },
      { name: 'mixer', block: 2, inputs: ['scam:0'], outputs: [10n], addresses: [2] },
      { name: 'pay', block: 3, inputs: ['mixer:0', 'scam:1'], outputs: [20n], addresses: [SUBJECT] },
    ];
    expect(ask(drafts, 'poison').shares.map(({ received }) => received)).toEqual([20n, 20n]);
    expect(ask(drafts, 'haircut').shares.map(({ received }) => received)).toEqual([10n, 10n]);
  });

  it('distinguishes received from remaining value, and follows value through the address itself', () => {
    const drafts: Draft[] = [
      { name: 'scam', block: 1, inputs: [], outputs: [10n], addresses: [3] },
      { name: 'pay', block: 2, inputs: ['scam:0'], outputs: [10n], addresses: [SUBJECT] },
      { name: 'self', block: 3, inputs: ['pay:0'], outputs: [4n, 6n], addresses: [SUBJECT, 9] },
    ];
    expect(ask(drafts, 'fifo').shares).toEqual([
      { category: 'SCAM', received: 14n, unspent: 4n, origins: 1 },
    ]);
  });

  it('reports unread outputs beyond the budget and beyond the hops', () => {
    const drafts: Draft[] = [{ name: 't0', block: 0, inputs: [], outputs: [10n], addresses: [3] }];
    for (let step = 1; step <= 5; step++)
      drafts.push({
        name: `t${step}`,
        block: step,
        inputs: [`t${step - 1}:0`],
        outputs: [10n],
        addresses: [step === 5 ? SUBJECT : 9],
      });
    expect(ask(drafts, 'haircut').shares).toMatchObject([{ category: 'SCAM', received: 10n }]);
    for (const rest of [{ transactions: 3 }, { maxHops: 3 }])
      expect(ask(drafts, 'haircut', rest)).toMatchObject({
        shares: [],
        unexplored: { received: 10n, unspent: 10n },
        isTruncated: true,
        transactions: 3,
      });
    expect(ask(drafts, 'haircut', { transactions: 0 })).toMatchObject({
      shares: [],
      isTruncated: true,
      transactions: 0,
    });
  });

  it('reports newly mined money for an address paid only by a coinbase', () => {
    const drafts: Draft[] = [{ name: 'reward', block: 1, inputs: [], outputs: [50n], addresses: [SUBJECT] }];
    expect(ask(drafts, 'poison')).toMatchObject({ mined: { received: 50n }, unknown: { received: 0n } });
  });
});

const world = fc
  .tuple(randomDrafts, fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 100 }))
  .map(([drafts, picks]): Draft[] => {
    let at = 0;
    return drafts.map((draft) => ({
      ...draft,
      addresses: draft.outputs.map(() => picks[at++ % picks.length] as number),
    }));
  });

describe('properties', () => {
  it('agree backwards and forwards: every category has the value of its outputs, and no other', () => {
    fc.assert(
      fc.property(world, (drafts) => {
        const chain = memoryChain(drafts);
        const targets = new Set(outputsOf(drafts, chain, SUBJECT).map(({ tx, n }) => `${tx}:${n}`));
        for (const method of TAINT_METHODS) {
          const found = new Map(
            ask(drafts, method).shares.map(({ category, received }) => [category, received]),
          );
          for (const [address, category] of LABELS) {
            let received = 0n;
            taintOf(chain, outputsOf(drafts, chain, address), {
              method,
              stopAt: (number) => LABELS.has(number),
              onTainted({ tx, n }, tainted) {
                if (targets.has(`${tx}:${n}`)) received += tainted;
              },
            });
            expect(found.get(category) ?? 0n).toBe(received);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('add up: exactly for FIFO and LIFO, up to rounding for haircut', () => {
    fc.assert(
      fc.property(world, (drafts) => {
        for (const method of ['haircut', 'fifo', 'lifo'] as const) {
          const { shares, mined, unexplored, unknown, total } = ask(drafts, method);
          const parts = shares.reduce((sum, { received }) => sum + received, 0n);
          expect(parts + mined.received + unexplored.received + unknown.received).toBe(total.received);
          if (method !== 'haircut') expect(unknown.received).toBe(0n);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('lookup by names', () => {
  const chain = memoryChain(MIXED);
  const address = '1BoatSLRHtKNngkdXEeobR76b53LETtpyT';
  const { key } = parseAddress('BTC', address);
  const outputs: Pick<OutputsReader, 'graph' | 'outputsOf' | 'addressNumber'> = {
    graph: (of) => (of === 'BTC' ? { ...chain, keyOf: () => key } : null),
    addressNumber: () => SUBJECT,
    outputsOf: (_, __, limit) => outputsOf(MIXED, chain, SUBJECT).slice(0, limit),
  };
  const reader = createTaintReader({ outputs });
  const scam = { txid: chain.transaction(2).txid, n: 0 };

  it('returns all five rules side by side, with addresses as text', () => {
    const answers = reader.taintByAll('BTC', [scam]);
    expect(answers.map(({ method }) => method)).toEqual([...TAINT_METHODS]);
    expect(answers[2]?.outputs).toEqual([
      { txid: chain.transaction(5).txid, n: 0, address, value: 60n, tainted: 30n, end: 'UNSPENT' },
    ]);
  });

  it('names missing data', () => {
    expect(() => reader.taintOf('BTC', [{ ...scam, n: 7 }], 'fifo')).toThrow(/Output 7 of .* is not stored/);
    expect(() => reader.taintOf('LTC', [scam], 'fifo')).toThrow(/no outputs of LTC/);
    expect(reader.provenanceOf('LTC', key, { method: 'fifo', originOf: () => null })).toBeNull();
  });

  it('lists the outputs of an address after a block', () => {
    expect(reader.outputsOf('BTC', key, 3)).toEqual([]);
    expect(reader.outputsOf('BTC', key, 4)).toEqual([{ txid: chain.transaction(5).txid, n: 0 }]);
  });

  it('reports that an address has more outputs than were read', () => {
    const query = { method: 'haircut', originOf: () => null } as const;
    expect(reader.provenanceOf('BTC', key, { ...query, outputs: 1 })?.hasMoreOutputs).toBe(true);
    expect(reader.provenanceOf('BTC', key, query)?.hasMoreOutputs).toBe(false);
  });
});

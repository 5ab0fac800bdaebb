/** The bounds of transfers: at exactly a limit and one beyond it, truncated bytes, and each field of a record. */
import { describe, expect, it } from 'vitest';
import { CHAIN_LIMITS } from '../../src/chains/limits.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { unpricedFlows } from '../../src/graph/asset-uses.ts';
import { checkTransfer } from '../../src/graph/check-transfer.ts';
import { scriptFormOf } from '../../src/graph/cluster/script-form.ts';
import { createUnionFind } from '../../src/graph/cluster/union-find.ts';
import { dailyFlows } from '../../src/graph/daily.ts';
import { createNeighbourColumns } from '../../src/graph/graph.ts';
import { ndjsonReader } from '../../src/graph/ingest/ndjson.ts';
import { faultOf, RowFault, timeOf } from '../../src/graph/ingest/transfer-fields.ts';
import { exposureOf } from '../../src/graph/kernels/exposure.ts';
import { NodeIndex, UNSEEN } from '../../src/graph/kernels/node-index.ts';
import { RowReader } from '../../src/graph/kernels/rows.ts';
import { traverse } from '../../src/graph/kernels/traverse.ts';
import { flowOf, type Weighing } from '../../src/graph/kernels/weighing.ts';
import { createKernelWorkspace } from '../../src/graph/kernels/workspace.ts';
import { GRAPH_LIMITS } from '../../src/graph/limits.ts';
import { ByteReader, ByteWriter } from '../../src/graph/store/bytes.ts';
import { type DeltaEntry, packEntries, readEntries } from '../../src/graph/store/delta.ts';
import {
  Fingerprinter,
  packedLength,
  packTransaction,
  positionCode,
  positionMark,
  positionText,
  transactionKey,
  unpackTransaction,
} from '../../src/graph/store/fingerprint.ts';
import {
  counterpartiesIn,
  createNode,
  flowSums,
  flowOf as nodeFlowOf,
  packNode,
  unpackNode,
} from '../../src/graph/store/node-record.ts';
import { graphUntil, transfersUntil } from '../../src/graph/until.ts';
import { TAINT_RULES } from '../../src/graph/utxo/taint-rules.ts';
import { day, type MemoryEdge, memoryGraph } from './memory-graph.ts';

const address = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`;

describe('record encoding', () => {
  const numbers = [
    0,
    1,
    2 ** 7 - 1,
    2 ** 7,
    2 ** 14 - 1,
    2 ** 14,
    2 ** 21,
    2 ** 28 - 1,
    2 ** 28,
    2 ** 35 - 1,
    2 ** 35,
    Number.MAX_SAFE_INTEGER,
  ];
  const amounts = [0, 8, 16, 40, 47, 48, 49, 56, 63, 64, 65, 95, 96, 97, 255].flatMap((bits) => [
    (1n << BigInt(bits)) - 1n,
    1n << BigInt(bits),
    (1n << BigInt(bits)) + 1n,
  ]);

  it('restores every number, time and difference', () => {
    const out = new ByteWriter(1);
    for (const number of numbers) out.varint(number);
    const times = [0, 1, 999, 1_000, 1_001, 1_700_000_000_000, 1_700_000_000_001];
    for (const time of times) out.time(time);
    const differences = [0, 1, -1, 127, -128, 2 ** 40, -(2 ** 40)];
    for (const difference of differences) out.signed(difference);
    const reader = new ByteReader().open(out.take());
    expect(numbers.map(() => reader.varint())).toEqual(numbers);
    expect(times.map(() => reader.time())).toEqual(times);
    expect(differences.map(() => reader.signed())).toEqual(differences);
    expect(reader.isAtEnd).toBe(true);
  });

  it('restores every amount, exactly and as the nearest number', () => {
    for (const amount of amounts) {
      const out = new ByteWriter(1);
      out.amount(amount);
      const bytes = out.take();
      expect(new ByteReader().open(bytes).amount()).toBe(amount);
      expect(new ByteReader().open(bytes).amountNumber()).toBe(Number(amount));
      expect(bytes).toHaveLength(1 + Math.ceil(amount.toString(2).length / 8) - (amount === 0n ? 1 : 0));
    }
    const most = (1n << 1016n) - 1n;
    const out = new ByteWriter();
    out.amount(most);
    expect(new ByteReader().open(out.take()).amount()).toBe(most);
    expect(() => out.amount(most + 1n)).toThrow('more than 127 bytes');
  });

  it('rejects bytes that end in the middle of a value', () => {
    const out = new ByteWriter();
    out.varint(2 ** 40);
    const bytes = out.take();
    for (let length = 0; length < bytes.length; length++)
      expect(() => new ByteReader().open(bytes, 0, length).varint(), String(length)).toThrow(
        'ends in the middle',
      );
    expect(() => new ByteReader().open(Buffer.from([2, 1])).amount()).toThrow('ends in the middle');
    expect(() => new ByteReader().open(Buffer.from([2, 1])).amountNumber()).toThrow('ends in the middle');
    expect(() => new ByteReader().open(Buffer.from('ab')).text(3)).toThrow('ends in the middle');
    expect(new ByteReader().open(Buffer.from('ab')).text(2)).toBe('ab');
    expect(() => new ByteReader().open(Buffer.alloc(0)).byte()).toThrow('ends in the middle');
    const copied = new ByteWriter(1);
    copied.copy(Buffer.from('abcd'), 1, 3);
    expect(copied.take().toString()).toBe('bc');
  });

  it('contains each field of an entry, with and without a price and a block', () => {
    const entry: DeltaEntry = {
      direction: 1,
      counterparty: 300,
      asset: 2,
      amount: 2n ** 70n,
      cents: 0,
      timestampMs: 1_001,
      ordinal: 5,
      isNewTransaction: true,
      pendingBlock: 0,
    };
    const entries = [
      entry,
      { ...entry, direction: 0, cents: null, isNewTransaction: false, pendingBlock: null },
    ];
    expect(readEntries(packEntries(entries))).toEqual(entries);
    const bytes = packEntries([entry]);
    for (let cut = 1; cut < bytes.length; cut++)
      expect(() => readEntries(bytes.subarray(0, cut)), String(cut)).toThrow('ends in the middle');
  });

  it('contains each field of a node, its flows in order', () => {
    const node = Object.assign(createNode(), {
      counterpartiesIn: 3,
      counterpartiesOut: 200,
      selfTransfers: 1,
      transactions: 9,
      firstSeenMs: 1_000,
      lastSeenMs: 5_001,
    });
    for (const [asset, direction] of [
      [5, 1],
      [1, 0],
      [5, 0],
      [3, 1],
    ] as const) {
      const flow = nodeFlowOf(node, asset, direction);
      const pricedAmount = 2n ** (direction === 0 ? 80n : 79n);
      Object.assign(flow, {
        transfers: asset,
        unpriced: direction,
        cents: 7,
        amount: 2n ** 80n,
        pricedAmount,
      });
      expect(nodeFlowOf(node, asset, direction)).toBe(flow);
    }
    node.newest = [
      { timestampMs: 5_001, ordinal: 4 },
      { timestampMs: 2_000, ordinal: 9 },
    ];
    const bytes = packNode(node);
    // The log has the times, except for the newest.
    const read = unpackNode(bytes, (ordinal) => (ordinal === 9 ? 2_000 : Number.NaN));
    const newest = read.newest.map(({ timestampMs, ordinal }) => ({ timestampMs, ordinal }));
    expect({ ...read, newest }).toEqual(node);
    expect(node.flows.map(({ asset, direction }) => [asset, direction])).toEqual([
      [1, 0],
      [3, 1],
      [5, 0],
      [5, 1],
    ]);
    expect(flowSums(bytes).map((side) => side.map(({ asset }) => asset))).toEqual([
      [1, 5],
      [3, 5],
    ]);
    const whole = { asset: 1, transfers: 1, unpriced: 0, cents: 7, amount: 2 ** 80, pricedAmount: 2 ** 80 };
    expect(flowSums(bytes)[0][0]).toEqual(whole);
    expect(flowSums(bytes)[1][0]).toMatchObject({ asset: 3, amount: 2 ** 80, pricedAmount: 2 ** 79 });
    expect([counterpartiesIn(bytes, 0), counterpartiesIn(bytes, 1)]).toEqual([3, 200]);
  });

  it('contains transactions by their form, and positions by their kind', () => {
    const hash = 'ab'.repeat(32);
    for (const text of [hash, `0x${hash}`, `0X${hash}`, hash.toUpperCase(), `${hash}0`, 'x', ''])
      expect(unpackTransaction(packTransaction(text))).toBe(text);
    expect(
      [packTransaction(hash), packTransaction(`0x${hash}`)].map((packed) => [
        packed.length,
        packedLength(packed[0]!),
      ]),
    ).toEqual([
      [33, 33],
      [33, 33],
    ]);
    expect(packedLength(packTransaction('x')[0]!)).toBeNull();
    for (const text of ['value', 'log:0', 'fee:7', 'internal:999999999'])
      expect(positionText(positionCode(text)!)).toBe(text);
    expect(['log:01', 'log:1234567890', 'log', 'log:', 'x:1', 'valued'].map(positionCode)).toEqual(
      Array(6).fill(null),
    );
    const fingerprint = new Fingerprinter(Buffer.alloc(8, 3));
    expect(positionMark('log:0', fingerprint)).toBe(positionCode('log:0'));
    const marks = ['x', 'y', 'abc', 'abcd', 'abcde'].map((text) => positionMark(text, fingerprint));
    expect(new Set(marks).size).toBe(5);
    for (const mark of marks) expect(mark >= 2 ** 47 && mark < 2 ** 48).toBe(true);
    const key = transactionKey(packTransaction(hash), fingerprint);
    expect([key.length, key.subarray(8).toString('hex')]).toEqual([12, 'abababab']);
    expect(transactionKey(packTransaction('x'), fingerprint).subarray(8).toString('hex')).toBe('01780000');
    expect(transactionKey(packTransaction(hash), new Fingerprinter(Buffer.alloc(8, 4)))).not.toEqual(key);
  });
});

describe('a transfer', () => {
  const transfer = {
    txHash: 'h',
    position: 'p',
    amount: 1n,
    valueUsd: null,
    blockNumber: 0,
    timestampMs: 0,
    from: 'a',
    to: null,
  } as unknown as Transfer;
  const fault = (change: Partial<Transfer>): string | null => {
    try {
      checkTransfer({ ...transfer, ...change });
      return null;
    } catch (error) {
      return (error as { field: string }).field;
    }
  };

  it('is accepted at each limit and rejected beyond it', () => {
    const fits = {
      txHash: 'h'.repeat(GRAPH_LIMITS.txHashTextMax),
      position: 'p'.repeat(CHAIN_LIMITS.transferPositionTextMax),
      amount: 2n ** 256n - 1n,
      valueUsd: 1e12,
      blockNumber: Number.MAX_SAFE_INTEGER,
      timestampMs: Number.MAX_SAFE_INTEGER,
    };
    expect(fault(fits)).toBeNull();
    expect(fault({ amount: 0n, valueUsd: 0, from: null, to: 'b' })).toBeNull();
    expect([
      fault({ txHash: '' }),
      fault({ txHash: `${fits.txHash}h` }),
      fault({ txHash: 'é'.repeat(GRAPH_LIMITS.txHashTextMax / 2 + 1) }),
    ]).toEqual(Array(3).fill('txHash'));
    expect([fault({ position: '' }), fault({ position: `${fits.position}p` })]).toEqual(
      Array(2).fill('position'),
    );
    expect([fault({ amount: -1n }), fault({ amount: 2n ** 256n })]).toEqual(Array(2).fill('amount'));
    expect([
      fault({ valueUsd: -0.01 }),
      fault({ valueUsd: 1e12 + 1 }),
      fault({ valueUsd: Number.NaN }),
    ]).toEqual(Array(3).fill('valueUsd'));
    expect([
      fault({ blockNumber: -1 }),
      fault({ blockNumber: 0.5 }),
      fault({ blockNumber: 2 ** 53 }),
    ]).toEqual(Array(3).fill('blockNumber'));
    expect([fault({ timestampMs: -1 }), fault({ timestampMs: 0.5 })]).toEqual(Array(2).fill('timestampMs'));
    expect(fault({ from: null })).toBe('from');
  });

  const row = {
    from: address(1),
    to: address(2),
    asset: 'ETH',
    txHash: `0x${'AB'.repeat(32)}`,
    position: 'value',
    blockNumber: '5',
    timestamp: 1_000,
    amount: '7',
  };
  const rowReader = ndjsonReader({ chain: 'ETH' });
  const read = (fields: Parameters<typeof rowReader>[0]) => rowReader(fields) as Transfer;
  const token = address(9);

  it('is read from a row with each of its fields', () => {
    expect(read(row)).toEqual({
      chain: 'ETH',
      txHash: `0x${'ab'.repeat(32)}`,
      position: 'value',
      blockNumber: 5,
      timestampMs: 1_000,
      from: row.from,
      to: row.to,
      asset: 'ETH',
      amount: 7n,
      decimals: 18,
      valueUsd: null,
      initiation: null,
    });
    expect(() => read({ ...row, asset: token, decimals: 78 })).toThrow('decimals is 78; the maximum is 77.');
    expect(
      read({ ...row, chain: 'eth', from: null, asset: token, valueUsd: '1.5', decimals: 77 }),
    ).toMatchObject({
      from: null,
      valueUsd: 1.5,
      decimals: 77,
    });
    expect(read({ ...row, to: '', asset: token, valueUsd: 1e12 })).toMatchObject({
      to: null,
      asset: token,
      decimals: null,
      valueUsd: 1e12,
    });
    expect(read({ ...row, amount: '0xff' }).amount).toBe(255n);
  });

  it('includes its sender, and whether its asset was called', () => {
    const initiation = (change: object) => read({ ...row, asset: token, ...change }).initiation;
    const sender = address(1);
    expect(initiation({ sender })).toEqual({ sender, callsAsset: null, decodes: null });
    expect(initiation({ sender, called: token, decodes: 'TRUE' })).toEqual({
      sender,
      callsAsset: true,
      decodes: true,
    });
    expect(initiation({ sender, called: token })).toEqual({ sender, callsAsset: true, decodes: null });
    expect(initiation({ sender, called: address(3), decodes: true })).toEqual({
      sender,
      callsAsset: false,
      decodes: false,
    });
    expect(read({ ...row, sender, called: token }).initiation).toEqual({
      sender,
      callsAsset: null,
      decodes: null,
    });
  });

  it.each([
    [{ from: null, to: null }, 'from and to are both missing'],
    [{ chain: 'BSC' }, 'chain is BSC'],
    [{ amount: -1 }, 'amount is -1'],
    [{ amount: 2 ** 53 }, 'amount is'],
    [{ amount: '1'.repeat(79) }, 'amount is'],
    [{ amount: undefined }, 'amount is missing'],
    [{ blockNumber: '9007199254740992' }, 'out of range'],
    [{ decimals: 78 }, 'decimals is 78'],
    [{ valueUsd: -1 }, 'valueUsd'],
    [{ valueUsd: 1e12 + 1 }, 'valueUsd'],
    [{ valueUsd: '1e3' }, 'valueUsd'],
    [{ timestamp: null }, 'timestamp is missing'],
    [{ timestamp: -1 }, 'not a time'],
    [{ timestamp: 1e15 }, 'in the future'],
    [{ txHash: `0x${'a'.repeat(63)}` }, 'transaction hash'],
    [{ position: 5 }, 'position is 5, not a text'],
    [{ position: '' }, 'position is missing'],
    [{ called: address(3) }, 'sender is missing'],
    [{ decodes: true }, 'sender is missing'],
    [{ sender: address(1), decodes: 'maybe' }, 'decodes must be'],
  ])('is rejected with %j', (change, message) => {
    expect(() => read({ ...row, ...change } as never)).toThrow(message);
  });

  it('has a time in seconds, milliseconds or as text', () => {
    const time = (value: unknown, unit: 'seconds' | 'milliseconds' = 'seconds') =>
      timeOf({ t: value } as never, 't', unit);
    expect([
      time(5),
      time('5'),
      time(5, 'milliseconds'),
      time(null),
      time('2024-01-01 00:00:01 UTC'),
      time('2024-01-01 00:00:01.5'),
      time('2024-01-01T00:00:01Z'),
    ]).toEqual([
      5_000,
      5_000,
      5,
      null,
      Date.UTC(2024, 0, 1, 0, 0, 1),
      Date.UTC(2024, 0, 1, 0, 0, 1) + 500,
      Date.UTC(2024, 0, 1, 0, 0, 1),
    ]);
    expect(() => time('2024-13-01')).toThrow('not a time');
    expect(faultOf(new RowFault('x'))).toBe('x');
    expect(() => faultOf(new Error('other'))).toThrow('other');
    expect(() => read({ ...row, position: 'p', txHash: 'x'.repeat(81) })).toThrow(`${'x'.repeat(80)}…`);
  });
});

describe('daily flows', () => {
  const recent = [
    { direction: 'in', timestampMs: day(2) + 1, amount: 1n, valueUsd: null },
    { direction: 'out', timestampMs: day(2), amount: 0n, valueUsd: null },
    { direction: 'in', timestampMs: day(1), amount: 1n, valueUsd: 1.5 },
    { direction: 'in', timestampMs: day(1), amount: 1n, valueUsd: null },
  ] as const;

  it('have an unknown value only if nothing was priced, and the oldest is dropped at the limit', () => {
    const all = dailyFlows(recent, { limitDays: 2, holdsAll: true });
    expect(all).toEqual({
      days: [
        { day: '2024-01-03', inUsd: null, outUsd: 0, inTransfers: 1, outTransfers: 1 },
        { day: '2024-01-02', inUsd: 1.5, outUsd: 0, inTransfers: 2, outTransfers: 0 },
      ],
      isComplete: true,
    });
    expect(dailyFlows(recent, { limitDays: 1, holdsAll: false })).toMatchObject({
      days: [{ day: '2024-01-03' }],
      isComplete: true,
    });
    expect(dailyFlows(recent, { limitDays: 2, holdsAll: false })).toMatchObject({
      days: [{ day: '2024-01-03' }],
      isComplete: false,
    });
    expect(dailyFlows(recent, { limitDays: 1, holdsAll: true }).days).toHaveLength(1);
  });

  it('list flows without a price by asset and direction', () => {
    const flow = (asset: string, unpricedTransfers: number) => ({
      asset,
      decimals: 0,
      transfers: 1,
      amount: 1n,
      valueUsd: null,
      unpricedTransfers,
    });
    expect(unpricedFlows(null)).toEqual([]);
    const totals = { in: { byAsset: [flow('a', 0), flow('b', 1)] }, out: { byAsset: [flow('a', 2)] } };
    expect(unpricedFlows(totals as never).map(({ direction, asset }) => `${direction} ${asset}`)).toEqual([
      'in b',
      'out a',
    ]);
  });
});

describe('clusters', () => {
  it('are joined in any order', () => {
    const sets = createUnionFind(7);
    sets.reset(6);
    for (const [a, b] of [
      [5, 4],
      [3, 5],
      [0, 1],
      [1, 0],
      [2, 2],
    ] as const)
      sets.union(a, b);
    expect([...sets.flatten()]).toEqual([0, 0, 2, 3, 3, 3]);
    sets.union(5, 1);
    expect([...sets.flatten()]).toEqual([0, 0, 2, 0, 0, 0]);
    sets.reset(7);
    expect([...sets.flatten()]).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('recognise a script by prefix and length', () => {
    expect(scriptFormOf('BTC', `bc1q${'x'.repeat(38)}`)).toBe('p2wpkh');
    expect(scriptFormOf('BTC', `bc1q${'x'.repeat(58)}`)).toBe('p2wsh');
    expect(scriptFormOf('BTC', `bc1p${'x'.repeat(58)}`)).toBe('p2tr');
    expect(
      [`bc1q${'x'.repeat(39)}`, `bc1p${'x'.repeat(38)}`, 'x'].map((text) => scriptFormOf('BTC', text)),
    ).toEqual([null, null, null]);
    expect([scriptFormOf('BTC', '1x'), scriptFormOf('BTC', '3x'), scriptFormOf('ETH', '1x')]).toEqual([
      'p2pkh',
      'p2sh',
      null,
    ]);
  });
});

describe('taint', () => {
  const amounts = (
    method: keyof typeof TAINT_RULES,
    inputs: readonly (readonly [bigint, bigint | null])[],
    sinks: readonly bigint[],
  ) => {
    const rule = TAINT_RULES[method] as (typeof TAINT_RULES)['fifo'];
    const spent = rule.spend(
      inputs.map(([value, tainted]) => ({
        value,
        taint:
          tainted === null
            ? null
            : method === 'fifo' || method === 'lifo'
              ? rule.full(tainted)
              : (tainted as never),
      })),
      sinks,
    );
    return spent.map((taint) => (taint === null ? null : rule.amount(taint)));
  };
  const inputs = [
    [4n, 2n],
    [6n, null],
    [2n, 2n],
  ] as const;

  it('is assigned to each output by its rule, the fee last', () => {
    expect(amounts('poison', inputs, [5n, 0n, 7n])).toEqual([5n, null, 7n]);
    expect(amounts('poison', [[4n, null]], [4n])).toEqual([null]);
    expect(amounts('haircut', inputs, [3n, 9n, 0n])).toEqual([1n, 3n, null]);
    expect(amounts('haircut', [[0n, null]], [0n])).toEqual([null]);
    expect(amounts('tiho', inputs, [1n, 3n, 3n, 5n])).toEqual([null, 3n, 1n, null]);
    expect(amounts('tiho', [[9n, 9n]], [1n, 3n, 5n])).toEqual([1n, 3n, 5n]);
    expect(amounts('fifo', inputs, [1n, 3n, 6n, 2n])).toEqual([1n, 1n, null, 2n]);
    expect(amounts('lifo', inputs, [1n, 3n, 6n, 2n])).toEqual([1n, 1n, null, 2n]);
    expect(
      amounts(
        'lifo',
        [
          [4n, 2n],
          [6n, null],
        ],
        [7n, 3n],
      ),
    ).toEqual([null, 2n]);
    expect(amounts('fifo', [[4n, 2n]], [0n, 4n, 1n])).toEqual([null, 2n, null]);
  });

  it('in order keeps clean ranges between tainted ones, and none at the end', () => {
    const { fifo } = TAINT_RULES;
    const [first, second] = fifo.spend(
      [
        { value: 4n, taint: fifo.full(1n) },
        { value: 3n, taint: fifo.full(2n) },
      ],
      [6n, 1n],
    );
    expect(first).toEqual([
      { isTainted: true, value: 1n },
      { isTainted: false, value: 3n },
      { isTainted: true, value: 2n },
    ]);
    expect([second, fifo.pieces(first!), fifo.amount(first!)]).toEqual([null, 3, 3n]);
    expect(TAINT_RULES.haircut.pieces(1n)).toBe(1);
  });
});

describe('walks', () => {
  const weighing: Weighing = { isEvidence: (asset) => asset !== 'SPAM', dustUsd: 10, dustShare: 0.01 };
  const edge = (from: number, to: number, valueUsd: number, more: Partial<MemoryEdge> = {}): MemoryEdge => ({
    from,
    to,
    valueUsd,
    ...more,
  });

  it('treat an address as a hub beyond the limit of relevant counterparties, or if most of its value is dust', () => {
    const hub = (values: readonly number[], degreeMax: number) =>
      new RowReader(memoryGraph(values.map((value, at) => edge(1, at + 2, value))), weighing).isHub(
        1,
        degreeMax,
      );
    expect([hub([50, 50, 50], 3), hub([50, 50, 50], 2)]).toEqual([false, true]);
    expect([hub([50, 50, 1, 1], 2), hub([50, 5, 5, 5], 2)]).toEqual([false, false]);
    // 45 USD of dust beside 45 is half; 54 is more than half.
    expect(hub([45, 9, 9, 9, 9, 9], 2)).toBe(false);
    expect(hub([45, 9, 9, 9, 9, 9, 9], 2)).toBe(true);
    const into = memoryGraph([2, 3, 4].map((from) => edge(from, 1, 50)));
    expect([
      new RowReader(into, weighing).isHub(1, 2),
      new RowReader(into, weighing).isHubIn(1, 'out', 2),
    ]).toEqual([true, false]);
    const unpriced = memoryGraph(
      ['A', 'B', 'C'].map((asset, at) => ({ from: 1, to: at + 2, unpriced: 1, asset })),
    );
    expect(new RowReader(unpriced, weighing).isHub(1, 2)).toBe(false);
  });

  it('weigh by USD, by the only asset, or not at all', () => {
    const basis = (edges: readonly MemoryEdge[]) => {
      const {
        basis: kind,
        asset,
        total,
        dust,
      } = new RowReader(memoryGraph(edges), weighing).basisOf(1, 'out');
      return { kind, asset, total, dust };
    };
    const beside = (valueUsd: number) =>
      basis([edge(1, 2, valueUsd), { from: 1, to: 3, unpriced: 1, asset: 'B' }]);
    expect(beside(10)).toEqual({ kind: 'USD', asset: null, total: 10, dust: 10 });
    expect(beside(9.99)).toMatchObject({ kind: 'ASSET', asset: 'B' });
    expect(basis([edge(1, 2, 5)])).toEqual({ kind: 'USD', asset: null, total: 5, dust: 10 });
    expect(
      basis([
        { from: 1, to: 2, amount: 100, unpriced: 1, asset: 'B' },
        { from: 2, to: 1, amount: 300, unpriced: 1, asset: 'B' },
      ]),
    ).toEqual({ kind: 'ASSET', asset: 'B', total: 100, dust: 3 });
    expect(
      basis([
        { from: 1, to: 2, unpriced: 1, asset: 'B' },
        { from: 1, to: 2, unpriced: 1, asset: 'C' },
      ]).kind,
    ).toBe('UNKNOWN');
    expect(basis([edge(1, 2, 5, { asset: 'SPAM' })]).kind).toBe('NOTHING');
    expect(basis([{ from: 1, to: 2, amount: 0, unpriced: 1 }]).kind).toBe('NOTHING');
  });

  it('ignore rounding remainders', () => {
    expect([flowOf(1, 1 - 1e-10), flowOf(1, 0.5), flowOf(0, 0), flowOf(1, 2)]).toEqual([0, 0.5, 0, 0]);
  });

  const expose = (
    edges: readonly MemoryEdge[],
    owners: Readonly<Record<number, string>>,
    options: object = {},
  ) =>
    exposureOf(
      { start: 1, direction: 'out', maxHops: 3, degreeMax: 100, nodesMax: 100, weighing, ...options },
      {
        graph: memoryGraph(edges),
        workspace: createKernelWorkspace(),
        attribution: (node) => (owners[node] === undefined ? null : { key: owners[node] as string }),
      },
    );

  it('return every field of an exposure: hops, value, transfers, the largest node and the dust', () => {
    const result = expose(
      [
        edge(1, 2, 60, { transfers: 3 }),
        edge(1, 3, 30),
        edge(1, 4, 5, { transfers: 2 }),
        edge(3, 5, 40),
        edge(3, 6, 20),
      ],
      { 2: 'A', 5: 'A', 6: 'A' },
    );
    expect(result).toMatchObject({
      basis: 'USD',
      asset: null,
      total: 90,
      isComplete: true,
      stops: [],
      nodesSeen: 5,
    });
    expect(result.dust).toEqual({ counterparties: 1, transfers: 2, valueUsd: 5 });
    expect(result.rows).toHaveLength(2);
    expect(result.rows[0]).toMatchObject({
      type: 'DIRECT',
      hops: 1,
      shareByHop: [60 / 90],
      valueUsd: 60,
      transfers: 3,
      unpricedTransfers: 0,
      largestNode: 2,
    });
    expect(result.rows[1]).toMatchObject({
      type: 'INDIRECT',
      hops: 2,
      valueUsd: 30,
      transfers: 2,
      largestNode: 5,
    });
    expect(result.unknown).toMatchObject({ share: 0, valueUsd: 0 });
  });

  it('return the addresses where they stopped, with the reason, the largest share first', () => {
    const edges = [
      edge(1, 2, 60),
      edge(1, 3, 40),
      ...[4, 5, 6].map((to) => edge(2, to, 50)),
      ...['B', 'C'].map((asset) => ({ from: 3, to: 7, unpriced: 1, asset })),
    ];
    expect(expose(edges, {}, { degreeMax: 2 })).toMatchObject({
      isComplete: false,
      stops: [
        { node: 2, reason: 'MAX_DEGREE', share: 0.6 },
        { node: 3, reason: 'UNPRICED', share: 0.4 },
      ],
      unknown: { byReason: { MAX_DEGREE: 0.6, UNPRICED: 0.4, ORIGIN: 0, DEPTH: 0, BUDGET: 0 } },
    });
    expect(expose([edge(1, 2, 60), edge(2, 3, 60)], {}, { maxHops: 1 }).unknown.byReason.DEPTH).toBe(1);
    expect(expose([edge(1, 2, 60)], {}).unknown.byReason.ORIGIN).toBe(1);
    expect(expose([edge(1, 2, 60), edge(2, 3, 60)], {}, { nodesMax: 0 }).unknown.byReason.BUDGET).toBe(1);
    const cut = expose([edge(1, 2, 60), edge(2, 3, 60), edge(2, 4, 20)], {}, { edgesMax: 1, maxHops: 2 });
    expect(cut.unknown.byReason.BUDGET).toBeCloseTo(0.25);
    expect(cut.stops).toMatchObject([{ node: 2, reason: 'BUDGET' }]);
  });

  it('reach exactly the permitted hops, nodes and edges', () => {
    const edges = [edge(1, 2, 60), edge(2, 3, 60), edge(3, 4, 60)];
    const walk = (options: object) =>
      traverse(
        { start: 1, direction: 'out', hops: 3, degreeMax: 10, nodesMax: 10, edgesMax: 10, ...options },
        { graph: memoryGraph(edges), workspace: createKernelWorkspace(), weighing, isService: () => false },
      );
    expect(walk({ hops: 4 })).toMatchObject({ maxDepthReached: 3, isComplete: true, stops: [] });
    expect(walk({})).toMatchObject({ isComplete: true, stops: [{ node: 4, reason: 'DEPTH' }] });
    expect([...walk({}).depths]).toEqual([0, 1, 2, 3]);
    expect(walk({ hops: 2 })).toMatchObject({ maxDepthReached: 2, stops: [{ node: 3, reason: 'DEPTH' }] });
    expect(walk({ nodesMax: 4, edgesMax: 3 })).toMatchObject({ maxDepthReached: 3, isComplete: true });
    expect(walk({ nodesMax: 3 })).toMatchObject({
      isComplete: false,
      stops: [{ node: 3, reason: 'BUDGET' }],
    });
    expect(walk({ edgesMax: 2 })).toMatchObject({
      isComplete: false,
      stops: [{ node: 3, reason: 'BUDGET' }],
    });
  });

  it('number nodes as they are added, and can be cleared', () => {
    const index = new NodeIndex();
    for (let node = 1; node <= 20_000; node++) expect(index.add(node * 7)).toBe(node - 1);
    expect([index.size, index.find(7), index.find(140_000), index.find(8), index.nodeAt(19_999)]).toEqual([
      20_000,
      0,
      19_999,
      UNSEEN,
      140_000,
    ]);
    index.clear();
    expect([index.size, index.find(7), index.add(9), index.find(9)]).toEqual([0, UNSEEN, 0, 0]);
    expect([...index.toArray()]).toEqual([9]);
  });
});

describe('a graph as of an earlier time', () => {
  const edges: MemoryEdge[] = [
    { from: 1, to: 2, valueUsd: 10, firstSeenMs: day(1), lastSeenMs: day(3) },
    { from: 1, to: 3, valueUsd: 20, firstSeenMs: day(2) },
    { from: 1, to: 4, valueUsd: 30, firstSeenMs: day(3), asset: 'B' },
    { from: 5, to: 1, unpriced: 1, firstSeenMs: day(2) },
  ];
  const graph = memoryGraph(edges);
  const columns = () => createNeighbourColumns(10);

  it('has the edges first seen up to and including that time', () => {
    const ids = (untilMs: number) => {
      const into = columns();
      const count = graphUntil(graph, untilMs).neighbours(1, 'out', 10, into);
      return [...into.ids.subarray(0, count)];
    };
    expect([ids(day(3)), ids(day(3) - 1), ids(day(2) - 1), ids(day(1) - 1)]).toEqual([
      [4, 3, 2],
      [3, 2],
      [2],
      [],
    ]);
    const then = graphUntil(graph, day(2));
    expect([then.edge(1, 4), then.edge(1, 3)].map(({ length }) => length)).toEqual([0, 1]);
  });

  it('limits the sums of all addresses to that time', () => {
    const sums = graphUntil(graph, day(1), 1).sums(1);
    expect(sums.out).toEqual([
      { asset: 1, transfers: 1, unpriced: 0, cents: 1_000, amount: 1_000, pricedAmount: 1_000 },
    ]);
    expect(sums.in).toEqual([]);
    expect(graphUntil(graph, day(3), 1).sums(1)).toEqual(graph.sums(1));
    expect(graphUntil(graph, day(1), 2).sums(1)).toEqual(sums);
    expect(graphUntil(graph, day(3), 2).sums(1)).toEqual(graph.sums(1));
  });

  it('has totals, days and transfers up to that time', () => {
    const reader = (asOf: string | null) =>
      transfersUntil(
        {
          totals: () => ({
            firstSeenMs: day(1),
            lastSeenMs: day(3),
            in: {},
            out: {},
            selfTransfers: 3,
            transactions: 4,
          }),
          graph: () => graph,
          recent: () => [day(3), day(2), day(1)].map((timestampMs) => ({ timestampMs })),
          newest: () => [day(3), day(2), day(1)].map((timestampMs) => ({ timestampMs })),
          counterparties: () => [day(3), day(2)].map((firstSeenMs) => ({ firstSeenMs })),
          daily: () => ({
            days: [{ day: '2024-01-04' }, { day: '2024-01-03' }, { day: '2024-01-02' }],
            isComplete: false,
          }),
          coverage: () => ({ status: 'COMPLETE', asOf }),
        } as never,
        day(2),
      );
    const of = reader(new Date(day(3)).toISOString());
    const key = graph.keyOf(1);
    expect(of.totals('ETH', key)).toMatchObject({
      in: { transfers: 1, valueUsd: null, unpricedTransfers: 1 },
      out: { transfers: 2, valueUsd: 30 },
      selfTransfers: 0,
      transactions: null,
      firstSeenMs: day(1),
      lastSeenMs: day(2),
    });
    expect(of.recent('ETH', key, 1)).toEqual([{ timestampMs: day(2) }]);
    expect(of.newest('ETH', key, key, 5)).toHaveLength(2);
    expect(of.counterparties('ETH', key, {} as never)).toEqual([{ firstSeenMs: day(2) }]);
    expect(of.daily('ETH', key, 2)).toEqual({
      days: [{ day: '2024-01-03' }, { day: '2024-01-02' }],
      isComplete: true,
    });
    expect(of.daily('ETH', key, 3).isComplete).toBe(false);
    expect(of.coverage('ETH').asOf).toBe(new Date(day(2)).toISOString());
    expect(reader(new Date(day(1)).toISOString()).coverage('ETH').asOf).toBe(new Date(day(1)).toISOString());
    expect(reader(null).coverage('ETH').asOf).toBeNull();
  });

  it('has no totals before the first transfer, and full totals from the last one on', () => {
    const whole = { firstSeenMs: day(1), lastSeenMs: day(3) };
    const totals = (untilMs: number) =>
      transfersUntil({ totals: () => whole, graph: () => null } as never, untilMs).totals(
        'ETH',
        graph.keyOf(1),
      );
    expect([totals(day(3)), totals(day(3) - 1), totals(day(1) - 1)]).toEqual([whole, null, null]);
    const none = transfersUntil({ totals: () => null } as never, day(1));
    expect(none.totals('ETH', graph.keyOf(1))).toBeNull();
  });
});

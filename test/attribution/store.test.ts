import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type AttributionStore,
  type DepositRecord,
  type Fact,
  openAttributionStore,
} from '../../src/attribution/store.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';

let folder: string;
let store: AttributionStore;
const openStore = (): AttributionStore => {
  const opened = openAttributionStore(folder, 'ETH', false);
  if (opened === null) throw new Error('The store was not created.');
  return opened;
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-attributions-'));
  store = openStore();
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const key = (digit: string): Uint8Array => parseAddress('ETH', `0x${digit.repeat(40)}`).key;
const TOKEN = `0x${'ab'.repeat(20)}`;
const FACT: Fact = {
  rule: 'contract-factory',
  by: 'uniswap-v2 0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f',
  kind: 'pool',
  blockNumber: 10_000_835,
  txHash: `0x${'12'.repeat(32)}`,
  logIndex: 7,
  timestampMs: null,
  values: { token0: TOKEN, token1: `0x${'cd'.repeat(20)}` },
};

describe('the store of attributions', () => {
  it('returns facts exactly as they were added', async () => {
    const facts: Fact[] = [
      FACT,
      { ...FACT, logIndex: 8, timestampMs: 1_700_000_000_123, values: {} },
      // Text that is no lower-case hex of the usual length stays text.
      { ...FACT, logIndex: 9, txHash: `0x${'AB'.repeat(32)}`, values: { token0: `0x${'AB'.repeat(20)}` } },
      { ...FACT, logIndex: 10, txHash: 'none', values: { other: 'å', fee: '3000', amount: '' } },
      { ...FACT, logIndex: 11, kind: 'safe', by: 'safe 0x1', values: { singleton: TOKEN, token0: '0x12' } },
      { ...FACT, logIndex: 12, txHash: `0x${'é'.repeat(64)}`, values: { factory: `0x${'é'.repeat(40)}` } },
    ];
    expect(facts.map((fact) => store.addFact(key('1'), fact))).toEqual(facts.map(() => true));
    expect(store.facts(key('1'))).toEqual(facts);
    expect(store.facts(key('2'))).toEqual([]);
    await store.close();
    store = openStore();
    expect(store.facts(key('1'))).toEqual(facts);
  });

  it('adds a log once, in and between transactions', () => {
    expect(store.write(() => [store.addFact(key('1'), FACT), store.addFact(key('1'), FACT)])).toEqual([
      true,
      false,
    ]);
    expect(store.addFact(key('1'), { ...FACT, blockNumber: 5 })).toBe(false);
    expect(store.addFact(key('1'), { ...FACT, kind: 'safe' })).toBe(true);
    expect(store.addFact(key('2'), FACT)).toBe(true);
    expect(store.facts(key('1')).map(({ kind }) => kind)).toEqual(['pool', 'safe']);
  });

  it.each([undefined, 100])(
    'lists the facts of a source from a block on, as it would remove them (%s)',
    (indexedFrom) => {
      const by = FACT.by;
      for (const blockNumber of [100, 101, 102])
        store.addFact(key('1'), { ...FACT, blockNumber, logIndex: blockNumber }, true);
      store.addFact(key('2'), { ...FACT, by: 'another', blockNumber: 102 }, true);
      store.setCursor(by, {
        nextBlock: 103,
        hash: null,
        facts: 3,
        ...(indexedFrom === undefined ? {} : { indexedFrom }),
      });
      const listed = store.factsFrom(by, 101);
      expect(listed.map(([address, fact]) => [Buffer.from(address), fact.blockNumber])).toEqual([
        [Buffer.from(key('1')), 101],
        [Buffer.from(key('1')), 102],
      ]);
      expect(store.removeFacts(by, 101)).toBe(2);
      expect(store.factsFrom(by, 101)).toEqual([]);
    },
  );

  it('replaces the values of a fact, which stays revertible', () => {
    const fact = { ...FACT, blockNumber: 100 };
    store.addFact(key('1'), fact, true);
    store.updateFact(key('1'), { ...fact, values: { readAt: '7' } });
    expect(store.facts(key('1'))).toEqual([{ ...fact, values: { readAt: '7' } }]);
    store.setCursor(FACT.by, { nextBlock: 101, hash: null, facts: 1, indexedFrom: 0 });
    expect(store.removeFacts(FACT.by, 100)).toBe(1);
    expect(store.facts(key('1'))).toEqual([]);
  });

  it('lists the facts of each address oldest first', () => {
    const blocks = [300, 5, 70_000, 200];
    for (const [at, blockNumber] of blocks.entries())
      store.addFact(key('1'), { ...FACT, blockNumber, logIndex: 9 - at });
    store.addFact(key('2'), FACT);
    const sorted = [5, 200, 300, 70_000];
    expect(store.facts(key('1')).map(({ blockNumber }) => blockNumber)).toEqual(sorted);
    const all = [...store.allFacts()];
    expect(all.map(([address, facts]) => [address.toString('hex').slice(-2), facts.length])).toEqual([
      ['11', 4],
      ['22', 1],
    ]);
    expect(all[0]?.[1].map(({ blockNumber }) => blockNumber)).toEqual(sorted);
  });

  it('removes the facts of one contract from a block on', () => {
    for (const blockNumber of [10, 20, 30])
      store.addFact(key('1'), { ...FACT, blockNumber, logIndex: blockNumber });
    store.addFact(key('1'), { ...FACT, by: 'tether 0x2', blockNumber: 40 });
    expect(store.removeFacts(FACT.by, 20)).toBe(2);
    expect(store.facts(key('1')).map(({ blockNumber }) => blockNumber)).toEqual([10, 40]);
  });

  it('removes facts that are listed by block without reading the others', () => {
    const other = { ...FACT, by: 'tether 0x2' };
    store.write(() => {
      // Facts of old blocks that are not listed: a removal that reads all facts would find the last one.
      for (let at = 0; at < 3; at++)
        store.addFact(key('3'), { ...FACT, blockNumber: 1_000 + at, logIndex: at }, false);
      for (const blockNumber of [900, 1_000, 1_010, 1_020])
        store.addFact(key('1'), { ...FACT, blockNumber, logIndex: blockNumber }, true);
      store.addFact(key('2'), { ...other, blockNumber: 1_020 }, true);
      store.setCursor(FACT.by, { nextBlock: 1_021, hash: null, facts: 7, indexedFrom: 900 });
    });
    expect(store.write(() => store.removeFacts(FACT.by, 1_010))).toBe(2);
    expect(store.facts(key('1')).map(({ blockNumber }) => blockNumber)).toEqual([900, 1_000]);
    expect([store.facts(key('2')).length, store.facts(key('3')).length]).toEqual([1, 3]);
    store.write(() => {
      store.settleFacts(FACT.by, 1_000);
      store.setCursor(FACT.by, { nextBlock: 1_021, hash: null, facts: 5, indexedFrom: 1_000 });
    });
    expect(store.write(() => store.removeFacts(FACT.by, 1_000))).toBe(1);
    // Before the listed blocks all facts are read.
    expect(store.write(() => store.removeFacts(FACT.by, 899))).toBe(4);
    expect([store.facts(key('1')), store.facts(key('3'))]).toEqual([[], []]);
    expect(store.facts(key('2')).length).toBe(1);
    // The same log in an earlier block, after all facts were read: nothing of its later block is left.
    store.write(() => {
      store.addFact(key('4'), { ...FACT, blockNumber: 500 }, true);
      store.removeFacts(FACT.by, 400);
      store.addFact(key('4'), { ...FACT, blockNumber: 450 }, true);
      store.setCursor(FACT.by, { nextBlock: 501, hash: null, facts: 1, indexedFrom: 400 });
    });
    expect(store.write(() => store.removeFacts(FACT.by, 480))).toBe(0);
    expect(store.facts(key('4')).length).toBe(1);
  });

  it('assigns no number of a transaction that failed', () => {
    const failing = (): void =>
      store.write(() => {
        store.addFact(key('1'), FACT);
        throw new Error('stopped');
      });
    expect(failing).toThrow('stopped');
    store.addFact(key('2'), { ...FACT, kind: 'safe' });
    store.addFact(key('3'), FACT);
    expect(store.facts(key('1'))).toEqual([]);
    expect([store.facts(key('2'))[0]?.kind, store.facts(key('3'))[0]?.kind]).toEqual(['safe', 'pool']);
  });

  it('keeps deposit addresses and noted blocks, and says whether a record changed', () => {
    const record: DepositRecord = {
      ...{ entity: 3, kind: 'account', fundedBy: 0, older: 2, firstMs: 1_700_000_000_000 },
      forwardings: [
        { out: 9_000_000_000, in: 4, timestampMs: 1_700_000_012_345 },
        { out: 5, in: 6, timestampMs: 1_700_000_024_000 },
      ],
    };
    expect([store.hasDeposit(8), store.deposit(8)]).toEqual([false, null]);
    expect([store.putDeposit(8, record), store.putDeposit(8, record)]).toEqual([true, false]);
    expect([store.hasDeposit(8), store.deposit(8)]).toEqual([true, record]);
    const other = { ...record, fundedBy: null };
    expect([store.putDeposit(8, other), [...store.deposits()]]).toEqual([true, [[8, other]]]);
    const block = { hash: '0xabc', firstOrdinal: 2 ** 33, count: 3 };
    store.setBlock(70, { ...block, nodes: [5, 70_000, 2 ** 31 - 1] });
    expect([...store.blocks()]).toEqual([[70, block]]);
    expect([store.nodesOfBlock(70), store.nodesOfBlock(71)]).toEqual([[5, 70_000, 2 ** 31 - 1], []]);
    store.clearDeposits();
    expect([store.depositCount(), store.blocks().size]).toEqual([0, 0]);
  });

  it('refuses a store of the former format', async () => {
    const root = openEnvironment(join(folder, 'base.mdb'), { noSubdir: true, maxDbs: 8 });
    root
      .openDB({ name: 'meta', encoding: 'msgpack' })
      .putSync('format', { name: 'assay-attribution', version: 1 });
    await root.close();
    expect(() => openAttributionStore(folder, 'BASE', false)).toThrow(/assay attribute BASE/);
  });
});

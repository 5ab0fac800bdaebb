import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdapter } from '../../../../src/chains/families/xrp/adapter.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import {
  type Asked,
  accountOf,
  answer,
  hex32,
  type Loose,
  makeChain,
  type StandIn,
  startStandIn,
} from '../stand-in.ts';

const family = { openAdapter, layouts: { rpc: 'rippled', history: 'rippled' } };
const [alice, bob, issuer, unused] = [1, 2, 3, 9].map((n) => accountOf('XRP', n)) as [
  string,
  string,
  string,
  string,
];

interface Tx {
  readonly tx: Readonly<Record<string, unknown>>;
  readonly meta: Readonly<Record<string, unknown>>;
}
const done = { TransactionResult: 'tesSUCCESS' };
const payment = (from: string, to: string, delivered: unknown, amount: unknown = delivered): Tx => ({
  tx: { TransactionType: 'Payment', Account: from, Destination: to, Amount: amount, DestinationTag: 7 },
  meta: { ...done, delivered_amount: delivered },
});

const contents: readonly (readonly Tx[])[] = [
  [payment(bob, alice, '5000000')],
  [
    // A partial payment: it asks for a billion and delivers ten.
    payment(bob, alice, '10', '1000000000000000'),
    payment(bob, alice, { currency: 'USD', issuer, value: '12.5' }),
    { ...payment(alice, bob, '1'), meta: { TransactionResult: 'tecPATH_DRY' } },
  ],
  [],
  [
    payment(alice, bob, { currency: '0158415500000000C1F76FF6ECB0BAC600000000', issuer, value: '1e-7' }),
    {
      tx: { TransactionType: 'EscrowFinish', Account: bob, Owner: bob },
      meta: {
        ...done,
        AffectedNodes: [
          {
            DeletedNode: {
              LedgerEntryType: 'Escrow',
              FinalFields: { Account: bob, Destination: alice, Amount: '777' },
            },
          },
        ],
      },
    },
    { tx: { TransactionType: 'OfferCreate', Account: alice }, meta: done },
    { ...payment(bob, alice, 'unavailable') },
  ],
  [payment(alice, bob, { mpt_issuance_id: 'AB'.repeat(24), value: '3' })],
];

async function makeWorld(options: { readonly contents?: typeof contents; readonly begin?: number } = {}) {
  const chain = makeChain<Tx>({
    first: 100,
    hash: (h, b) => hex32(`xrp ${h} ${b}`).toUpperCase(),
    contents: options.contents ?? contents,
  });
  const time = (s: number): number => s - 946_684_800;
  const ledger = (block: ReturnType<typeof chain.head>, whole: boolean) => ({
    validated: true,
    ledger: {
      ledger_index: String(block.height),
      ledger_hash: block.hash,
      parent_hash: block.parentHash,
      close_time: time(block.timeS),
      ...(whole
        ? {
            // In no particular order, as rippled returns them.
            transactions: block.items
              .map((item, index) => ({
                ...item.tx,
                hash: hex32(`${block.hash} ${index}`).toUpperCase(),
                metaData: { ...item.meta, TransactionIndex: index },
              }))
              .toReversed(),
          }
        : {}),
    },
  });
  const fail = (error: string) => ({ status: 'error', error });
  const methods: Record<string, (p: Loose) => unknown> = {
    server_info: () => ({ info: { network_id: 0, build_version: '2.5.0' } }),
    account_info: ({ account }) =>
      account === unused
        ? fail('actNotFound')
        : { account_data: { Balance: '123456789' }, ledger_index: chain.head().height },
    ledger: ({ ledger_index, transactions }) => {
      const block = ledger_index === 'validated' ? chain.head() : chain.at(ledger_index);
      return block === undefined ? fail('lgrNotFound') : ledger(block, transactions === true);
    },
    account_tx: ({ account, limit, marker, ledger_index_min: min, ledger_index_max: max }) => {
      if (account === unused) return fail('actNotFound');
      const all = chain.blocks
        .toReversed()
        .flatMap((block) => block.items.map((item, index) => ({ block, item, index })).toReversed())
        .filter(({ block }) => (min < 0 || block.height >= min) && (max < 0 || block.height <= max));
      const start = marker
        ? all.findIndex(({ block, index }) => block.height === marker.ledger && index === marker.seq)
        : 0;
      const page = all.slice(start, start + Math.min(limit, 2));
      const next = all[start + page.length];
      return {
        ledger_index_min: options.begin ?? 32_570,
        transactions: page.map(({ block, item, index }) => ({
          validated: true,
          tx: {
            ...item.tx,
            hash: hex32(`${block.hash} ${index}`).toUpperCase(),
            ledger_index: block.height,
            date: time(block.timeS),
          },
          meta: { ...item.meta, TransactionIndex: index },
        })),
        ...(next === undefined ? {} : { marker: { ledger: next.block.height, seq: next.index } }),
      };
    },
  };
  const standIn: StandIn = await startStandIn(({ body }: Asked) =>
    answer({ result: methods[body.method]!(body.params[0]) }),
  );
  return {
    standIn,
    chain: 'XRP' as const,
    rpc: standIn.url,
    history: null,
    address: alice,
    unused,
    balance: () => Promise.resolve(123_456_789n),
    historyKind: 'TRANSFERS' as const,
    busyBlock: () => Promise.resolve({ height: 101, items: 2 }),
    mine: chain.mine,
    reorg: chain.reorg,
    ofAnotherChain: (body: string) => body.replace('"network_id":0', '"network_id":1'),
    dispose: standIn.close,
  };
}

adapterConformance('XRP over rippled', family, makeWorld);

describe('transfers on the XRP Ledger', () => {
  let world: Awaited<ReturnType<typeof makeWorld>>;
  beforeAll(async () => {
    world = await makeWorld();
  });
  afterAll(() => world.dispose());

  it('have the delivered amount, not the requested one', async () => {
    const adapter = openFor(family, 'XRP', { rpc: [world.rpc] });
    const { block } = await adapter.block(101, within(5_000));
    expect(block?.transfers).toMatchObject([
      { from: bob, to: alice, asset: 'XRP', amount: 10n, decimals: 6, position: 'value' },
      { from: bob, to: alice, asset: `USD.${issuer}`, amount: 12_500_000_000_000_000n, decimals: 15 },
    ]);
    const later = await adapter.block(103, within(5_000));
    expect(later.block?.transfers).toMatchObject([
      {
        from: alice,
        to: bob,
        asset: `0158415500000000C1F76FF6ECB0BAC600000000.${issuer}`,
        amount: 100_000_000n,
      },
      { from: bob, to: alice, asset: 'XRP', amount: 777n },
    ]);
    const newest = await adapter.block(104, within(5_000));
    expect(newest.block?.transfers).toMatchObject([{ asset: 'AB'.repeat(24), amount: 3n, decimals: null }]);
    await adapter.close();
  });

  it('are the same by ledger and by account', async () => {
    const adapter = openFor(family, 'XRP', { rpc: [world.rpc] });
    const page = await adapter.history(
      alice,
      { cursor: null, limit: 50, from: null, to: null },
      within(5_000),
    );
    const fromBlocks = [];
    for (let height = 104; height >= 100; height--)
      fromBlocks.push(...((await adapter.block(height, within(5_000))).block?.transfers ?? []).toReversed());
    const all = [...page.transfers];
    for (let cursor = page.nextCursor; cursor !== null; ) {
      const next = await adapter.history(alice, { cursor, limit: 50, from: null, to: null }, within(5_000));
      all.push(...next.transfers);
      cursor = next.nextCursor;
    }
    expect(all).toEqual(fromBlocks);
    await adapter.close();
  });

  it('have the full amount of a payment without more data unless it may be partial; other unknowns are reported', async () => {
    const historyOf = async (...items: readonly Tx[]) => {
      const small = await makeWorld({ contents: [items] });
      const adapter = openFor(family, 'XRP', { rpc: [small.rpc] });
      const query = { cursor: null, limit: 50, from: null, to: null };
      const [block, page] = await Promise.all([
        adapter.block(100, within(5_000)),
        adapter.history(alice, query, within(5_000)),
      ]);
      expect(page.transfers.map(({ amount }) => amount)).toEqual(
        block.block?.transfers.map(({ amount }) => amount),
      );
      expect(page.completeness).toBe(block.completeness);
      await Promise.all([adapter.close(), small.dispose()]);
      return [page.completeness, page.transfers.map(({ amount }) => amount)];
    };
    const silent = payment(bob, alice, undefined, '9');
    expect(await historyOf(silent)).toEqual(['COMPLETE', [9n]]);
    expect(await historyOf({ ...silent, tx: { ...silent.tx, Flags: 0x0002_0000 } })).toEqual(['PARTIAL', []]);
    expect(await historyOf(payment(bob, alice, 'unavailable', '9'))).toEqual(['PARTIAL', []]);
    const sale = { tx: { TransactionType: 'NFTokenAcceptOffer', Account: alice }, meta: done };
    expect(await historyOf(sale)).toEqual(['PARTIAL', []]);
    expect(await historyOf({ ...sale, meta: { TransactionResult: 'tecNO_ENTRY' } })).toEqual([
      'COMPLETE',
      [],
    ]);
  });

  it('are PARTIAL if the server lacks history, unless the account was created later', async () => {
    const first = payment(bob, alice, '5');
    const made = {
      CreatedNode: { LedgerEntryType: 'AccountRoot', NewFields: { Account: alice, Balance: '5' } },
    };
    for (const [meta, completeness] of [
      [first.meta, 'PARTIAL'],
      [{ ...first.meta, AffectedNodes: [made] }, 'COMPLETE'],
    ] as const) {
      const pruned = await makeWorld({ contents: [[{ ...first, meta }]], begin: 90_000_000 });
      const adapter = openFor(family, 'XRP', { rpc: [pruned.rpc] });
      const query = { cursor: null, limit: 50, from: null, to: null };
      expect((await adapter.history(alice, query, within(5_000))).completeness).toBe(completeness);
      const above = { ...query, from: 90_000_000 };
      expect((await adapter.history(alice, above, within(5_000))).completeness).toBe('COMPLETE');
      await Promise.all([adapter.close(), pruned.dispose()]);
    }
  });

  it('resolve an X-address to its account', async () => {
    const adapter = openFor(family, 'XRP', { rpc: [world.rpc] });
    // From the test vectors of the standard: rGWrZyQqhTp9Xu7G5Pkayo7bXjH4k4QYpf with the tag 1.
    await adapter.balance('XVLhHMPHU98es4dbozjVtdWzVrDjtV1kAsixQTdMjbWi39u', within(5_000));
    expect(world.standIn.requests.at(-1)?.body.params[0].account).toBe('rGWrZyQqhTp9Xu7G5Pkayo7bXjH4k4QYpf');
    await adapter.close();
  });
});

describe('a faulty XRP server', () => {
  it('causes a typed error for an endless marker, and a wait if it is overloaded', async () => {
    let error: string | null = null;
    const standIn = await startStandIn(({ body }) => {
      if (body.method === 'server_info') return answer({ result: { info: {} } });
      if (error !== null) return answer({ result: { status: 'error', error } });
      return answer({
        result: { transactions: [], marker: { ledger: 5, seq: Math.floor(Math.random() * 1e6) } },
      });
    });
    const adapter = openFor(family, 'XRP', { rpc: [standIn.url] });
    const query = { cursor: null, limit: 10, from: null, to: null };
    await expect(adapter.history(alice, query, within(5_000))).rejects.toMatchObject({
      code: 'CHAIN_BAD_ANSWER',
    });
    error = 'slowDown';
    await expect(adapter.head(within(2_000))).rejects.toMatchObject({ code: 'CHAIN_UNREACHABLE' });
    await adapter.close();
    await standIn.close();
  });
});

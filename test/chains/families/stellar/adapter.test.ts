import { describe, expect, it } from 'vitest';
import { openAdapter } from '../../../../src/chains/families/stellar/adapter.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { accountOf, answer, hex32, type Loose, makeChain, notFound, startStandIn } from '../stand-in.ts';

const family = { openAdapter, layouts: { rpc: 'horizon', history: 'horizon' } };
const [alice, bob, issuer, unused] = [1, 2, 3, 9].map((n) => accountOf('XLM', n)) as [
  string,
  string,
  string,
  string,
];
type Op = Readonly<Record<string, unknown>>;
const native = { asset_type: 'native' };
const contents: readonly (readonly Op[])[] = [
  [{ type: 'create_account', funder: bob, account: alice, starting_balance: '100.0000000' }],
  [
    { type: 'payment', ...native, from: bob, to: alice, amount: '0.0000001' },
    {
      type: 'payment',
      asset_type: 'credit_alphanum4',
      asset_code: 'USDC',
      asset_issuer: issuer,
      from: alice,
      to: bob,
      amount: '12.5',
    },
  ],
  [],
  [
    {
      type: 'path_payment_strict_send',
      asset_type: 'credit_alphanum4',
      asset_code: 'EURC',
      asset_issuer: issuer,
      from: alice,
      to: bob,
      amount: '9.1',
      source_asset_type: 'native',
      source_amount: '10',
    },
    {
      type: 'invoke_host_function',
      asset_balance_changes: [
        { ...native, type: 'transfer', from: alice, to: bob, amount: '2.0' },
        {
          ...native,
          type: 'transfer',
          from: bob,
          to: 'CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE',
          amount: '1.0',
        },
      ],
    },
  ],
  [{ type: 'account_merge', account: bob, into: alice }],
];

interface WorldOptions {
  /** Operations of each block in addition to its contents that are not payments. */
  readonly others?: readonly Record<string, unknown>[];
  /** The oldest ledger that the server keeps. */
  readonly elder?: number;
  readonly contents?: typeof contents;
}

async function makeWorld(options: WorldOptions = {}) {
  const chain = makeChain<Op>({
    first: 50_000_000,
    hash: (h, b) => hex32(`xlm ${h} ${b}`),
    contents: options.contents ?? contents,
  });
  const header = (block: ReturnType<typeof chain.head>) => ({
    sequence: block.height,
    hash: block.hash,
    prev_hash: block.parentHash,
    closed_at: new Date(block.timeS * 1000).toISOString().replace('.000', ''),
  });
  const operations = () =>
    chain.blocks.flatMap((block) =>
      block.items.map((item, index) => {
        const id = ((BigInt(block.height) << 32n) | (1n << 12n) | BigInt(index + 1)).toString();
        return {
          id,
          paging_token: id,
          transaction_successful: true,
          created_at: header(block).closed_at,
          transaction_hash: hex32(`${block.hash} tx`),
          ...item,
        };
      }),
    );
  const records = (list: readonly unknown[]) => answer({ _embedded: { records: list } });
  const standIn = await startStandIn(({ path, query }) => {
    if (path === '/')
      return answer({
        network_passphrase: 'Public Global Stellar Network ; September 2015',
        history_elder_ledger: options.elder ?? 1,
      });
    const limit = Number(query.get('limit'));
    if (path === '/ledgers') return records([header(chain.head())]);
    const [, kind, name, sub] = path.split('/');
    if (kind === 'operations')
      return records([
        { type: 'account_removed', account: bob },
        { type: 'account_credited', account: alice, asset_type: 'native', amount: '42.0000000' },
      ]);
    if (kind === 'accounts' && name === unused) return notFound({ status: 404, title: 'Resource Missing' });
    if (kind === 'accounts' && sub === undefined)
      return answer({
        balances: [
          { asset_type: 'credit_alphanum4', balance: '1' },
          { ...native, balance: '57.1234567' },
        ],
      });
    const block = chain.at(Number(name));
    if (kind === 'ledgers' && block === undefined) return notFound();
    if (kind === 'ledgers' && sub === undefined) return answer(header(block!));
    const cursor = query.get('cursor');
    let list: readonly Loose[] = operations();
    if (sub === 'operations')
      list = list.flatMap((row, index) => [
        row,
        ...(options.others ?? []).map((other, place) => {
          const id = (BigInt(row.id) + BigInt((index + 1) * 100_000 + place)).toString();
          return { ...row, id, paging_token: id, ...other };
        }),
      ]);
    if (kind === 'ledgers') list = list.filter(({ id }) => Number(BigInt(id) >> 32n) === block!.height);
    if (query.get('order') === 'desc') list = list.toReversed();
    if (cursor !== null)
      list = list.filter(({ id }) =>
        query.get('order') === 'desc' ? BigInt(id) < BigInt(cursor) : BigInt(id) > BigInt(cursor),
      );
    return records(list.slice(0, limit));
  });
  return {
    standIn,
    chain: 'XLM' as const,
    rpc: standIn.url,
    history: null,
    address: alice,
    unused,
    balance: () => Promise.resolve(571_234_567n),
    historyKind: 'TRANSFERS' as const,
    busyBlock: () => Promise.resolve({ height: 50_000_001, items: 2 }),
    mine: chain.mine,
    reorg: chain.reorg,
    ofAnotherChain: (body: string) => body.replace('Public Global Stellar Network', 'Test SDF Network'),
    dispose: standIn.close,
  };
}

adapterConformance('XLM over Horizon', family, makeWorld);

describe('transfers on Stellar', () => {
  it('are payments, amounts that arrived through the exchange, contract payments, and the full balance of merged accounts', async () => {
    const world = await makeWorld();
    const adapter = openFor(family, 'XLM', { history: [world.rpc] });
    const page = await adapter.history(
      alice,
      { cursor: null, limit: 50, from: null, to: null },
      within(5_000),
    );
    // A contract was called: its other effects are not known.
    expect(page).toMatchObject({
      completeness: 'PARTIAL',
      note: expect.stringContaining('only in contracts'),
    });
    expect(page.transfers).toMatchObject([
      { from: bob, to: alice, amount: 420_000_000n, position: 'op:1', blockNumber: 50_000_004 },
      { from: alice, to: bob, amount: 20_000_000n, asset: 'XLM', position: 'op:2:0' },
      { from: alice, to: bob, amount: 91_000_000n, asset: `EURC:${issuer}`, decimals: 7 },
      { from: alice, to: bob, amount: 125_000_000n, asset: `USDC:${issuer}` },
      { from: bob, to: alice, amount: 1n, asset: 'XLM', decimals: 7 },
      { from: bob, to: alice, amount: 1_000_000_000n, position: 'op:1' },
    ]);
    await adapter.close();
    await world.dispose();
  });

  it.each<[string, WorldOptions, string | null]>([
    ['trades and settings move nothing', { others: [{ type: 'manage_sell_offer' }] }, null],
    [
      'a claimable balance may move something',
      { others: [{ type: 'claim_claimable_balance' }] },
      'Claimable',
    ],
    ['so may a kind to come', { others: [{ type: 'teleport' }] }, 'Claimable'],
    [
      'so many operations are not looked through',
      { others: Array(60).fill({ type: 'set_options' }) },
      'Claimable',
    ],
    ['a server may have dropped the past', { elder: 40_000_000 }, 'part of the history'],
  ])('is all that there is where that is certain: %s', async (_, options, note) => {
    const plain = contents.map((items) => items.filter(({ type }) => type !== 'invoke_host_function'));
    const world = await makeWorld({ contents: plain, ...options });
    const adapter = openFor(family, 'XLM', { history: [world.rpc] });
    const query = { cursor: null, limit: 50, from: null, to: null };
    const page = await adapter.history(alice, query, within(5_000));
    expect(page.transfers.length).toBe(5);
    expect(page.completeness).toBe(note === null ? 'COMPLETE' : 'PARTIAL');
    if (note !== null) expect(page.note).toContain(note);
    await adapter.close();
    await world.dispose();
  });
});

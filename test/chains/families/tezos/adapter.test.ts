import { describe, expect, it } from 'vitest';
import { formatAddressKey } from '../../../../src/chains/address/parse.ts';
import { openAdapter } from '../../../../src/chains/families/tezos/adapter.ts';
import { chainOf } from '../../../../src/chains/registry.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { accountOf, answer, base58OfPrefix, type Loose, makeChain, startStandIn } from '../stand-in.ts';

const family = { openAdapter, layouts: { rpc: 'tzkt', history: 'tzkt' } };
const [alice, bob, unused] = [1, 2, 9].map((n) => accountOf('XTZ', n)) as [string, string, string];
const contract = formatAddressKey(
  Uint8Array.of(chainOf('XTZ').keyByte, 5, 1, ...new Uint8Array(20).fill(5), 0),
  'XTZ',
);
type Item = {
  readonly list: 'transactions' | 'originations' | 'transfers';
  readonly row: Record<string, unknown>;
};
const tx = (from: string, to: string, amount: number | string, more: object = {}): Item => ({
  list: 'transactions',
  row: {
    type: 'transaction',
    sender: { address: from },
    target: { address: to },
    amount,
    status: 'applied',
    ...more,
  },
});
const token = (from: string | null, to: string | null, amount: string, info: object): Item => ({
  list: 'transfers',
  row: {
    from: from && { address: from },
    to: to && { address: to },
    amount,
    token: { contract: { address: contract }, tokenId: '0', ...info },
  },
});
const contents: readonly (readonly Item[])[] = [
  [tx(bob, alice, 1_000_000)],
  // A call of a contract. Its code pays alice and moves its token.
  [
    tx(alice, contract, 5),
    tx(contract, alice, '9007199254740993', { nonce: 3 }),
    token(alice, bob, '250', { standard: 'fa1.2', metadata: { decimals: '8' } }),
    token(null, alice, '1', { standard: 'fa2', tokenId: '42', metadata: {} }),
  ],
  [],
  [
    {
      list: 'originations',
      row: {
        sender: { address: alice },
        originatedContract: { address: contract },
        contractBalance: 7,
        status: 'applied',
      },
    },
  ],
  [tx(alice, bob, 2)],
];

async function makeWorld(blocks = contents) {
  const chain = makeChain<Item>({
    first: 9_000_000,
    hash: (h, b) => base58OfPrefix('B', 51, `xtz ${h} ${b}`),
    contents: blocks,
  });
  const time = (s: number): string => new Date(s * 1000).toISOString().replace('.000', '');
  const rows = (list: Item['list']) =>
    chain.blocks.flatMap((block) =>
      block.items.flatMap((item, index) => {
        if (item.list !== list) return [];
        const id = block.height * 100 + index;
        return [
          {
            id,
            level: block.height,
            timestamp: time(block.timeS),
            ...(list === 'transfers'
              ? { transactionId: block.height * 100 }
              : { hash: base58OfPrefix('o', 51, `${block.hash} op`), counter: index + 10 }),
            ...item.row,
          } as Record<string, Loose>,
        ];
      }),
    );
  const standIn = await startStandIn(({ path, query }) => {
    if (path === '/v1/head') {
      const { height, hash, timeS } = chain.head();
      return answer({ level: height, hash, timestamp: time(timeS), chainId: 'NetXdQprcVkpaWU' });
    }
    if (path === '/v1/blocks') {
      const levels = query.get('level.in')!.split(',').map(Number);
      return answer(
        levels
          .flatMap((level) => chain.at(level) ?? [])
          .map(({ height, hash, timeS }) => ({ level: height, hash, timestamp: time(timeS) })),
      );
    }
    if (path.startsWith('/v1/accounts/'))
      return answer(
        path.endsWith(unused)
          ? { type: 'empty', address: unused }
          : { type: 'user', balance: 12_345, numTransactions: 6 },
      );
    let list = rows(path.split('/').at(-1) as Item['list']);
    const ids = query.get('id.in');
    if (ids !== null)
      return answer(
        list.filter((row) => ids.split(',').includes(String(row.id))).map(({ id, hash }) => ({ id, hash })),
      );
    const number = (name: string): number | null => (query.has(name) ? Number(query.get(name)) : null);
    const parties = [...query].find(([name]) => name.startsWith('anyof.'));
    if (parties !== undefined) {
      const [names, address] = parties;
      const fields = names.split('.').slice(1);
      list = list.filter((row) => fields.some((field) => row[field]?.address === address));
    }
    list = list.filter(
      (row) =>
        (number('level') === null || row.level === number('level')) &&
        (number('level.ge') === null || row.level >= number('level.ge')!) &&
        (number('level.le') === null || row.level <= number('level.le')!) &&
        (query.get('amount.gt') === null || BigInt(row.amount) > 0n),
    );
    if (query.has('sort.desc')) list = list.toReversed();
    return answer(list.slice(0, Number(query.get('limit'))));
  });
  return {
    standIn,
    chain: 'XTZ' as const,
    rpc: standIn.url,
    history: null,
    address: alice,
    unused,
    balance: () => Promise.resolve(12_345n),
    historyKind: 'TRANSFERS' as const,
    busyBlock: () => Promise.resolve({ height: 9_000_001, items: 4 }),
    mine: chain.mine,
    reorg: chain.reorg,
    ofAnotherChain: (body: string) => body.replace('NetXdQprcVkpaWU', 'NetXnHfVqm9iesp'),
    dispose: standIn.close,
  };
}

adapterConformance('XTZ over TzKT', family, makeWorld);

describe('transfers on Tezos', () => {
  it('are transactions, those of contracts, tokens of both standards, and initial balances of contracts', async () => {
    const world = await makeWorld();
    const adapter = openFor(family, 'XTZ', { history: [world.rpc] });
    const query = { cursor: null, limit: 50, from: null, to: null };
    const { transfers } = await adapter.history(alice, query, within(5_000));
    expect(transfers).toMatchObject([
      { from: alice, to: bob, amount: 2n, asset: 'XTZ' },
      { from: alice, to: contract, amount: 7n },
      { from: contract, to: alice, amount: 9_007_199_254_740_993n, position: 'op:11:3' },
      { from: alice, to: contract, amount: 5n, position: 'op:10' },
      { from: null, to: alice, amount: 1n, asset: `${contract}:42`, decimals: null },
      { from: alice, to: bob, amount: 250n, asset: contract, decimals: 8 },
      { from: bob, to: alice, amount: 1_000_000n },
    ]);
    const { block } = await adapter.block(9_000_001, within(5_000));
    const sameBlock = transfers.filter(({ blockNumber }) => blockNumber === 9_000_001);
    expect(new Set(block?.transfers.map((row) => `${row.txHash} ${row.position}`))).toEqual(
      new Set(sameBlock.map((row) => `${row.txHash} ${row.position}`)),
    );
    expect(await adapter.transactionCount(alice, within(5_000))).toMatchObject({ count: 6 });
    await adapter.close();
    await world.dispose();
  });

  it('include tokens of contracts with unbounded numbers, without failing', async () => {
    const huge = '9'.repeat(2_000);
    const world = await makeWorld([
      [
        tx(bob, contract, 1),
        token(bob, alice, huge, { standard: 'fa2', tokenId: huge }),
        token(bob, alice, (2n ** 256n - 1n).toString(), { standard: 'fa2', tokenId: '1' }),
        token(bob, alice, (2n ** 256n).toString(), { standard: 'fa2', tokenId: '1' }),
      ],
    ]);
    const adapter = openFor(family, 'XTZ', { history: [world.rpc] });
    const query = { cursor: null, limit: 50, from: null, to: null };
    const { transfers } = await adapter.history(alice, query, within(5_000));
    expect(transfers.map(({ amount }) => amount)).toEqual(Array(3).fill(2n ** 256n - 1n));
    expect(transfers.map(({ asset }) => asset)).toContainEqual(
      expect.stringMatching(new RegExp(`^${contract}:[0-9a-f]{40}$`)),
    );
    await adapter.close();
    await world.dispose();
  });
});

import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openAdapter } from '../../../../src/chains/families/cosmos/adapter.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { accountOf, answer, hex32, makeChain, notFound, startStandIn } from '../stand-in.ts';

const family = { openAdapter, layouts: { rpc: 'lcd', history: 'lcd' } };
const [alice, bob, unused] = [1, 2, 9].map((n) => accountOf('ATOM', n)) as [string, string, string];
const FEES = 'cosmos17xpfvakm2amg962yls6f84z3kell8c5lserqta';
const FEE_MARKET = 'cosmos13pxn9n3qw79e03844rdadagmg0nshmwf7qvuye';
const IBC = 'ibc/27394FB092D2ECCD56123C74F36E4C1F926001CEADA9CA97EA622B25F41E5EB2';

interface Tx {
  readonly code?: number;
  readonly moves: readonly (readonly [string, string, string])[];
}
const contents: readonly (readonly Tx[])[] = [
  [{ moves: [[bob, alice, '1000uatom']] }],
  [
    {
      moves: [
        [alice, FEES, '5uatom'],
        [alice, bob, `7uatom,3${IBC}`],
      ],
    },
    { moves: [[bob, alice, '1uatom']] },
    { code: 5, moves: [[alice, FEES, '5uatom']] },
  ],
  [],
  [{ moves: [[alice, alice, '2uatom']] }],
  [{ moves: [[bob, alice, '99999999999999999999uatom']] }],
];

async function makeWorld(
  layout: 'lcd' | 'tendermint',
  options: {
    readonly contents?: typeof contents;
    readonly inBase64?: boolean;
    readonly keepsAll?: boolean;
  } = {},
) {
  const chain = makeChain<Tx>({
    first: 20_000_000,
    hash: (h, b) => hex32(`atom ${h} ${b}`),
    contents: options.contents ?? contents,
  });
  const shown = (text: string): string =>
    options.inBase64 === true ? Buffer.from(text).toString('base64') : text;
  const b64 = (hex: string): string => Buffer.from(hex, 'hex').toString('base64');
  const time = (s: number): string => new Date(s * 1000).toISOString().replace('.000', '');
  const bytesOf = (block: { hash: string }, index: number): Buffer => Buffer.from(`${block.hash} ${index}`);
  const events = ({ moves }: Tx) => [
    { type: 'coin_spent', attributes: [] },
    ...moves.map(([sender, recipient, amount]) => ({
      type: 'transfer',
      attributes: Object.entries({ recipient, sender, amount }).map(([key, value]) => ({
        key: shown(key),
        value: shown(value),
        index: true,
      })),
    })),
  ];
  const responses = () =>
    chain.blocks.flatMap((block) =>
      block.items.map((item, index) => ({
        height: String(block.height),
        txhash: createHash('sha256').update(bytesOf(block, index)).digest('hex').toUpperCase(),
        code: item.code ?? 0,
        timestamp: time(block.timeS),
        events: events(item),
        parties: item.moves.map(([sender, recipient]) => ({ sender, recipient })),
      })),
    );
  const blockOf = (block: ReturnType<typeof chain.head>, parts: string, hash: (hex: string) => string) => ({
    block_id: { hash: hash(block.hash), [parts]: { total: 1, hash: hash(block.parentHash) } },
    block: {
      // CometBFT gives nanoseconds.
      header: {
        chain_id: 'cosmoshub-4',
        height: String(block.height),
        time: time(block.timeS).replace('Z', '.123456789Z'),
        last_block_id: { hash: hash(block.parentHash) },
      },
      data: { txs: block.items.map((_, index) => bytesOf(block, index).toString('base64')) },
    },
  });
  const standIn = await startStandIn(({ path, query }) => {
    const comet = (result: unknown) => answer({ jsonrpc: '2.0', id: -1, result });
    const tooHigh = (height: number) =>
      `height ${height} must be less than or equal to the current blockchain height ${chain.head().height}`;
    if (path === '/status') return comet({ node_info: { network: 'cosmoshub-4' } });
    if (path === '/block' || path === '/block_results') {
      const height = query.has('height') ? Number(query.get('height')) : chain.head().height;
      const block = chain.at(height);
      if (block === undefined)
        return answer(
          {
            jsonrpc: '2.0',
            id: -1,
            error: { code: -32603, message: 'Internal error', data: tooHigh(height) },
          },
          500,
        );
      if (path === '/block') return comet(blockOf(block, 'parts', (hex) => hex.toUpperCase()));
      return comet({
        height: String(height),
        txs_results:
          block.items.length === 0
            ? null
            : block.items.map((item) => ({ code: item.code ?? 0, events: events(item) })),
        finalize_block_events: [],
      });
    }
    if (path.startsWith('/cosmos/base/tendermint/v1beta1/blocks/')) {
      const name = path.split('/').at(-1)!;
      if (options.keepsAll === true && name === '5200791')
        return answer(blockOf({ ...chain.head(), height: 5_200_791 }, 'part_set_header', b64));
      const block = name === 'latest' ? chain.head() : chain.at(Number(name));
      if (block === undefined)
        return answer(
          { code: 3, message: 'requested block height is bigger then the chain length', details: [] },
          400,
        );
      return answer(blockOf(block, 'part_set_header', b64));
    }
    if (path.endsWith('/by_denom'))
      return answer({
        balance: { denom: 'uatom', amount: path.includes(unused) ? '0' : '123456789012345678' },
      });
    if (path.startsWith('/cosmos/auth/'))
      return path.endsWith(unused)
        ? notFound({ code: 5, message: 'account not found' })
        : answer({
            account: {
              '@type': '/cosmos.vesting.v1beta1.ContinuousVestingAccount',
              base_vesting_account: { base_account: { sequence: '17' } },
            },
          });
    const conditions = query.get('query');
    // A late request to a server that had this port before.
    if (conditions === null) return notFound();
    let list = responses();
    for (const condition of conditions.split(' AND ')) {
      const [, key, operator, value] = /^([\w.]+)(=|<=|>=)'?([^']+)'?$/.exec(condition)!;
      if (key === 'tx.height')
        list = list.filter(({ height }) =>
          operator === '='
            ? height === value
            : operator === '<='
              ? Number(height) <= Number(value)
              : Number(height) >= Number(value),
        );
      else
        list = list.filter(({ parties }) =>
          parties.some((each) => each[key!.split('.')[1] as 'sender'] === value),
        );
    }
    if (query.get('order_by') === 'ORDER_BY_DESC') list = list.toReversed();
    const [page, limit] = [Number(query.get('page')), Number(query.get('limit'))];
    return answer({ tx_responses: list.slice((page - 1) * limit, page * limit), total: String(list.length) });
  });
  return {
    standIn,
    chain: 'ATOM' as const,
    rpc: `${layout}+${standIn.url}`,
    history: layout === 'lcd' ? null : `lcd+${standIn.url}`,
    address: alice,
    unused,
    balance: () => Promise.resolve(123_456_789_012_345_678n),
    historyKind: 'TRANSFERS' as const,
    busyBlock: () => Promise.resolve({ height: 20_000_001, items: 3 }),
    mine: chain.mine,
    reorg: chain.reorg,
    // Only the REST API answers balances.
    ofAnotherChain:
      layout === 'lcd' ? (body: string) => body.replaceAll('cosmoshub-4', 'theta-testnet-001') : null,
    dispose: standIn.close,
  };
}

adapterConformance('ATOM over REST', family, () => makeWorld('lcd'));
adapterConformance('ATOM over CometBFT and REST', family, () => makeWorld('tendermint'));

describe('transfers on the Cosmos Hub', () => {
  it('are the same from CometBFT and from REST, without fees and failures', async () => {
    const world = await makeWorld('lcd');
    const query = { cursor: null, limit: 50, from: null, to: null };
    const rest = openFor(family, 'ATOM', { rpc: [world.rpc] });
    const comet = openFor(family, 'ATOM', { rpc: [`tendermint+${world.standIn.url}`] });
    const [{ block }, other] = await Promise.all([
      rest.block(20_000_001, within(5_000)),
      comet.block(20_000_001, within(5_000)),
    ]);
    expect(other.block).toEqual(block);
    expect(block?.transfers).toMatchObject([
      { from: alice, to: bob, amount: 7n, asset: 'ATOM', position: 'event:2:0' },
      { from: alice, to: bob, amount: 3n, asset: IBC, decimals: null, position: 'event:2:1' },
      { from: bob, to: alice, amount: 1n, position: 'event:1' },
    ]);
    const page = await rest.history(alice, query, within(5_000));
    expect(page.transfers.map(({ amount }) => amount)).toEqual([
      99_999_999_999_999_999_999n,
      2n,
      7n,
      3n,
      1n,
      1_000n,
    ]);
    expect(page.transfers.filter(({ blockNumber }) => blockNumber === 20_000_001).length).toBe(3);
    expect(await rest.transactionCount(alice, within(5_000))).toMatchObject({ count: 17 });
    expect((await comet.balance(alice, within(5_000))).completeness).toBe('NONE');
    await Promise.all([rest.close(), comet.close()]);
    await world.dispose();
  });

  it('exclude fees that the fee market collects, forwards and tips', async () => {
    const world = await makeWorld('lcd', {
      contents: [
        [
          {
            moves: [
              [alice, FEE_MARKET, '900uatom'],
              [alice, bob, '7uatom'],
              [FEE_MARKET, FEES, '800uatom'],
              [FEE_MARKET, bob, '100uatom'],
            ],
          },
        ],
      ],
    });
    const rest = openFor(family, 'ATOM', { rpc: [world.rpc] });
    const { block } = await rest.block(20_000_000, within(5_000));
    expect(block?.transfers).toMatchObject([{ from: alice, to: bob, amount: 7n, position: 'event:2' }]);
    await rest.close();
    await world.dispose();
  });

  it('are the same from a node that writes events in base64', async () => {
    const [plain, old] = await Promise.all([makeWorld('lcd'), makeWorld('lcd', { inBase64: true })]);
    const adapters = [plain, old].map(({ rpc }) => openFor(family, 'ATOM', { rpc: [rpc] }));
    const [block, same] = await Promise.all(adapters.map((each) => each.block(20_000_001, within(5_000))));
    expect(block?.block?.transfers.length).toBe(3);
    expect(same?.block).toEqual(block?.block);
    await Promise.all([...adapters.map((each) => each.close()), plain.dispose(), old.dispose()]);
  });

  it('are complete for an address only from an archive node', async () => {
    for (const keepsAll of [true, false]) {
      const world = await makeWorld('lcd', { keepsAll });
      const adapter = openFor(family, 'ATOM', { rpc: [world.rpc] });
      const query = { cursor: null, limit: 50, from: null, to: null };
      const page = await adapter.history(alice, query, within(5_000));
      expect(page).toMatchObject(
        keepsAll
          ? { completeness: 'COMPLETE', note: null }
          : { completeness: 'PARTIAL', note: expect.stringContaining('does not have all') },
      );
      const recent = { ...query, from: 20_000_001 };
      expect((await adapter.history(alice, recent, within(5_000))).completeness).toBe('COMPLETE');
      await Promise.all([adapter.close(), world.dispose()]);
    }
  });

  it('include each of thousands of coins that are sent at once', async () => {
    const coins = Array.from({ length: 3_000 }, (_, n) => `1ibc/${String(n).padStart(64, '0')}`).join(',');
    const world = await makeWorld('lcd', { contents: [[{ moves: [[bob, alice, coins]] }]] });
    const adapter = openFor(family, 'ATOM', { rpc: [world.rpc] });
    expect((await adapter.block(20_000_000, within(5_000))).block?.transfers.length).toBe(3_000);
    await Promise.all([adapter.close(), world.dispose()]);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openAdapter } from '../../../../src/chains/families/cardano/adapter.ts';
import { flowTransfers } from '../../../../src/chains/families/cardano/flows.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { accountOf, answer, hex32, type Loose, makeChain, notFound, startStandIn } from '../stand-in.ts';

const family = { openAdapter, layouts: { rpc: 'koios', history: 'koios' } };
const [alice, bob, carol, unused] = [1, 2, 3, 9].map((n) => accountOf('ADA', n)) as [
  string,
  string,
  string,
  string,
];
const POLICY = '29d222ce763455e3d7a09a665ce554f00ac89d2e99a1a83d267170c6';
const MIN = `${POLICY}4d494e`;

type Side = readonly (readonly [address: string, lovelace: number, tokens?: number])[];
interface Tx {
  readonly inputs: Side;
  readonly outputs: Side;
  readonly failed?: boolean;
}
const contents: readonly (readonly Tx[])[] = [
  [
    {
      inputs: [[bob, 100]],
      outputs: [
        [alice, 60],
        [bob, 38],
      ],
    },
  ],
  [
    {
      inputs: [
        [bob, 10],
        [carol, 30],
      ],
      outputs: [[alice, 39]],
    },
    {
      inputs: [[alice, 50, 7]],
      outputs: [
        [bob, 20, 5],
        [alice, 28, 2],
      ],
    },
  ],
  [],
  // Minted: the tokens have no sender.
  [{ inputs: [[alice, 40]], outputs: [[alice, 38, 9]] }],
  // A script failed: bob loses his collateral, and alice gets nothing.
  [{ inputs: [[bob, 5]], outputs: [[alice, 5]], failed: true }],
  [{ inputs: [[alice, 9]], outputs: [[carol, 8]] }],
];

async function makeWorld(layout: 'koios' | 'blockfrost') {
  const chain = makeChain<Tx>({
    first: 11_000_000,
    hash: (h, b) => hex32(`ada ${h} ${b}`),
    contents,
    secondsApart: 20,
  });
  const idOf = (block: { hash: string }, index: number): string => hex32(`${block.hash} ${index}`);
  const all = () =>
    chain.blocks
      .toReversed()
      .flatMap((block) => block.items.map((item, index) => ({ block, item, id: idOf(block, index) })));
  const listed = (address: string, min: number, max: number) =>
    all().filter(
      ({ block, item }) =>
        block.height >= min &&
        block.height <= max &&
        [...item.inputs, ...item.outputs].some(([party]) => party === address),
    );
  const koiosTx = ({ item, id }: ReturnType<typeof all>[number]) => {
    const side = (rows: Side) =>
      rows.map(([bech32, value, tokens]) => ({
        payment_addr: { bech32, cred: 'ab' },
        value: String(value),
        asset_list:
          tokens === undefined
            ? []
            : [{ policy_id: POLICY, asset_name: '4d494e', quantity: String(tokens), decimals: 6 }],
      }));
    return {
      tx_hash: id,
      inputs: side(item.inputs),
      outputs: side(item.outputs),
      collateral_inputs: item.failed ? side([[bob, 3]]) : [],
      collateral_output: null,
      plutus_contracts: item.failed ? [{ valid_contract: false }] : [],
    };
  };
  const frostTx = ({ item, id }: ReturnType<typeof all>[number]) => {
    const side = (rows: Side, more: object) =>
      rows.map(([address, value, tokens]) => ({
        address,
        amount: [
          { unit: 'lovelace', quantity: String(value) },
          ...(tokens === undefined ? [] : [{ unit: MIN, quantity: String(tokens) }]),
        ],
        ...more,
      }));
    const plain = { collateral: false, reference: false };
    if (item.failed)
      return {
        hash: id,
        inputs: [...side(item.inputs, plain), ...side([[bob, 3]], { collateral: true, reference: false })],
        outputs: side([[bob, 1]], { collateral: true }),
      };
    return {
      hash: id,
      inputs: [...side(item.inputs, plain), ...side([[carol, 999]], { collateral: false, reference: true })],
      outputs: side(item.outputs, plain),
    };
  };
  const koios = (path: string, query: URLSearchParams, body: Loose) => {
    if (path === '/genesis') return answer([{ networkmagic: '764824073' }]);
    if (path === '/blocks') {
      const wanted = query.get('block_height');
      const block = wanted === null ? chain.head() : chain.at(Number(wanted.replace('eq.', '')));
      return answer(block === undefined ? [] : [{ hash: block.hash, block_height: block.height }]);
    }
    if (path === '/block_info') {
      const block = chain.blocks.find(({ hash }) => hash === body._block_hashes[0])!;
      return answer([
        {
          hash: block.hash,
          block_height: block.height,
          parent_hash: block.parentHash,
          block_time: block.timeS,
        },
      ]);
    }
    if (path === '/block_txs') {
      const own = all().filter(({ block }) => block.hash === body._block_hashes[0]);
      return answer(own.map(({ id }) => ({ tx_hash: id })));
    }
    if (path === '/tx_info')
      return answer(
        all()
          .filter(({ id }) => body._tx_hashes.includes(id))
          .map(koiosTx),
      );
    const [address] = body._addresses as [string];
    if (path === '/address_info')
      return answer(address === unused ? [] : [{ address, balance: '123456789012345678' }]);
    const bound = (name: string, none: number): number =>
      Number(new RegExp(`${name}\\.(\\d+)`).exec(query.get('and') ?? '')?.[1] ?? none);
    return answer(
      listed(address, bound('gte', 0), bound('lte', 1e12))
        .slice(0, Number(query.get('limit')))
        .map(({ block, id }) => ({ tx_hash: id, block_height: block.height, block_time: block.timeS })),
    );
  };
  const blockfrost = (path: string, query: URLSearchParams) => {
    const [, kind, name, sub] = path.split('/');
    const [page, count] = [Number(query.get('page')), Number(query.get('count'))];
    if (kind === 'genesis') return answer({ network_magic: 764_824_073 });
    if (kind === 'txs') return answer(frostTx(all().find(({ id }) => id === name)!));
    if (kind === 'blocks') {
      const block = name === 'latest' ? chain.head() : chain.at(Number(name));
      if (block === undefined) return notFound({ status_code: 404, error: 'Not Found' });
      if (sub === 'txs')
        return answer(
          all()
            .filter((each) => each.block === block)
            .map(({ id }) => id)
            .slice((page - 1) * count, page * count),
        );
      return answer({
        height: block.height,
        hash: block.hash,
        previous_block: block.parentHash,
        time: block.timeS,
      });
    }
    if (name === unused) return notFound({ status_code: 404, error: 'Not Found' });
    if (kind === 'assets') return answer({ asset: name, metadata: name === MIN ? { decimals: 6 } : null });
    if (sub === 'total') return answer({ address: name, tx_count: 12 });
    if (sub === undefined)
      return answer({
        address: name,
        amount: [
          { unit: 'lovelace', quantity: '123456789012345678' },
          { unit: MIN, quantity: '3' },
        ],
      });
    const rows = listed(name!, Number(query.get('from') ?? 0), Number(query.get('to') ?? 1e12));
    return answer(
      rows
        .slice((page - 1) * count, page * count)
        .map(({ block, id }) => ({ tx_hash: id, block_height: block.height, block_time: block.timeS })),
    );
  };
  const standIn = await startStandIn(({ path, query, body }) =>
    layout === 'koios' ? koios(path, query, body) : blockfrost(path, query),
  );
  return {
    standIn,
    chain: 'ADA' as const,
    rpc: `${layout}+${standIn.url}`,
    history: null,
    address: alice,
    unused,
    balance: () => Promise.resolve(123_456_789_012_345_678n),
    historyKind: 'TRANSFERS' as const,
    busyBlock: () => Promise.resolve({ height: 11_000_001, items: 4 }),
    mine: chain.mine,
    reorg: chain.reorg,
    ofAnotherChain: (body: string) => body.replace('764824073', '1'),
    dispose: standIn.close,
  };
}

adapterConformance('ADA over Koios', family, () => makeWorld('koios'));
adapterConformance('ADA over Blockfrost', family, () => makeWorld('blockfrost'));

describe('transfers on Cardano', () => {
  it('are the same from Koios and from Blockfrost', async () => {
    const worlds = await Promise.all([makeWorld('koios'), makeWorld('blockfrost')]);
    const query = { cursor: null, limit: 50, from: null, to: null };
    const [koios, frost] = await Promise.all(
      worlds.map(async (world) => {
        const adapter = openFor(family, 'ADA', { rpc: [world.rpc] });
        const page = await adapter.history(alice, query, within(5_000));
        await adapter.close();
        await world.dispose();
        return page.transfers;
      }),
    );
    expect(koios).toEqual(frost);
    expect(koios).toMatchObject([
      { from: alice, to: carol, amount: 8n, asset: 'ADA' },
      { from: null, to: alice, amount: 9n, asset: MIN, position: 'flow:1:mint:0', decimals: 6 },
      // Ten from bob and thirty from carol went in, thirty-nine came out: bob's share of 9.75 is rounded down.
      { from: bob, to: alice, amount: 9n },
      { from: carol, to: alice, amount: 30n },
      { from: alice, to: bob, amount: 20n },
      { from: alice, to: bob, amount: 5n, asset: MIN },
      { from: bob, to: alice, amount: 60n },
    ]);
  });

  it('are counted with Blockfrost, and reported as uncounted with Koios', async () => {
    const worlds = await Promise.all([makeWorld('koios'), makeWorld('blockfrost')]);
    const [koios, frost] = worlds.map(({ rpc }) => openFor(family, 'ADA', { rpc: [rpc] }));
    expect(await koios!.transactionCount(alice, within(5_000))).toMatchObject({
      count: null,
      completeness: 'NONE',
    });
    expect(await frost!.transactionCount(alice, within(5_000))).toMatchObject({ count: 12 });
    expect(await frost!.transactionCount(unused, within(5_000))).toMatchObject({ count: 0 });
    await Promise.all([koios!.close(), frost!.close(), ...worlds.map((world) => world.dispose())]);
  });

  it('are requested with the project key in the header of Blockfrost', async () => {
    const world = await makeWorld('blockfrost');
    const adapter = openFor(family, 'ADA', {
      rpc: [world.rpc.replace('http://', 'http://project:mainnetKey@')],
    });
    await adapter.head(within(5_000));
    expect(world.standIn.requests.at(-1)?.headers.project_id).toBe('mainnetKey');
    await adapter.close();
    await world.dispose();
  });

  it('have a sender if a withdrawal of rewards is larger than the payments beside it', () => {
    const shared = { txHash: hex32('tx'), blockNumber: 1, timestampMs: 1 };
    const lovelace = (address: string, amount: bigint) => ({ address, amounts: new Map([['', amount]]) });
    const flow = (outputs: readonly ReturnType<typeof lovelace>[]) =>
      flowTransfers({ inputs: [lovelace(alice, 100n)], outputs, decimals: new Map() }, shared);
    // Rewards of fifty, a fee of one.
    expect(flow([lovelace(bob, 20n), lovelace(alice, 129n)])).toMatchObject([
      { from: alice, to: bob, amount: 20n, position: 'flow:0:0:0' },
      { from: null, to: alice, amount: 49n, position: 'flow:0:mint:0' },
    ]);
    expect(flow([lovelace(alice, 149n)])).toMatchObject([{ from: null, to: alice, amount: 49n }]);
  });

  it('preserve every sum: receivers get their outputs, and no sender gives more than it lost, up to rounding', () => {
    const side = fc.array(
      fc.tuple(fc.integer({ min: 1, max: 30 }), fc.bigInt({ min: 1n, max: 10n ** 15n })),
      { minLength: 1, maxLength: 30 },
    );
    const shared = { txHash: hex32('tx'), blockNumber: 1, timestampMs: 1 };
    const outputs = (rows: readonly (readonly [number, bigint])[]) =>
      rows.map(([n, amount]) => ({ address: accountOf('ADA', n), amounts: new Map([['', amount]]) }));
    fc.assert(
      fc.property(side, side, (inputs, out) => {
        const net = new Map<string, bigint>();
        for (const { address, amounts } of outputs(inputs))
          net.set(address, (net.get(address) ?? 0n) - amounts.get('')!);
        for (const { address, amounts } of outputs(out))
          net.set(address, (net.get(address) ?? 0n) + amounts.get('')!);
        const transfers = flowTransfers(
          { inputs: outputs(inputs), outputs: outputs(out), decimals: new Map() },
          shared,
        );
        // If the outputs exceed the inputs, the surplus is credited to the senders, and through them to the receivers.
        const surplus = [...net.values()].reduce((sum, amount) => sum + amount, 0n) > 0n;
        const places = new Set(transfers.map(({ position }) => position));
        expect(places.size).toBe(transfers.length);
        for (const [address, amount] of net) {
          const got = transfers.filter(({ to }) => to === address).reduce((sum, row) => sum + row.amount, 0n);
          const gave = transfers
            .filter(({ from }) => from === address)
            .reduce((sum, row) => sum + row.amount, 0n);
          // Shares are rounded down; the last sender bears the remainder of each receiver.
          const rounding = BigInt(out.length * inputs.length);
          if (surplus) expect(got - gave >= amount - rounding && got - gave <= amount + rounding).toBe(true);
          else if (amount >= 0n) expect([got, gave]).toEqual([amount, 0n]);
          else expect(got === 0n && gave <= -amount + rounding).toBe(true);
        }
      }),
      { numRuns: 100, seed: 7, endOnFailure: true },
    );
  });
});

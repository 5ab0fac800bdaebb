import { describe, expect, it } from 'vitest';
import { openAdapter } from '../../../../src/chains/families/algorand/adapter.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { accountOf, answer, hex32, makeChain, notFound, startStandIn } from '../stand-in.ts';

const family = { openAdapter, layouts: { rpc: 'indexer', history: 'indexer' } };
const [alice, bob, carol, unused] = [1, 2, 3, 9].map((n) => accountOf('ALGO', n)) as [
  string,
  string,
  string,
  string,
];
const GENESIS = 'wGHE2Pwdvd7S12BL5FaOP20GEYesN73ktiC1qzkkit8=';
type Tx = Readonly<Record<string, unknown>>;
const pay = (sender: string, receiver: string, amount: number | string, more: object = {}): Tx => ({
  'tx-type': 'pay',
  sender,
  'payment-transaction': { receiver, amount, ...more },
});
const axfer = (sender: string, move: object): Tx => ({
  'tx-type': 'axfer',
  sender,
  'asset-transfer-transaction': move,
});

const contents: readonly (readonly Tx[])[] = [
  [pay(bob, alice, 1_000_000)],
  [
    axfer(bob, { 'asset-id': 31_566_704, receiver: alice, amount: 5 }),
    // An opt-in: nothing moves.
    axfer(alice, { 'asset-id': 31_566_704, receiver: alice, amount: 0 }),
    // A clawback: carol moves units from bob to alice.
    axfer(carol, { 'asset-id': 7, sender: bob, receiver: alice, amount: 9 }),
  ],
  [],
  [
    {
      'tx-type': 'appl',
      sender: alice,
      'inner-txns': [
        pay(bob, alice, 3),
        {
          'tx-type': 'appl',
          sender: bob,
          'inner-txns': [axfer(bob, { 'asset-id': 7, receiver: alice, amount: 4 })],
        },
      ],
    },
  ],
  [pay(alice, bob, 1, { 'close-remainder-to': carol, 'close-amount': 88 })],
  [],
];

async function makeWorld() {
  const chain = makeChain<Tx>({
    first: 40_000_000,
    hash: (h, b) => Buffer.from(hex32(`algo ${h} ${b}`), 'hex').toString('base64'),
    contents,
  });
  const id = (block: { hash: string }, index: number): string =>
    hex32(`${block.hash} ${index}`)
      .toUpperCase()
      .replace(/[0189]/g, 'Q')
      .padEnd(52, 'A')
      .slice(0, 52);
  const placed = (block: ReturnType<typeof chain.head>) =>
    block.items.map((item, index) => ({
      ...item,
      id: id(block, index),
      'confirmed-round': block.height,
      'round-time': block.timeS,
    }));
  const standIn = await startStandIn(({ path, query }) => {
    const [, first, kind, name, sub] = path.split('/');
    if (first === 'health') return answer({ round: chain.head().height });
    if (first === 'versions') return answer({ genesis_hash_b64: GENESIS });
    if (kind === 'blocks') {
      if (name === '1') return answer({ round: 1, 'genesis-hash': GENESIS });
      const block = chain.at(Number(name));
      if (block === undefined) return notFound({ message: 'error while looking up block' });
      return answer({
        round: block.height,
        timestamp: block.timeS,
        'genesis-hash': GENESIS,
        'previous-block-hash': block.parentHash,
        ...(query.has('header-only') ? {} : { transactions: placed(block) }),
      });
    }
    if (kind === 'assets') {
      if (name !== '31566704') return notFound({ message: 'no assets found for asset-id' });
      const asset = { index: 31_566_704, params: { decimals: 6, 'unit-name': 'USDC' } };
      return answer({ asset, 'current-round': chain.head().height });
    }
    if (sub === undefined) {
      if (name === unused) return notFound({ message: 'no accounts found for address' });
      const account = { amount: 5_000_000_000_000_000_001n, round: chain.head().height, address: name };
      return answer({ account, ...account });
    }
    const [min, max, limit, next] = ['min-round', 'max-round', 'limit', 'next'].map((key) =>
      Number(query.get(key) ?? -1),
    ) as [number, number, number, number];
    const all =
      name === unused ? [] : chain.blocks.toReversed().flatMap((block) => placed(block).toReversed());
    const kept = all.filter(
      (tx) => (min < 0 || tx['confirmed-round'] >= min) && (max < 0 || tx['confirmed-round'] <= max),
    );
    const start = Math.max(0, next);
    const page = kept.slice(start, start + Math.min(limit, 2));
    return answer({
      transactions: page,
      ...(page.length > 0 ? { 'next-token': String(start + page.length) } : {}),
    });
  });
  return {
    standIn,
    chain: 'ALGO' as const,
    rpc: standIn.url,
    history: null,
    address: alice,
    unused,
    balance: () => Promise.resolve(5_000_000_000_000_000_001n),
    historyKind: 'TRANSFERS' as const,
    busyBlock: () => Promise.resolve({ height: 40_000_001, items: 2 }),
    mine: chain.mine,
    // Rounds are final.
    reorg: null,
    ofAnotherChain: (body: string) =>
      body.replaceAll(GENESIS, 'SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI='),
    dispose: standIn.close,
  };
}

adapterConformance('ALGO over the indexer', family, makeWorld);

describe('transfers on Algorand', () => {
  it('are payments, assets, clawbacks, inner transactions, and closing remainders', async () => {
    const world = await makeWorld();
    const adapter = openFor(family, 'ALGO', { rpc: [`algod+${world.rpc}`], history: [world.rpc] });
    expect((await adapter.balance(alice, within(5_000))).source).toMatch(/^algod /);
    const inner = await adapter.block(40_000_003, within(5_000));
    expect(inner.block?.transfers).toMatchObject([
      { position: 'inner:0:value', from: bob, to: alice, amount: 3n, asset: 'ALGO' },
      { position: 'inner:1_0:value', from: bob, to: alice, amount: 4n, asset: '7' },
    ]);
    const closing = await adapter.block(40_000_004, within(5_000));
    expect(closing.block?.transfers).toMatchObject([
      { position: 'value', from: alice, to: bob, amount: 1n },
      { position: 'close', from: alice, to: carol, amount: 88n },
    ]);
    const assets = await adapter.block(40_000_001, within(5_000));
    expect(assets.block?.transfers).toMatchObject([
      { from: bob, to: alice, amount: 5n, asset: '31566704', decimals: 6 },
      { from: bob, to: alice, amount: 9n, asset: '7', decimals: null },
    ]);
    await adapter.close();
    await world.dispose();
  });
});

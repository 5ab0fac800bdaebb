import { describe, expect, it } from 'vitest';
import { openAdapter } from '../../../../src/chains/families/ton/adapter.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { accountOf, answer, hex32, type Loose, makeChain, startStandIn } from '../stand-in.ts';

const family = { openAdapter, layouts: { rpc: 'toncenter', history: 'toncenter' } };
const [alice, bob, master, unused] = [1, 2, 3, 9].map((n) => accountOf('TON', n)) as [
  string,
  string,
  string,
  string,
];
const b64 = (text: string): string => Buffer.from(hex32(text), 'hex').toString('base64');
const raw = (address: string): string => address.toUpperCase();

/** A message that arrives in this block, which a transaction of the sender in the same block sent; or a transfer of jettons. */
interface Move {
  readonly from: string | null;
  readonly to: string;
  readonly amount: string;
  readonly jetton?: boolean;
  /** The jetton has no master that knows the wallet. */
  readonly unknown?: boolean;
  /** The receiver returns the message: the next block brings the value back to the sender. */
  readonly refused?: boolean;
  /** Returns the value of the first message of the block this many blocks below. */
  readonly back?: number;
}
const contents: readonly (readonly Move[])[] = [
  [{ from: bob, to: alice, amount: '1000000000' }],
  [
    { from: alice, to: bob, amount: '5' },
    { from: bob, to: alice, amount: '250', jetton: true },
    // An external message, which carries no value.
    { from: null, to: alice, amount: '0' },
  ],
  [],
  [{ from: bob, to: alice, amount: '7', jetton: true }],
  [{ from: alice, to: alice, amount: '12345678901234567890' }],
];

async function makeWorld(blocks = contents) {
  const chain = makeChain<Move>({
    first: 45_000_000,
    hash: (h, b) => b64(`ton ${h} ${b}`),
    contents: blocks,
    secondsApart: 2,
  });
  interface Tx {
    readonly account: string;
    readonly [field: string]: Loose;
  }
  const transactions = (): Tx[] =>
    chain.blocks.flatMap((block) =>
      block.items.flatMap((move, index) => {
        const name = `${block.hash} ${index}`;
        const message = {
          hash: b64(`${name} msg`),
          source: move.from === null ? null : raw(move.from),
          destination: raw(move.to),
          value: move.from === null ? null : move.jetton ? '0' : move.amount,
          bounced: move.back !== undefined,
        };
        const trace =
          move.back === undefined ? `${name} trace` : `${chain.at(block.height - move.back)!.hash} 0 trace`;
        const base = { mc_block_seqno: block.height, now: block.timeS, trace_id: b64(trace) };
        const bounce = move.refused ? { aborted: true, bounce: { type: 'ok' } } : { aborted: false };
        const sent =
          move.from === null
            ? []
            : [
                {
                  ...base,
                  hash: b64(`${name} out`),
                  account: raw(move.from),
                  in_msg: null,
                  out_msgs: [message],
                },
              ];
        return [
          ...sent,
          {
            ...base,
            hash: b64(`${name} in`),
            account: raw(move.to),
            in_msg: message,
            out_msgs: [],
            description: bounce,
          },
        ];
      }),
    );
  const jettons = () =>
    chain.blocks.flatMap((block) =>
      block.items.flatMap((move, index) => {
        const name = `${block.hash} ${index}`;
        if (!move.jetton) return [];
        return [
          {
            source: raw(move.from!),
            destination: raw(move.to),
            amount: move.amount,
            jetton_master: move.unknown ? null : raw(master),
            transaction_hash: b64(`${name} in`),
            transaction_now: block.timeS,
            trace_id: b64(`${name} trace`),
            transaction_aborted: false,
          },
        ];
      }),
    );
  const header = (block: ReturnType<typeof chain.head>) => ({
    workchain: -1,
    shard: '8000000000000000',
    seqno: block.height,
    root_hash: block.hash,
    gen_utime: String(block.timeS),
    global_id: -239,
  });
  const standIn = await startStandIn(({ path, query }) => {
    const [limit, offset] = [Number(query.get('limit')), Number(query.get('offset') ?? 0)];
    const at = (name: string): number | null => (query.has(name) ? Number(query.get(name)) : null);
    const paged = <T extends Record<string, Loose>>(rows: readonly T[], time: keyof T): readonly T[] => {
      const kept = rows.filter(
        (row) => (at('start_utime') ?? 0) <= row[time] && row[time] <= (at('end_utime') ?? Infinity),
      );
      return (query.get('sort') === 'desc' ? kept.toReversed() : kept).slice(offset, offset + limit);
    };
    const account = (query.get('account') ?? query.get('owner_address') ?? '').toUpperCase();
    if (path === '/api/v3/masterchainInfo')
      return answer({ last: header(chain.head()), first: header(chain.blocks[0]!) });
    if (path === '/api/v3/blocks')
      return answer({ blocks: [chain.at(at('seqno')!)].flatMap((block) => (block ? [header(block)] : [])) });
    if (path === '/api/v3/accountStates')
      return answer({
        accounts:
          query.get('address') === unused
            ? []
            : [{ address: raw(alice), balance: '98765432109876543', status: 'active' }],
      });
    if (path === '/api/v3/transactionsByMasterchainBlock')
      return answer({
        transactions: paged(
          transactions().filter((tx) => tx.mc_block_seqno === at('seqno')),
          'now',
        ),
      });
    if (path === '/api/v3/transactions') {
      const hash = query.get('hash');
      const own = transactions().filter((tx) =>
        hash === null ? tx.account === account : Buffer.from(tx.hash, 'base64').toString('hex') === hash,
      );
      return answer({ transactions: paged(own, 'now') });
    }
    if (path === '/api/v3/jetton/masters')
      return answer({
        jetton_masters:
          query.get('address') === master
            ? [{ address: raw(master), jetton_content: { symbol: 'USD₮', decimals: '6' } }]
            : [],
      });
    const rows = jettons().filter(
      (row) => account === '' || row.source === account || row.destination === account,
    );
    return answer({ jetton_transfers: paged(rows, 'transaction_now') });
  });
  return {
    standIn,
    chain: 'TON' as const,
    rpc: `${standIn.url}/api/v3`,
    history: null,
    address: alice,
    unused,
    balance: () => Promise.resolve(98_765_432_109_876_543n),
    historyKind: 'TRANSFERS' as const,
    busyBlock: () => Promise.resolve({ height: 45_000_001, items: 2 }),
    mine: chain.mine,
    // The masterchain is final.
    reorg: null,
    ofAnotherChain: (body: string) => body.replaceAll('"global_id":-239', '"global_id":-3'),
    dispose: standIn.close,
  };
}

adapterConformance('TON over toncenter', family, makeWorld);

describe('transfers on TON', () => {
  it('are the same by sender, by receiver and by block', async () => {
    const world = await makeWorld();
    const adapter = openFor(family, 'TON', { history: [world.rpc] });
    const query = { cursor: null, limit: 50, from: null, to: null };
    const [own, others] = await Promise.all([
      adapter.history(alice, query, within(5_000)),
      adapter.history(bob, query, within(5_000)),
    ]);
    const name = (row: { txHash: string; position: string }) => `${row.txHash} ${row.position}`;
    const shared = own.transfers.filter(({ from, to }) => from !== to);
    expect(new Set(shared.map(name))).toEqual(new Set(others.transfers.map(name)));
    const { block } = await adapter.block(45_000_001, within(5_000));
    expect(block?.transfers).toMatchObject([
      { from: alice, to: bob, amount: 5n, asset: 'TON', decimals: 9 },
      { from: bob, to: alice, amount: 250n, asset: master, decimals: 6 },
    ]);
    for (const row of block?.transfers ?? []) expect(own.transfers.map(name)).toContain(name(row));
    await adapter.close();
    await world.dispose();
  });

  it('exclude bounced messages for the sender, the receiver and the blocks, also across pages', async () => {
    const world = await makeWorld([
      [
        { from: alice, to: bob, amount: '1000', refused: true },
        { from: alice, to: bob, amount: '5000' },
        { from: bob, to: alice, amount: '1', jetton: true, unknown: true },
      ],
      [{ from: bob, to: alice, amount: '6' }],
      [{ from: bob, to: alice, amount: '990', back: 2 }],
      // So many messages that the message and its return are on two pages of the source.
      ...Array.from({ length: 18 }, () => [{ from: bob, to: alice, amount: '7' }]),
    ]);
    const adapter = openFor(family, 'TON', { history: [world.rpc] });
    const amountsOf = async (address: string, limit: number): Promise<bigint[]> => {
      const amounts: bigint[] = [];
      for (let cursor: string | null = null; ; ) {
        const query = { cursor, limit, from: null, to: null };
        const page = await adapter.history(address, query, within(5_000));
        amounts.push(...page.transfers.map(({ amount }) => amount));
        if (page.nextCursor === null) return amounts;
        cursor = page.nextCursor;
      }
    };
    const moved = [...Array(18).fill(7n), 6n, 5_000n];
    for (const limit of [50, 1]) {
      expect(await amountsOf(alice, limit)).toEqual(moved);
      expect(await amountsOf(bob, limit)).toEqual(moved);
    }
    const { block } = await adapter.block(45_000_000, within(5_000));
    expect(block?.transfers.map(({ amount }) => amount)).toEqual([5_000n]);
    expect((await adapter.block(45_000_002, within(5_000))).block?.transfers).toEqual([]);
    await adapter.close();
    await world.dispose();
  });
});

import { describe, expect, it } from 'vitest';
import { openAdapter } from '../../../../src/chains/families/monero/adapter.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { accountOf, hex32, jsonRpc, makeChain, RpcFault, startStandIn } from '../stand-in.ts';
import { hasMonerod, startMonerod } from './monerod.ts';

const family = { openAdapter, layouts: { rpc: 'monerod', history: 'monerod' } };
const GENESIS = '418015bb9ae982a1975da7d79277c2705727a56894ba0fb246adaabb1f4632e3';
/** The donation address of the Monero project, from its own documentation. */
const PAID =
  '44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A';
const hidden = {
  address: accountOf('XMR', 1),
  unused: accountOf('XMR', 2),
  chain: 'XMR' as const,
  history: null,
  balance: () => Promise.resolve(null),
  historyKind: 'OPAQUE' as const,
};

adapterConformance('XMR over a stand-in of monerod', family, async () => {
  const chain = makeChain<never>({
    first: 0,
    hash: (h, b) => (h === 0 ? GENESIS : hex32(`xmr ${h} ${b}`)),
    contents: [[], [], [], [], []],
  });
  const header = (block: ReturnType<typeof chain.head>) => ({
    block_header: {
      height: block.height,
      hash: block.hash,
      prev_hash: block.parentHash,
      timestamp: block.timeS,
    },
  });
  const standIn = await startStandIn(
    jsonRpc({
      get_last_block_header: () => header(chain.head()),
      get_block_header_by_height: ({ height }: { height: number }) => {
        const block = chain.at(height);
        if (block === undefined)
          throw new RpcFault(-2, 'Requested block height greater than current top block height');
        return header(block);
      },
    }),
  );
  return {
    ...hidden,
    rpc: standIn.url,
    busyBlock: () => Promise.resolve({ height: 3, items: 0 }),
    mine: chain.mine,
    reorg: chain.reorg,
    ofAnotherChain: null,
    dispose: standIn.close,
  };
});

describe.skipIf(!hasMonerod)('with a real monerod', () => {
  adapterConformance('XMR over monerod', family, async () => {
    const node = await startMonerod();
    await node.mine(PAID, 6);
    return {
      ...hidden,
      rpc: node.url,
      busyBlock: () => Promise.resolve({ height: 4, items: 0 }),
      mine: () => node.mine(PAID, 1),
      reorg: async (depth: number) => {
        await node.pop(depth);
        await node.mine(PAID, depth);
      },
      ofAnotherChain: null,
      dispose: node.stop,
    };
  });
});

describe('a node of another Monero network', () => {
  it('is rejected', async () => {
    const standIn = await startStandIn(
      jsonRpc({
        get_block_header_by_height: () => ({
          block_header: { height: 0, hash: hex32('stagenet'), prev_hash: '0'.repeat(64), timestamp: 0 },
        }),
      }),
    );
    const adapter = openFor(family, 'XMR', { rpc: [standIn.url] });
    await expect(adapter.head(within(5_000))).rejects.toMatchObject({ code: 'CHAIN_MISMATCH' });
    expect(adapter.health()).toMatchObject({ reachable: false, endpoints: [{ state: 'REFUSED' }] });
    await adapter.close();
    await standIn.close();
  });
});

describe('hidden Monero data', () => {
  it('is reported as opaque, with and without a node, and never as zero', async () => {
    const adapter = openFor(family, 'XMR', {});
    const query = { cursor: null, limit: 5, from: null, to: null };
    const opaque = { completeness: 'OPAQUE', note: expect.stringContaining('hides') };
    expect(await adapter.balance(hidden.address, within(100))).toMatchObject({ ...opaque, balance: null });
    expect(await adapter.transactionCount(hidden.address, within(100))).toMatchObject({
      ...opaque,
      count: null,
    });
    expect(await adapter.history(hidden.address, query, within(100))).toMatchObject({
      ...opaque,
      transfers: [],
    });
    await adapter.close();
  });
});

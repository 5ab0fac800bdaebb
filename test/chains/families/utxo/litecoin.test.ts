/** The UTXO adapter against a real Litecoin node, and against explorers over its blocks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatAddressKey } from '../../../../src/chains/address/parse.ts';
import { UTXO_KINDS } from '../../../../src/chains/address/utxo.ts';
import { ScriptReader } from '../../../../src/chains/bitcoin-script.ts';
import type { ChainAdapter } from '../../../../src/chains/families/port.ts';
import { openAdapter } from '../../../../src/chains/families/utxo/adapter.ts';
import { chainOf } from '../../../../src/chains/registry.ts';
import type { UtxoTransaction } from '../../../../src/chains/utxo-transaction.ts';
import { type AdapterWorld, adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { startFaultProxy } from '../../../setup/fault-proxy.ts';
import { hasLitecoind, type Litecoind, startLitecoind } from '../../../setup/litecoind.ts';
import { type Explorer, startBlockbook, startEsplora } from './explorers.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'esplora' } };
const GENESIS = '530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9';
const STRANGER = 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9';
const COIN = 100_000_000n;

const scripts = new ScriptReader('LTC');
/** Returns the main network's form of an address of the wallet. */
async function canonicalOf(node: Litecoind, address: string): Promise<string> {
  const { scriptPubKey } = await node.rpc<{ scriptPubKey: string }>('getaddressinfo', address);
  return scripts.read(Buffer.from(scriptPubKey, 'hex')).address!;
}

/** One node for the worlds, which have an address each: a node takes two seconds of processor time to start. */
let shared: Promise<Litecoind> | null = null;
async function startShared(): Promise<Litecoind> {
  const node = await startLitecoind();
  await node.mine(101);
  return node;
}
afterAll(async () => (await shared)?.stop());

/** A node with a wallet that paid one of its addresses in three blocks: once, then twice, then three times. */
async function startWorld(): Promise<{
  node: Litecoind;
  address: string;
  balance: () => Promise<bigint>;
  busy: number;
}> {
  shared ??= startShared();
  const node = await shared;
  const payee = await node.rpc<string>('getnewaddress', '', 'bech32');
  for (let block = 0; block < 3; block++) {
    for (let payment = 0; payment <= block; payment++) await node.rpc('sendtoaddress', payee, 1.1);
    await node.mine();
  }
  const busy = await node.rpc<number>('getblockcount');
  await node.mine(2);
  /** The balance by the wallet, which may have spent some of it on its own payments and fees. */
  const balance = async (): Promise<bigint> => {
    const held = await node.rpc<{ amount: number }[]>('listunspent', 1, 9_999_999, [payee]);
    return held.reduce((sum, { amount }) => sum + BigInt(Math.round(amount * 1e8)), 0n);
  };
  return { node, address: await canonicalOf(node, payee), balance, busy };
}

const worldOf = async (
  serve: (
    node: Litecoind,
  ) => Promise<{ explorer: Explorer | null; rpc: string | null; history: string | null }>,
  ofAnotherChain: AdapterWorld['ofAnotherChain'],
): Promise<AdapterWorld> => {
  const { node, address, balance, busy } = await startWorld();
  const { explorer, rpc, history } = await serve(node);
  return {
    chain: 'LTC',
    rpc,
    history,
    address,
    unused: STRANGER,
    balance,
    historyKind: 'TRANSFERS',
    busyBlock: async () => ({ height: busy, items: 4 }),
    mine: () => node.mine(),
    reorg: (depth) => node.reorg(depth),
    ofAnotherChain,
    async dispose() {
      await explorer?.close();
    },
  };
};

const otherGenesis = (body: string): string => body.replaceAll(GENESIS, 'f'.repeat(64));

if (hasLitecoind) {
  adapterConformance('the UTXO adapter before litecoind, history from Esplora', family, () =>
    worldOf(async (node) => {
      const explorer = await startEsplora(node);
      return { explorer, rpc: node.url, history: explorer.url };
    }, null),
  );
  adapterConformance('the UTXO adapter before litecoind by REST, history from Blockbook', family, () =>
    worldOf(async (node) => {
      const explorer = await startBlockbook(node, 'LTC');
      return { explorer, rpc: `rest+${new URL(node.url).origin}`, history: `blockbook+${explorer.url}` };
    }, null),
  );
  adapterConformance('the UTXO adapter before Esplora alone', family, () =>
    worldOf(async (node) => {
      const explorer = await startEsplora(node);
      return { explorer, rpc: `esplora+${explorer.url}`, history: null };
    }, otherGenesis),
  );
  adapterConformance('the UTXO adapter before Blockbook alone', family, () =>
    worldOf(async (node) => {
      const explorer = await startBlockbook(node, 'LTC');
      return { explorer, rpc: `blockbook+${explorer.url}`, history: null };
    }, otherGenesis),
  );
}

describe.skipIf(!hasLitecoind)('transactions of a real Litecoin node', () => {
  let node: Litecoind;
  let adapter: ChainAdapter;
  beforeAll(async () => {
    node = await startLitecoind();
    adapter = openFor(family, 'LTC', { rpc: [node.url] });
    await node.mine(101);
  });
  afterAll(async () => {
    await adapter?.close();
    await node?.stop();
  });

  const newest = async (own: ChainAdapter = adapter) => {
    const height = await node.rpc<number>('getblockcount');
    const answer = await own.block(height, within(10_000));
    return { ...answer, transactions: answer.block?.transactions ?? [] };
  };
  const paid = (rows: readonly UtxoTransaction[], address: string) =>
    rows.flatMap(({ outputs }) => outputs).find((output) => output.address === address);

  it('reads P2PKH, P2SH, P2WPKH and taproot outputs with the addresses of the main network', async () => {
    const kinds = { legacy: 'p2pkh', 'p2sh-segwit': 'p2sh', bech32: 'p2wpkh' };
    const payees: Record<string, string> = {};
    for (const [type, kind] of Object.entries(kinds)) {
      const address = await node.rpc<string>('getnewaddress', '', type);
      payees[kind] = await canonicalOf(node, address);
      await node.rpc('sendtoaddress', address, 0.29);
    }
    await node.mine();
    const { transactions } = await newest();
    for (const [kind, address] of Object.entries(payees))
      expect(paid(transactions, address)).toMatchObject({ script: kind, value: 29_000_000n });
    expect(payees.p2pkh).toMatch(/^L/);
    expect(payees.p2sh).toMatch(/^M/);
    expect(payees.p2wpkh).toMatch(/^ltc1q/);
  });

  it('resolves inputs from the node exactly: the inputs equal the outputs and the fee', async () => {
    await node.rpc('sendtoaddress', await node.rpc('getnewaddress'), 0.12345678);
    await node.mine();
    const { transactions, completeness } = await newest();
    expect(completeness).toBe('COMPLETE');
    const [coinbase, payment] = transactions;
    expect(coinbase).toMatchObject({ isCoinbase: true, inputs: [], indexInBlock: 0 });
    const sum = (rows: readonly { value: bigint | null }[]) =>
      rows.reduce((all, row) => all + row.value!, 0n);
    const fee = sum(payment!.inputs) - sum(payment!.outputs);
    const entry = await node.rpc<{ fee: number }>('gettransaction', payment!.txid);
    expect(fee).toBe(BigInt(Math.round(-entry.fee * 1e8)));
    expect(payment!.inputs.every(({ address }) => address?.startsWith('ltc1'))).toBe(true);
  });

  it('rejects a node of another chain by its first block', async () => {
    const wrong = openFor(family, 'DOGE', { rpc: [node.url] });
    await expect(wrong.head(within(5_000))).rejects.toMatchObject({ code: 'CHAIN_MISMATCH' });
    await wrong.close();
    const proxy = await startFaultProxy(new URL(node.url).origin);
    proxy.rewrite = otherGenesis;
    for (const layout of ['', 'rest+']) {
      const own = openFor(family, 'LTC', {
        rpc: [layout + node.url.replace(/127.*$/, new URL(proxy.url).host)],
      });
      await expect(own.head(within(5_000))).rejects.toMatchObject({ code: 'CHAIN_MISMATCH' });
      await own.close();
    }
    await proxy.close();
  });

  it('reports missing data if the node has no transaction index, and continues', async () => {
    const bare = await startLitecoind({ args: ['-txindex=0'] });
    const own = openFor(family, 'LTC', { rpc: [bare.url] });
    try {
      await bare.mine(101);
      await bare.rpc('sendtoaddress', await bare.rpc('getnewaddress'), 1);
      await bare.mine();
      const height = await bare.rpc<number>('getblockcount');
      const answer = await own.block(height, within(10_000));
      expect(answer).toMatchObject({ completeness: 'PARTIAL', note: expect.stringContaining('1 inputs') });
      expect(answer.block?.transactions?.[1]?.inputs).toMatchObject([{ address: null, value: null }]);
    } finally {
      await own.close();
      await bare.stop();
    }
  });

  it('lists each transaction separately if a node serves blocks in no other form', async () => {
    const proxy = await startFaultProxy(new URL(node.url).origin);
    const old = 'JSON value is not a boolean as expected';
    proxy.rewrite = (body) =>
      /"tx":\[\{/.test(body)
        ? body.replace(/"result":.*,"error":null/s, `"result":null,"error":{"code":-1,"message":"${old}"}`)
        : body;
    const own = openFor(family, 'LTC', { rpc: [node.url.replace(/127.*$/, new URL(proxy.url).host)] });
    try {
      expect((await newest(own)).transactions).toEqual((await newest()).transactions);
    } finally {
      await own.close();
      await proxy.close();
    }
  });

  it('accepts amounts beyond the precision of a double', async () => {
    const proxy = await startFaultProxy(new URL(node.url).origin);
    proxy.rewrite = (body) => body.replace(/"value":50\.\d+/, '"value":83999999.99999999');
    const own = openFor(family, 'LTC', { rpc: [node.url.replace(/127.*$/, new URL(proxy.url).host)] });
    try {
      const { transactions } = await newest(own);
      expect(transactions[0]?.outputs[0]?.value).toBe(83_999_999n * COIN + 99_999_999n);
    } finally {
      await own.close();
      await proxy.close();
    }
  });

  it('reports shielded addresses as hidden, without a request', async () => {
    const none = openFor(family, 'ZEC', {});
    const key = Uint8Array.of(chainOf('ZEC').keyByte, UTXO_KINDS.sapling, ...new Uint8Array(43).fill(7));
    const address = formatAddressKey(key, 'ZEC');
    expect(await none.balance(address, within(1_000))).toMatchObject({
      completeness: 'OPAQUE',
      balance: null,
    });
    expect(await none.transactionCount(address, within(1_000))).toMatchObject({ count: null });
    const query = { cursor: null, limit: 10, from: null, to: null };
    expect(await none.history(address, query, within(1_000))).toMatchObject({ completeness: 'OPAQUE' });
    await none.close();
  });

  it('resumes a history after a reorg removed its cursor', async () => {
    const explorer = await startEsplora(node);
    const own = openFor(family, 'LTC', { history: [explorer.url] });
    try {
      const address = await node.rpc<string>('getnewaddress');
      for (let payment = 0; payment < 4; payment++) {
        await node.rpc('sendtoaddress', address, 0.5);
        await node.mine();
      }
      const canonical = await canonicalOf(node, address);
      const query = { limit: 2, from: null, to: null };
      const first = await own.history(canonical, { ...query, cursor: null }, within(10_000));
      await node.reorg(2);
      const rest = await own.history(canonical, { ...query, cursor: first.nextCursor }, within(10_000));
      expect(rest.transactions).toHaveLength(2);
      expect(rest.nextCursor).toBeNull();
    } finally {
      await own.close();
      await explorer.close();
    }
  });
});

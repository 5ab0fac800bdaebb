/** The UTXO adapter against real Bitcoin and Bitcoin Cash nodes, which return blocks as bytes. */
import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../../../src/chains/address/parse.ts';
import { ScriptReader } from '../../../../src/chains/bitcoin-script.ts';
import { openAdapter } from '../../../../src/chains/families/utxo/adapter.ts';
import { outputScriptOf } from '../../../../src/chains/families/utxo/wire.ts';
import type { ChainId } from '../../../../src/chains/registry.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { type Bcoin, hasBcoin, ownScript, startBcoin } from '../../../setup/bcoin.ts';
import { startFaultProxy } from '../../../setup/fault-proxy.ts';
import { startBlockbook, startEsplora } from './explorers.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'esplora' } };
const scriptOf = (chain: ChainId, address: string): Uint8Array =>
  outputScriptOf(parseAddress(chain, address).key)!;

interface Nodes {
  readonly name: 'bcoin' | 'bcash';
  readonly chain: 'BTC' | 'BCH';
  readonly unused: string;
  /** Payees in each form of address that the chain has. */
  readonly payees: readonly { readonly address: string; readonly script: string }[];
}

const NODES: readonly Nodes[] = [
  {
    name: 'bcoin',
    chain: 'BTC',
    unused: 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
    payees: [
      { address: '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2', script: 'p2pkh' },
      { address: '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy', script: 'p2sh' },
      { address: 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq', script: 'p2wpkh' },
      { address: 'bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3', script: 'p2wsh' },
      { address: 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0', script: 'p2tr' },
    ],
  },
  {
    name: 'bcash',
    chain: 'BCH',
    unused: 'bitcoincash:qr95sy3j9xwd2ap32xkykttr4cvcu7as4y0qverfuy',
    payees: [
      { address: 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a', script: 'p2pkh' },
      { address: 'bitcoincash:ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq', script: 'p2sh' },
    ],
  },
];

const COIN = 100_000_000n;

async function startWorld({ name, chain, payees }: Nodes): Promise<{ node: Bcoin; busy: number }> {
  const node = await startBcoin(name);
  await node.mine(105);
  for (let height = 1; height <= 3; height++) {
    await node.pay(
      height,
      payees.map(({ address }, index) => ({
        script: scriptOf(chain, address),
        value: COIN + BigInt(index),
      })),
    );
    await node.mine();
  }
  const busy = await node.rpc<number>('getblockcount');
  await node.mine(2);
  return { node, busy };
}

if (hasBcoin)
  for (const nodes of NODES)
    adapterConformance(`the UTXO adapter before ${nodes.name}`, family, async () => {
      const { node, busy } = await startWorld(nodes);
      const { chain } = nodes;
      const explorer = chain === 'BTC' ? await startEsplora(node) : await startBlockbook(node, chain);
      return {
        chain,
        rpc: node.url,
        history: chain === 'BTC' ? explorer.url : `blockbook+${explorer.url}`,
        address: nodes.payees[0]!.address,
        unused: nodes.unused,
        balance: async () => 3n * COIN,
        historyKind: 'TRANSFERS',
        busyBlock: async () => ({ height: busy, items: 2 }),
        mine: () => node.mine(),
        reorg: (depth) => node.reorg(depth),
        ofAnotherChain: null,
        async dispose() {
          await explorer.close();
          await node.stop();
        },
      };
    });

describe.skipIf(!hasBcoin).each(NODES)('transactions of $name', (nodes) => {
  it('are parsed from their bytes, and inputs from the transactions that they spend', async () => {
    const { node, busy } = await startWorld(nodes);
    const { chain, payees } = nodes;
    const adapter = openFor(family, chain, { rpc: [node.url] });
    const proxy = await startFaultProxy(new URL(node.url).origin);
    const forged = openFor(family, chain, { rpc: [node.url.replace(/127.*$/, new URL(proxy.url).host)] });
    try {
      const answer = await adapter.block(busy, within(20_000));
      expect(answer).toMatchObject({ completeness: 'COMPLETE', note: null });
      const [coinbase, payment] = answer.block!.transactions!;
      expect(coinbase).toMatchObject({ isCoinbase: true, inputs: [] });
      const own = new ScriptReader(chain).read(ownScript).address;
      expect(payment!.inputs).toMatchObject([{ address: own, value: 50n * COIN }]);
      expect(payment!.outputs.slice(0, -1)).toMatchObject(
        payees.map(({ address, script }, n) => ({ n, address, script, value: COIN + BigInt(n) })),
      );
      const paid = payment!.outputs.reduce((sum, { value }) => sum + value, 0n);
      expect(paid).toBe(50n * COIN - 10_000n);

      // One digit of an amount changes in transit: the bytes no longer match the hash of the block.
      proxy.rewrite = (body) => body.replaceAll('00e1f505', '01e1f505');
      await expect(forged.block(busy, within(5_000))).rejects.toMatchObject({ code: 'CHAIN_BAD_ANSWER' });

      // All three forks share their first block: a node past the fork is identified by the first block after the fork.
      proxy.rewrite = (body) =>
        body
          .replace(
            /\{"result":null,"error":\{[^}]*\},"id":2\}/,
            `{"result":"${'e'.repeat(64)}","error":null,"id":2}`,
          )
          .replace(
            '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206',
            '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f',
          );
      const other = openFor(family, chain, { rpc: [node.url.replace(/127.*$/, new URL(proxy.url).host)] });
      await expect(other.head(within(5_000))).rejects.toMatchObject({ code: 'CHAIN_MISMATCH' });
      await other.close();
    } finally {
      await adapter.close();
      await forged.close();
      await proxy.close();
      await node.stop();
    }
  });
});

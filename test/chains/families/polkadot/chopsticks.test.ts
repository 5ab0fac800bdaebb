/** Blocks of a real runtime of Asset Hub: the adapter reads the same transfers from them as Polkadot's own library. */
import { base58 } from '@scure/base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatAddressKey, parseAddress } from '../../../../src/chains/address/parse.ts';
import { openAdapter } from '../../../../src/chains/families/polkadot/adapter.ts';
import type { ChainAdapter } from '../../../../src/chains/families/port.ts';
import { chainOf } from '../../../../src/chains/registry.ts';
import { openFor, within } from '../../../conformance/adapter.ts';
import {
  type Account,
  type Chopsticks,
  hasChopsticks,
  type PalletCall,
  type ReadBlock,
  startChopsticks,
} from '../../../setup/chopsticks.ts';
import { type FaultProxy, startFaultProxy } from '../../../setup/fault-proxy.ts';

const ASSET_HUB = '0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f';
const family = { openAdapter, layouts: { rpc: 'substrate', history: 'subscan' } };

describe.skipIf(!hasChopsticks)('a real runtime (ASSAY_TEST_LONG=1, ASSAY_TEST_DOT_SPEC)', () => {
  let node: Chopsticks;
  let proxy: FaultProxy;
  let adapter: ChainAdapter;
  let address: Record<Account, string>;

  beforeAll(async () => {
    node = await startChopsticks();
    proxy = await startFaultProxy(node.url);
    // A private chain has another genesis block than Asset Hub.
    proxy.rewrite = (body) => body.replace(`"result":"${node.genesis}"`, `"result":"${ASSET_HUB}"`);
    adapter = openFor(family, 'DOT', { rpc: [proxy.url] });
    address = Object.fromEntries(
      Object.entries(node.keys).map(([name, key]) => [
        name,
        formatAddressKey(Uint8Array.of(chainOf('DOT').keyByte, 1, ...Buffer.from(key, 'hex')), 'DOT'),
      ]),
    ) as Record<Account, string>;
  }, 600_000);
  afterAll(async () => {
    await adapter?.close();
    await proxy?.close();
    await node?.stop();
  });

  /** Derives the transfers from the events that Polkadot's own library reads. */
  const expected = ({ events, extrinsics, height }: ReadBlock) =>
    events.flatMap(({ index, extrinsic, name, data }) => {
      const moves: Readonly<Record<string, readonly [string | null, string | null, string]>> = {
        'balances.Transfer': ['from', 'to', 'amount'],
        'assets.Transferred': ['from', 'to', 'amount'],
        'assets.Issued': [null, 'owner', 'totalSupply'],
        'assets.Burned': ['owner', null, 'balance'],
      };
      const move = moves[name];
      if (move === undefined) return [];
      const canonical = (field: string | null) =>
        field === null ? null : data[field] === undefined ? undefined : keyOf(data[field]);
      return [
        {
          position: `event:${index}`,
          txHash: extrinsic === null || extrinsic < 2 ? `${height}-${index}` : extrinsics[extrinsic],
          from: canonical(move[0]),
          to: canonical(move[1]),
          amount: data[move[2]] ?? data.amount,
          asset: name.startsWith('balances') ? 'DOT' : `standard_assets/${data.assetId}`,
        },
      ];
    });
  /** The library writes addresses of this chain with the prefix of another network, so compare by key. */
  const keyOf = (text: string): string => {
    const bytes = base58.decode(text);
    const key = bytes.subarray(bytes.length - 34, bytes.length - 2);
    return formatAddressKey(Uint8Array.of(chainOf('DOT').keyByte, 1, ...key), 'DOT');
  };

  async function compare(calls: readonly PalletCall[]): Promise<ReadBlock> {
    const made = await node.block(calls);
    const { block, completeness } = await adapter.block(made.height, within(30_000));
    expect(completeness).toBe('COMPLETE');
    expect(block?.hash).toBe(made.hash);
    expect(
      block?.transfers.map(({ position, txHash, from, to, amount, asset }) => ({
        position,
        txHash,
        from,
        to,
        amount: amount.toString(),
        asset,
      })),
    ).toEqual(expected(made));
    return made;
  }

  it('moves coins and assets, and nothing in failed calls', async () => {
    const paid = await compare([
      ['balances', 'transferKeepAlive', ['Bob', 12_345_000_000_000n.toString()], 'Alice'],
      ['balances', 'transferKeepAlive', ['Eve', 5_000_000_000_000n.toString()], 'Bob'],
      // More than the balance.
      ['balances', 'transferKeepAlive', ['Eve', (10n ** 24n).toString()], 'Bob'],
    ]);
    expect(expected(paid).filter(({ from }) => from === address.Alice || from === address.Bob)).toHaveLength(
      2,
    );
    const assets = await compare([
      ['assets', 'create', [77, 'Alice', 1], 'Alice'],
      ['assets', 'setMetadata', [77, 'Some coin', 'SOME', 4], 'Alice'],
      ['assets', 'mint', [77, 'Bob', 1_000], 'Alice'],
      ['assets', 'transfer', [77, 'Eve', 250], 'Bob'],
      ['assets', 'burn', [77, 'Eve', 50], 'Alice'],
    ]);
    expect(expected(assets).filter(({ asset }) => asset === 'standard_assets/77')).toHaveLength(3);
    const { block } = await adapter.block(assets.height, within(30_000));
    const decimals = block?.transfers.filter(({ asset }) => asset !== 'DOT').map((row) => row.decimals);
    expect(decimals).toEqual([4, 4, 4]);
  });

  it('has the balances and counts of the adapter', async () => {
    const made = await compare([['balances', 'transferKeepAlive', ['Eve', '7000000000000'], 'Alice']]);
    for (const [name, free] of Object.entries(made.free) as [Account, string][]) {
      const answer = await adapter.balance(address[name], within(10_000));
      expect(answer.balance).toBeGreaterThanOrEqual(BigInt(free));
    }
    expect((await adapter.balance(address.Bob, within(10_000))).balance).toBe(BigInt(made.free.Bob));
    expect((await adapter.transactionCount(address.Bob, within(10_000))).count).toBe(3);
    expect(parseAddress('DOT', address.Bob).canonical).toBe(address.Bob);
  });

  it('is followed from block to block', async () => {
    const { height } = await adapter.head(within(10_000));
    const ending = new AbortController();
    const heights: number[] = [];
    const following = (async () => {
      for await (const event of adapter.subscribe(
        { fromHeight: height, known: [] },
        within(30_000, ending.signal),
      )) {
        if (event.type === 'block') heights.push(event.block.height);
        if (heights.length === 4) break;
      }
    })();
    for (let n = 0; n < 3; n++) await node.block([]);
    await following;
    ending.abort();
    expect(heights).toEqual([height, height + 1, height + 2, height + 3]);
  });
});

/** Live blocks of a real UTXO chain are written to the graph, and removed if the chain reverts them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../../../src/base/random.ts';
import { parseAddress } from '../../../../src/chains/address/parse.ts';
import { ScriptReader } from '../../../../src/chains/bitcoin-script.ts';
import type { ChainAdapter } from '../../../../src/chains/families/port.ts';
import { openAdapter } from '../../../../src/chains/families/utxo/adapter.ts';
import type { Transfer } from '../../../../src/chains/transfer.ts';
import { createLiveIngest, type LiveIngest } from '../../../../src/graph/ingest/live.ts';
import { openTransferStore, type TransferStore } from '../../../../src/graph/store.ts';
import { type OutputsStore, openOutputsStore } from '../../../../src/graph/utxo/outputs-store.ts';
import { projectTransaction } from '../../../../src/graph/utxo/project.ts';
import { openFor, within } from '../../../conformance/adapter.ts';
import { type Fault, startFaultProxy } from '../../../setup/fault-proxy.ts';
import { hasLitecoind, type Litecoind, startLitecoind } from '../../../setup/litecoind.ts';
import { sleep, until } from '../../../support/wait.ts';

/** Blocks of the seeded run; the long run resembles a day on a bad network. */
const BLOCKS = process.env.ASSAY_TEST_LONG === '1' ? 200 : 24;
const FAULT_ONE_IN = 20;
const FAULTS_OF_A_NODE: readonly Fault[] = ['error-500', 'cut', 'html'];
const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'esplora' } };
const scripts = new ScriptReader('LTC');

describe.skipIf(!hasLitecoind)('following a real UTXO chain into the graph', () => {
  let folder: string;
  let node: Litecoind;
  let adapter: ChainAdapter;
  let transfers: TransferStore;
  let outputs: OutputsStore;
  let live: LiveIngest;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'assay-follow-utxo-'));
    node = await startLitecoind();
    adapter = openFor(family, 'LTC', { rpc: [node.url] });
    transfers = openTransferStore({ path: folder, readOnly: false });
    outputs = openOutputsStore({ path: folder, readOnly: false });
    live = createLiveIngest({ transfers, outputs: () => outputs });
  });
  afterEach(async () => {
    await adapter?.close();
    await node?.stop();
    await transfers?.close();
    await outputs?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Follows the chain until the newest block of the node is in the graph. Returns how many blocks were added and dropped. */
  async function catchUp(fromHeight: number | null): Promise<{ taken: number; dropped: number }> {
    const hash = await node.rpc<string>('getbestblockhash');
    const ending = new AbortController();
    const counts = { taken: 0, dropped: 0 };
    for await (const event of adapter.subscribe(
      live.from('LTC', fromHeight),
      within(10_000, ending.signal),
    )) {
      await live.apply('LTC', event);
      if (event.type === 'reorg') counts.dropped += event.dropped.length;
      else counts.taken++;
      if (event.type === 'block' && event.block.hash === hash) break;
    }
    ending.abort();
    return counts;
  }

  interface Seen {
    readonly txHash: string;
    readonly position: string;
    readonly amount: bigint;
    readonly blockNumber: number;
  }
  const shown = ({ txHash, position, amount, blockNumber }: Seen): string =>
    `${blockNumber} ${txHash} ${position} ${amount}`;

  /** Reads the transfers of an address from the current chain of the node. */
  async function transfersOnChain(address: string, fromHeight: number): Promise<Transfer[]> {
    const found: Transfer[] = [];
    const height = await node.rpc<number>('getblockcount');
    for (let at = fromHeight; at <= height; at++) {
      const { block } = await adapter.block(at, within(10_000));
      for (const row of block?.transactions ?? [])
        for (const transfer of projectTransaction(row).transfers)
          if (transfer.from === address || transfer.to === address) found.push(transfer);
    }
    return found;
  }
  const chainTransfers = async (address: string, fromHeight: number): Promise<string[]> =>
    (await transfersOnChain(address, fromHeight)).map(shown).sort();

  /** Reads the transfers of an address from the graph and checks that its totals count as many. */
  function storedTransfers(address: string): string[] {
    const { key } = parseAddress('LTC', address);
    const rows = transfers.recent('LTC', key, 1_000);
    const totals = transfers.totals('LTC', key);
    expect((totals?.in.transfers ?? 0) + (totals?.out.transfers ?? 0)).toBe(rows.length);
    return rows.map(shown).sort();
  }

  it('keeps each transfer of the final chain exactly once, over reorgs and stops', async () => {
    await node.mine(120);
    const payee = await node.rpc<string>('getnewaddress', '', 'legacy');
    const { scriptPubKey } = await node.rpc<{ scriptPubKey: string }>('getaddressinfo', payee);
    const address = scripts.read(Buffer.from(scriptPubKey, 'hex')).address!;
    const pay = async (): Promise<string> => {
      const txid = await node.rpc<string>('sendtoaddress', payee, 0.7);
      await node.mine();
      return txid;
    };
    const paid = [await pay(), await pay()];
    expect(await catchUp(119)).toEqual({ taken: 4, dropped: 0 });
    for (const txid of paid) expect(storedTransfers(address).join()).toContain(txid);
    expect(storedTransfers(address)).toEqual(await chainTransfers(address, 119));

    // Both payments leave the chain with its last two blocks and wait again. Two empty blocks replace those, and the next block includes
    // the payments.
    await node.reorg(2);
    for (const txid of paid) {
      const { hex } = await node.rpc<{ hex: string }>('gettransaction', txid);
      const waits = await node.rpc<string[]>('getrawmempool');
      // The wallet's lock time bars a payment from blocks below the height at which it was made.
      if (!waits.includes(txid)) await node.rpc('sendrawtransaction', hex);
    }
    await node.mine();
    const counts = await catchUp(null);
    expect(counts).toEqual({ taken: 3, dropped: 2 });
    expect(storedTransfers(address)).toEqual(await chainTransfers(address, 119));
    for (const txid of paid) expect(storedTransfers(address).join()).toContain(txid);

    paid.push(await pay());
    await node.reorg(1);
    expect((await catchUp(null)).dropped).toBe(0);
    await node.mine(2);
    await catchUp(null);
    for (const txid of paid) expect(storedTransfers(address).join()).toContain(txid);
    expect(storedTransfers(address)).toEqual(await chainTransfers(address, 119));
  });

  it(`equals the final chain after ${BLOCKS} blocks with reorgs, faults and stops, by a seed`, async () => {
    const next = seededUint32(20_261_121);
    const oneIn = (n: number): boolean => next() % n === 0;
    const proxy = await startFaultProxy(node.url);
    const through = openFor(family, 'LTC', {
      rpc: [node.url.replace(/@.*$/, `@${new URL(proxy.url).host}`)],
    });
    await node.mine(130);
    const start = await node.rpc<number>('getblockcount');
    const payees: { readonly wallet: string; readonly address: string }[] = [];
    for (const kind of ['legacy', 'p2sh-segwit', 'bech32', 'legacy', 'bech32']) {
      const wallet = await node.rpc<string>('getnewaddress', '', kind);
      const { scriptPubKey } = await node.rpc<{ scriptPubKey: string }>('getaddressinfo', wallet);
      payees.push({ wallet, address: scripts.read(Buffer.from(scriptPubKey, 'hex')).address! });
    }
    const counts = { reorgs: 0, faults: 0, stops: 0, taken: 0, dropped: 0 };

    /** Follows the chain in the background until it is stopped; it resumes from the stored blocks. */
    let ending = new AbortController();
    let following: Promise<void> = Promise.resolve();
    const follow = (): void => {
      ending = new AbortController();
      const { signal } = ending;
      following = (async () => {
        for await (const event of through.subscribe(live.from('LTC', start + 1), within(2_000, signal))) {
          await live.apply('LTC', event);
          if (event.type === 'reorg') counts.dropped += event.dropped.length;
          else counts.taken++;
        }
      })();
    };
    const caughtUp = async (): Promise<void> => {
      const best = await node.rpc<string>('getbestblockhash');
      await until(() => transfers.blocks('LTC')[0]?.hash === best, 'the best block', 300_000);
    };
    follow();
    for (let made = 0; made < BLOCKS; ) {
      for (let payments = next() % 4; payments > 0; payments--) {
        const { wallet } = payees[next() % payees.length]!;
        const [first, second] = [payees[0]!.wallet, wallet];
        const value = (1 + (next() % 500)) / 1_000;
        if (oneIn(3)) await node.rpc('sendmany', '', { [first]: value, [second]: value * 2 });
        else await node.rpc('sendtoaddress', wallet, value);
      }
      const blocks = 1 + (next() % 2);
      await node.mine(blocks);
      made += blocks;
      if (oneIn(6)) {
        const height = await node.rpc<number>('getblockcount');
        // In most rounds, the reverted blocks are stored already.
        if (!oneIn(3)) await caughtUp();
        const depth = Math.min(1 + (next() % 6), height - start);
        await node.reorg(depth);
        // In half of the rounds, the new branch is longer than the one that it replaces.
        if (oneIn(2)) await node.mine();
        counts.reorgs++;
      }
      if (oneIn(FAULT_ONE_IN)) {
        proxy.fault = FAULTS_OF_A_NODE[next() % FAULTS_OF_A_NODE.length]!;
        counts.faults++;
        await sleep(100);
        proxy.fault = 'none';
      }
      if (oneIn(8)) {
        ending.abort();
        await following;
        counts.stops++;
        follow();
      }
    }
    await node.mine();
    await caughtUp();
    ending.abort();
    await following;
    await through.close();
    await proxy.close();

    expect(counts.reorgs).toBeGreaterThan(BLOCKS / 20);
    expect(counts.stops).toBeGreaterThan(0);
    expect(counts.dropped).toBeGreaterThan(0);
    let rows = 0;
    for (const { address } of payees) {
      const { key } = parseAddress('LTC', address);
      const final = await transfersOnChain(address, start + 1);
      const sums = { in: [0, 0n] as [number, bigint], out: [0, 0n] as [number, bigint] };
      for (const { from, to, amount } of final)
        for (const side of [to === address ? sums.in : null, from === address ? sums.out : null])
          if (side !== null && from !== to) {
            side[0]++;
            side[1] += amount;
          }
      const totals = transfers.totals('LTC', key);
      for (const side of ['in', 'out'] as const) {
        const flow = totals?.[side];
        expect([flow?.transfers ?? 0, flow?.byAsset[0]?.amount ?? 0n]).toEqual(sums[side]);
      }
      // The graph keeps only the newest transfers one by one.
      const newest = transfers.recent('LTC', key, 1_000).map(shown);
      expect(new Set(newest).size).toBe(newest.length);
      expect(newest.filter((row) => !final.map(shown).includes(row))).toEqual([]);
      rows += final.length;
    }
    expect(rows).toBeGreaterThan(BLOCKS / 2);
  }, 600_000);
});

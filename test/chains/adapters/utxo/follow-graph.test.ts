/** Live blocks of a real UTXO chain into the graph, and out of it where the chain leaves them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChainAdapter } from '../../../../src/chains/adapters/port.ts';
import { openAdapter } from '../../../../src/chains/adapters/utxo/adapter.ts';
import { parseAddress } from '../../../../src/chains/address/parse.ts';
import { ScriptReader } from '../../../../src/chains/bitcoin-script.ts';
import { createLiveIngest, type LiveIngest } from '../../../../src/graph/ingest/live.ts';
import { openTransferStore, type TransferStore } from '../../../../src/graph/store.ts';
import { type OutputsStore, openOutputsStore } from '../../../../src/graph/utxo/outputs-store.ts';
import { projectTransaction } from '../../../../src/graph/utxo/project.ts';
import { openFor, within } from '../../../conformance/adapter.ts';
import { hasLitecoind, type Litecoind, startLitecoind } from '../../../setup/litecoind.ts';

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

  /** Follows until the newest block of the node is in the graph; how many blocks came and went. */
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

  /** What the node's chain says now. */
  async function chainTransfers(address: string, fromHeight: number): Promise<string[]> {
    const found: string[] = [];
    const height = await node.rpc<number>('getblockcount');
    for (let at = fromHeight; at <= height; at++) {
      const { block } = await adapter.block(at, within(10_000));
      for (const row of block?.transactions ?? [])
        for (const transfer of projectTransaction(row).transfers)
          if (transfer.from === address || transfer.to === address) found.push(shown(transfer));
    }
    return found.sort();
  }

  /** What the graph keeps of an address; its sums must count the same transfers. */
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

    // Both payments leave the chain, and one block more comes than before: they wait again, and are mined later.
    await node.reorg(2);
    for (const txid of paid) {
      const { hex } = await node.rpc<{ hex: string }>('gettransaction', txid);
      const waits = await node.rpc<string[]>('getrawmempool');
      // The wallet's lock time bars a payment from blocks lower than it was made at.
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
});

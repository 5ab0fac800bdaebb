import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { outputsFolderOf, transfersFolderOf } from '../../../src/app/chain-services.ts';
import { createServices } from '../../../src/app/services.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import { addClusterCommand } from '../../../src/cli/cluster.ts';
import { addImportCommand } from '../../../src/cli/import.ts';
import { addIndexCommand } from '../../../src/cli/index-command.ts';
import { addIngestCommand } from '../../../src/cli/ingest.ts';
import { addLookupCommand } from '../../../src/cli/lookup.ts';
import { addPricesCommand } from '../../../src/cli/prices.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { openTransferStore } from '../../../src/graph/store.ts';
import { openOutputsStore } from '../../../src/graph/utxo/outputs-store.ts';
import { bech32Address as a } from './addresses.ts';

class Text extends Writable {
  text = '';
  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

describe('assay cluster', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-cluster-command-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const run = (...args: string[]) => runIn('state', ...args);

  async function runIn(
    state: string,
    ...args: string[]
  ): Promise<{ code: number; out: string; err: string }> {
    const out = new Text();
    const err = new Text();
    const terminal = { out, err, clock: systemClock, signal: new AbortController().signal };
    const config = loadConfig({ ASSAY_DATA_DIR: join(folder, state), ASSAY_LOG_LEVEL: 'silent' });
    const commands = [
      addClusterCommand,
      addImportCommand,
      addIndexCommand,
      addIngestCommand,
      addLookupCommand,
      addPricesCommand,
    ];
    const code = await runProgram(commands, args, terminal, () => createServices(config, '0.0.0'), '0.0.0');
    return { code, out: out.text, err: err.text };
  }

  it('turns stored transactions into a label that a lookup shows', async () => {
    expect(await run('cluster', 'BTC')).toMatchObject({
      code: 1,
      err: expect.stringContaining('No transaction of BTC is stored'),
    });
    const outputs = openOutputsStore({ path: outputsFolderOf(join(folder, 'state')), readOnly: false });
    const id = (number: number): string => number.toString(16).padStart(64, '0');
    const base = { chain: 'BTC', timestampMs: 1_700_000_000_000 } as const;
    const pay = (number: number, n: number) => ({
      n,
      address: a(number),
      value: 50n,
      script: 'p2wpkh' as const,
    });
    outputs.put('BTC', [
      {
        height: 1,
        hash: null,
        parentHash: null,
        timestampMs: base.timestampMs,
        transactions: [
          {
            ...base,
            txid: id(1),
            blockNumber: 1,
            indexInBlock: 0,
            isCoinbase: true,
            inputs: [],
            outputs: [pay(1, 0), pay(2, 1)],
          },
          {
            ...base,
            txid: id(2),
            blockNumber: 1,
            indexInBlock: 1,
            isCoinbase: false,
            inputs: [0, 1].map((vout) => ({ txid: id(1), vout, address: null, value: null })),
            outputs: [pay(3, 0)],
          },
        ],
      },
    ]);
    await outputs.close();
    const labels = join(folder, 'own.csv');
    writeFileSync(labels, `address,chain,entity,category,confidence\n${a(1)},BTC,Kraken,EXCHANGE,0.9\n`);
    expect((await run('import', 'own', labels)).code).toBe(0);
    expect((await run('index', 'build')).code).toBe(0);

    const clustered = JSON.parse((await run('cluster', 'btc', '--json')).out);
    expect(clustered.build).toMatchObject({ chain: 'BTC', clusters: 1, clustered: 2, transactions: 2 });
    expect(clustered.labels).toMatchObject({ labels: 1, spread: 1, conflicts: 0 });
    expect((await run('index', 'build')).code).toBe(0);
    const shown = JSON.parse((await run('lookup', 'BTC', a(2), '--json')).out);
    expect(JSON.stringify(shown)).toContain('"source":"cluster"');
    const again = JSON.parse((await run('cluster', 'BTC', '--labels-only', '--json')).out);
    expect(again).toMatchObject({ build: null, labels: { labels: 1, dataset: { status: 'unchanged' } } });
  });

  it('rejects chains without outputs, and options without any work', async () => {
    expect((await run('cluster', 'ETH')).err).toContain('ETH is a chain of accounts');
    expect((await run('cluster', 'BTC', '--no-labels', '--labels-only')).err).toContain('cannot be combined');
  });

  it('shows the historical value of an asset, an own table first', async () => {
    const before = JSON.parse(
      (await run('prices', 'show', 'BTC', 'btc', '--at', '2022-01-15', '--json')).out,
    );
    expect(before).toMatchObject({ usd: 46216.93, source: 'shipped', priceStatus: 'LAST_KNOWN' });
    const table = join(folder, 'desk.csv');
    writeFileSync(table, 'chain,asset,date,usd\nBTC,BTC,2022-01-15,43100\n');
    expect((await run('prices', 'import', table)).out).toContain(
      "1 prices of 1 assets, 2022-01-15 to 2022-01-15, in the table 'desk'",
    );
    const after = JSON.parse((await run('prices', 'show', 'BTC', 'BTC', '--at', '2022-01-15', '--json')).out);
    expect(after).toMatchObject({ usd: 43100, source: 'own' });
    const unknown = JSON.parse(
      (await run('prices', 'show', 'XMR', 'XMR', '--at', '2013-01-15', '--json')).out,
    );
    expect(unknown).toMatchObject({ usd: null, source: null });
    expect(await run('prices', 'import', join(folder, 'none.csv'))).toMatchObject({ code: 1 });
  });

  it('stores transfers with their historical value, unless disabled', async () => {
    const from = '0xae2fc483527b8ef99eb5d9b44875f005ba1fae13';
    const row = {
      hash: `0x${'1'.repeat(64)}`,
      from_address: from,
      to_address: '0x6b75d8af000000e20b7a7ddf000ba900b4009a80',
      value: '2000000000000000000',
      block_number: 10,
      block_timestamp: 1_683_029_999,
      receipt_status: 1,
    };
    const file = join(folder, 'transactions.json');
    writeFileSync(file, JSON.stringify(row));
    const worth: (number | null | undefined)[] = [];
    for (const [state, ...flags] of [['priced'], ['unpriced', '--no-prices']] as const) {
      expect((await runIn(state, 'ingest', 'ethereum-etl', file, '--chain', 'ETH', ...flags)).code).toBe(0);
      const store = openTransferStore({ path: transfersFolderOf(join(folder, state)), readOnly: true });
      worth.push(store.totals('ETH', parseAddress('ETH', from).key)?.out.valueUsd);
      await store.close();
    }
    expect(worth).toEqual([3740.18, null]);
  });
});

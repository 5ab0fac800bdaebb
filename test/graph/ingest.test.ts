import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { priced } from '../../src/chains/prices/priced.ts';
import { openInstalledPrices } from '../../src/chains/prices/tables.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { ethereumEtlReader } from '../../src/graph/ingest/ethereum-etl.ts';
import { ingestFiles } from '../../src/graph/ingest/ingest-files.ts';
import { readRows } from '../../src/graph/ingest/rows.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';

let folder = '';
let store: TransferStore;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-ingest-'));
  store = openTransferStore({ path: join(folder, 'graph'), readOnly: false });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const sender = '0xae2fc483527b8ef99eb5d9b44875f005ba1fae13';
const receiver = '0x6b75d8af000000e20b7a7ddf000ba900b4009a80';
const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const keyOf = (text: string): Uint8Array => parseAddress('ETH', text).key;

const transaction = (fields: object): string =>
  JSON.stringify({
    hash: hash('1'),
    from_address: sender,
    to_address: receiver,
    value: 5,
    block_number: 10,
    block_timestamp: 1_683_029_999,
    receipt_status: 1,
    ...fields,
  });

describe('ingesting ethereum-etl files', () => {
  it('keeps a failed transaction, which moved nothing', async () => {
    const path = file('tx', transaction({ receipt_status: 0 }));
    await ingestFiles({ format: 'ethereum-etl', files: [path], chain: 'ETH' }, { store });
    expect(store.totals('ETH', keyOf(sender))).toMatchObject({
      transactions: 1,
      out: { transfers: 1, unpricedTransfers: 0, valueUsd: 0, byAsset: [{ amount: 0n }] },
    });
  });

  it('reads the times of blocks from the blocks file, in any order of files', async () => {
    const tx = file('tx', transaction({ block_timestamp: undefined }));
    const blocks = file('blocks', '{"number":10,"hash":"0xaa","timestamp":1683029999}');
    const report = await ingestFiles(
      { format: 'ethereum-etl', files: [tx, blocks], chain: 'ETH' },
      { store },
    );
    expect(report).toMatchObject({ stored: 1, ignored: 1, rejected: 0 });
    expect(store.coverage('ETH').asOf).toBe('2023-05-02T12:19:59.000Z');
  });

  it('rejects a transaction without a known time', async () => {
    const tx = file('tx', transaction({ block_timestamp: undefined }));
    const report = await ingestFiles({ format: 'ethereum-etl', files: [tx], chain: 'ETH' }, { store });
    expect(report).toMatchObject({ stored: 0, rejected: 1 });
    expect(report.rejects[0]?.reason).toContain('no file gives the time of block 10');
  });

  it('assigns a contract creation to its contract', async () => {
    const path = file('tx', transaction({ to_address: null, receipt_contract_address: receiver }));
    await ingestFiles({ format: 'ethereum-etl', files: [path], chain: 'ETH' }, { store });
    expect(store.totals('ETH', keyOf(receiver))).toMatchObject({ in: { transfers: 1 } });
  });

  it('treats the zero address of a token transfer as no counterparty', async () => {
    const mint = {
      transaction_hash: hash('2'),
      token_address: receiver,
      from_address: `0x${'0'.repeat(40)}`,
      to_address: sender,
      value: 7,
      log_index: 3,
      block_number: 10,
      block_timestamp: '2023-05-02 12:19:59 UTC',
    };
    await ingestFiles(
      { format: 'ethereum-etl', files: [file('tt', JSON.stringify(mint))], chain: 'ETH' },
      { store },
    );
    expect(store.counterparties('ETH', keyOf(sender), { direction: 'in', limit: 5 })).toEqual([]);
    expect(store.totals('ETH', keyOf(sender))?.in).toMatchObject({ transfers: 1 });
  });

  it('reports rejected rows by file and line, and stores the rest', async () => {
    const lines = [
      transaction({}),
      transaction({ hash: hash('2'), from_address: `${sender}0` }),
      transaction({ hash: '0x12' }),
      transaction({ hash: hash('3'), value: 1.5 }),
      transaction({ hash: hash('4'), value: -1 }),
      '{"broken',
      transaction({ hash: hash('5') }),
    ];
    const rejectedLines: number[] = [];
    const report = await ingestFiles(
      { format: 'ethereum-etl', files: [file('tx.json', lines.join('\n'))], chain: 'ETH' },
      { store, onReject: (reject) => rejectedLines.push(reject.provenance.line) },
    );
    expect(report).toMatchObject({ rows: 7, stored: 2, rejected: 5 });
    expect(rejectedLines).toEqual([2, 3, 4, 5, 6]);
    expect(report.rejects.every((reject) => reject.provenance.file === 'tx.json')).toBe(true);
  });

  it('rejects a chain outside the EVM family', async () => {
    const ingest = ingestFiles(
      { format: 'ethereum-etl', files: [file('tx', transaction({}))], chain: 'BTC' },
      { store },
    );
    await expect(ingest).rejects.toMatchObject({ code: 'INVALID_REQUEST', field: 'chain' });
  });
});

describe('ingesting NDJSON', () => {
  const row = (fields: object): string =>
    JSON.stringify({
      txHash: hash('a'),
      position: 'value',
      blockNumber: 1,
      timestamp: '2023-05-02T12:19:59Z',
      from: sender,
      to: receiver,
      asset: 'ETH',
      amount: '36893488147419103233',
      valueUsd: 12.34,
      ...fields,
    });

  it('reads the record of docs/transfers.md', async () => {
    const report = await ingestFiles(
      { format: 'ndjson', files: [file('rows', row({}))], chain: 'ETH' },
      { store },
    );
    expect(report).toMatchObject({ stored: 1, rejected: 0 });
    expect(store.counterparties('ETH', keyOf(sender), { direction: 'out', limit: 1 })).toMatchObject([
      { valueUsd: 12.34, assets: [{ amount: 36893488147419103233n, decimals: 18 }] },
    ]);
  });

  it('keeps the sender of the transaction, the called contract, and whether the call is the transfer', async () => {
    const token = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
    const moved = { asset: token.toLowerCase(), position: 'log:1', decimals: 6, amount: '1000000' };
    const rows = [
      row({ ...moved, txHash: hash('1'), sender, called: token, decodes: true }),
      row({ ...moved, txHash: hash('2'), sender: token, called: sender, decodes: true }),
      row({ ...moved, txHash: hash('3'), sender: receiver }),
      row({ ...moved, txHash: hash('4') }),
      row({ txHash: hash('5'), sender, called: receiver, decodes: true }),
    ];
    const bad = [
      row({ txHash: hash('6'), called: token }),
      row({ txHash: hash('7'), sender: '0x12' }),
      row({ txHash: hash('8'), sender, decodes: 'perhaps' }),
    ];
    const path = file('rows', [...rows, ...bad].join('\n'));
    const report = await ingestFiles({ format: 'ndjson', files: [path], chain: 'ETH' }, { store });
    expect(report).toMatchObject({ stored: 5, rejected: 3 });
    const starts = new Map(
      store.recent('ETH', keyOf(sender), 64).map(({ txHash, initiation }) => [txHash, initiation]),
    );
    expect(starts.get(hash('1'))).toEqual({ sender: 'FROM', callsAsset: true, decodes: true });
    expect(starts.get(hash('2'))).toEqual({ sender: 'OTHER', callsAsset: false, decodes: false });
    expect(starts.get(hash('3'))).toEqual({ sender: 'TO', callsAsset: null, decodes: null });
    expect(starts.get(hash('4'))).toBeNull();
    expect(starts.get(hash('5'))).toEqual({ sender: 'FROM', callsAsset: null, decodes: null });
  });

  it('reads several files of which one has no rows, and stores nothing if all rows of one are rejected', async () => {
    const good = file('good.ndjson', row({}));
    const header = file('empty.csv', `${Object.keys(JSON.parse(row({}))).join(',')}\n`);
    const wrong = file('wrong.ndjson', [row({ from: '0x12' }), row({ amount: -1 })].join('\n'));
    const ingest = (files: readonly string[]) =>
      ingestFiles({ format: 'ndjson', files, chain: 'ETH' }, { store });
    await expect(ingest([good, header, wrong])).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringMatching(/^file: wrong\.ndjson has no usable row: 2 rejected/),
    });
    expect(store.totals('ETH', keyOf(sender))).toBeNull();
    expect(await ingest([good, header])).toMatchObject({ rows: 1, stored: 1, rejected: 0 });
  });

  it('keeps amounts of any size of unlisted tokens', async () => {
    const asset = '0x00000000000000000000000000000000deadbeef';
    const path = file('rows', row({ asset, amount: `${2n ** 256n - 1n}` }));
    const report = await ingestFiles({ format: 'ndjson', files: [path], chain: 'ETH' }, { store });
    expect(report).toMatchObject({ stored: 1, rejected: 0 });
  });

  it('reads a value of 0 for an amount as unknown, and for no amount as 0', async () => {
    const zero = [row({ valueUsd: 0 }), row({ valueUsd: '0.00', txHash: hash('b') })];
    const nothing = row({ valueUsd: 0, amount: '0', txHash: hash('c') });
    const path = file('rows', [...zero, nothing].join('\n'));
    await ingestFiles({ format: 'ndjson', files: [path], chain: 'ETH' }, { store });
    expect(store.totals('ETH', keyOf(sender))?.out).toMatchObject({
      transfers: 3,
      unpricedTransfers: 2,
      valueUsd: null,
    });
  });

  it('values an amount by the price tables if its file has 0, also to 0.00', async () => {
    const { book } = openInstalledPrices(
      { folder: join(folder, 'prices') },
      { clock: systemClock, log: silentLogger },
    );
    const rows = [
      row({ valueUsd: 0, amount: '2000000000000000000' }),
      row({ valueUsd: 0, amount: '1', txHash: hash('b') }),
    ];
    const pricing = {
      ingest: (transfers: AsyncIterable<Transfer>) => store.ingest(priced(transfers, book)),
      bulkLoad: store.bulkLoad.bind(store),
    } as Pick<TransferStore, 'ingest' | 'bulkLoad'>;
    const path = file('rows', rows.join('\n'));
    await ingestFiles({ format: 'ndjson', files: [path], chain: 'ETH' }, { store: pricing });
    const sent = store.totals('ETH', keyOf(sender))?.out;
    expect(sent?.unpricedTransfers).toBe(0);
    expect(sent?.valueUsd).toBeGreaterThan(2_000);
  });

  it('knows the decimals of listed tokens, and of others from the first row that has them', async () => {
    const listed = '0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599';
    const other = '0x1000000000000000000000000000000000000001';
    const rows = [
      row({ asset: listed, txHash: hash('a'), amount: '7', valueUsd: 1 }),
      row({ asset: other, txHash: hash('b'), amount: '7', valueUsd: 1 }),
      row({ asset: other, txHash: hash('c'), amount: '7', valueUsd: 1, decimals: 4 }),
    ];
    const path = file('rows', rows.join('\n'));
    await ingestFiles({ format: 'ndjson', files: [path], chain: 'ETH' }, { store });
    const assets = store.totals('ETH', keyOf(sender))?.out.byAsset ?? [];
    expect(assets.map(({ asset, decimals }) => [asset, decimals]).sort()).toEqual([
      [other, 4],
      [listed, 8],
    ]);
  });

  it('reads other chains by their own addresses', async () => {
    const bitcoin = row({
      txHash: 'ab'.repeat(32),
      position: 'out:0',
      from: null,
      to: '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
      asset: 'BTC',
      amount: 5_000_000_000,
    });
    const report = await ingestFiles(
      { format: 'ndjson', files: [file('rows', bitcoin)], chain: 'BTC' },
      { store },
    );
    expect(report).toMatchObject({ stored: 1, rejected: 0 });
    const { key } = parseAddress('BTC', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa');
    expect(store.totals('BTC', key)?.in.byAsset).toMatchObject([
      { asset: 'BTC', amount: 5_000_000_000n, decimals: 8 },
    ]);
  });

  it.each([
    [{ amount: '1.5' }, 'amount'],
    [{ amount: undefined }, 'amount is missing'],
    [{ amount: `${2n ** 256n - 1n}` }, 'amount is 115792'],
    [{ amount: '1000000000000000001', asset: '0xdac17f958d2ee523a2206206994597c13d831ec7' }, 'amount is'],
    [{ amount: `${10n ** 39n}`, asset: '0x514910771af9ca656af840dff83e8264ecf986ca' }, 'amount is'],
    [{ timestamp: 'yesterday' }, 'timestamp'],
    [{ timestamp: 1_683_029_999_000_000 }, 'timestamp'],
    [{ timestamp: '2099-01-01T00:00:00Z' }, 'timestamp is 2099-01-01T00:00:00Z, which is in the future'],
    [{ timestamp: Date.now() + 25 * 3_600_000 }, 'is in the future'],
    [{ chain: 'BSC' }, 'chain is BSC'],
    [{ from: null, to: null }, 'from and to'],
    [{ valueUsd: -1 }, 'valueUsd'],
    [{ decimals: 200 }, 'decimals'],
    [{ decimals: 8 }, 'decimals is 8, but the asset has 18'],
    [
      { asset: '0xdac17f958d2ee523a2206206994597c13d831ec7', decimals: 0 },
      'decimals is 0, but the asset has 6',
    ],
    [{ position: 'x'.repeat(100) }, 'position'],
    [{ asset: 'DOGE' }, 'asset:'],
    [{ to: '0x12' }, 'to:'],
  ])('rejects %j with a reason', async (change, reason) => {
    const report = await ingestFiles(
      { format: 'ndjson', files: [file('rows', row(change))], chain: 'ETH' },
      { store },
    );
    expect(report).toMatchObject({ stored: 0, rejected: 1 });
    expect(report.rejects[0]?.reason).toContain(reason);
  });
});

describeWithSharedData('two real Ethereum blocks', () => {
  const part = (name: string): string => sharedData('transactions', 'ethereum', `expected_${name}.json`);
  const files = [part('blocks'), part('transactions'), part('token_transfers'), part('logs')];

  it('contain 298 transactions and 291 token transfers, once', async () => {
    const options = { format: 'ethereum-etl', files, chain: 'ETH' } as const;
    const first = await ingestFiles(options, { store });
    expect(first).toMatchObject({ stored: 298 + 291, duplicates: 0, rejected: 0 });
    const coverage = store.coverage('ETH');
    expect(coverage).toEqual({
      transfers: 589,
      firstBlock: 17_173_049,
      lastBlock: 17_173_050,
      asOf: '2023-05-02T12:20:11.000Z',
    });
    const totals = store.totals('ETH', keyOf(sender));
    const second = await ingestFiles(options, { store });
    expect(second).toMatchObject({ stored: 0, duplicates: 589, rejected: 0 });
    expect(store.coverage('ETH')).toEqual(coverage);
    expect(store.totals('ETH', keyOf(sender))).toEqual(totals);
  });

  it('name the sender of the transaction of every token transfer, if both files are given', async () => {
    const reader = await ethereumEtlReader({ chain: 'ETH', files });
    const starts = { all: 0, known: 0, ofParty: 0, decoded: 0 };
    for await (const row of readRows(part('token_transfers'))) {
      const transfer = row.ok ? reader(row.fields) : null;
      if (!transfer) continue;
      const { initiation, from, to } = transfer;
      starts.all++;
      if (!initiation) continue;
      starts.known++;
      if (initiation.sender === from || initiation.sender === to) starts.ofParty++;
      if (initiation.decodes) starts.decoded++;
    }
    expect(starts).toEqual({ all: 291, known: 291, ofParty: 145, decoded: 52 });
  });

  it('keep every digit of the largest token amount', async () => {
    await ingestFiles({ format: 'ethereum-etl', files: [part('token_transfers')], chain: 'ETH' }, { store });
    const rows = readFileSync(part('token_transfers'), 'utf8');
    expect(rows).toContain('"value": 7786596450288373164569331648084');
    const row = rows.split('\n').find((line) => line.includes('7786596450288373164569331648084')) ?? '';
    const from = /"from_address": "(0x[0-9a-f]{40})"/.exec(row)?.[1] ?? '';
    const found = store.counterparties('ETH', keyOf(from), { direction: 'out', limit: 1_000 });
    const amounts = found.flatMap((one) => one.assets.map((asset) => asset.amount));
    expect(amounts).toContain(7_786_596_450_288_373_164_569_331_648_084n);
  });

  it('are the same as a JSON array and as CSV', async () => {
    const lines = readFileSync(part('transactions'), 'utf8').trim().split('\n');
    const array = file('tx-array.json', `[\n${lines.join(',\n')}\n]`);
    const report = await ingestFiles({ format: 'ethereum-etl', files: [array], chain: 'ETH' }, { store });
    expect(report).toMatchObject({ rows: 298, stored: 298, rejected: 0 });
    const columns = ['hash', 'from_address', 'to_address', 'value', 'block_number', 'receipt_status'];
    const cells = lines.map((line) =>
      columns
        .map(
          (column) =>
            new RegExp(`"${column}": (?:"([^"]*)"|(\\d+)|null)`).exec(line)?.slice(1).join('') ?? '',
        )
        .join(','),
    );
    const csv = file('tx.csv', [columns.join(','), ...cells].join('\n'));
    const again = await ingestFiles(
      { format: 'ethereum-etl', files: [csv, part('blocks')], chain: 'ETH' },
      { store },
    );
    expect(again).toMatchObject({ stored: 0, duplicates: 298, rejected: 0 });
  });
});

/** The kernel for plain rows of a CSV reads what the reader of single rows reads, and leaves all other rows to it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { type IngestReport, ingestFiles } from '../../src/graph/ingest/ingest-files.ts';
import { EVM_TRANSACTION_BYTES, TransferRows } from '../../src/graph/ingest/transfer-rows.ts';
import { Fingerprinter, packTransaction } from '../../src/graph/store/fingerprint.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';

const NAMES = ['txHash', 'position', 'blockNumber', 'timestamp', 'from', 'to', 'asset', 'amount', 'valueUsd'];
const hash = (index: number): string => `0x${(index * 104_729 + 0xabcdef).toString(16).padStart(64, 'c0de')}`;
const address = (index: number): string => `0x${(index * 7919 + 0xabc).toString(16).padStart(40, 'fade')}`;
const checksummed = (index: number): string => parseAddress('ETH', address(index)).canonical;

let folder = '';
const open: TransferStore[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-plain-rows-'));
});
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
  rmSync(folder, { recursive: true });
});

/** Cells of every form that one of the readers accepts or rejects. */
const FORMS: Readonly<Record<string, readonly ((index: number) => string)[]>> = {
  txHash: [
    hash,
    hash,
    hash,
    (index) => hash(index).toUpperCase().replace('0X', '0x'),
    (index) => hash(index).slice(0, -1),
    (index) => hash(index).replace(/.$/, 'g'),
    (index) => hash(index).slice(2),
  ],
  position: [
    () => 'value',
    (index) => `log:${index}`,
    () => 'log:0',
    () => 'log:00',
    (index) => `log:0${index}`,
    () => 'log:99999999',
    () => 'log:999999999',
    () => 'log:',
    () => 'valuf',
    (index) => `trace:0_${index}`,
    () => '',
  ],
  blockNumber: [
    () => '100',
    () => '0',
    () => '0000100',
    () => '999999999999999',
    () => '',
    () => '1x',
    () => '0x10',
  ],
  timestamp: [
    () => '1655769600000',
    () => '0',
    () => '2022-06-21T00:00:00Z',
    () => '2022-06-21 00:00:00 UTC',
    () => '1655769600123',
    () => '99999999999999',
    () => '-5',
    () => '',
  ],
  from: [
    address,
    address,
    address,
    checksummed,
    () => '',
    (index) => address(index).replace('0x', '0X'),
    () => '0xabc',
  ],
  to: [
    address,
    address,
    address,
    checksummed,
    () => '',
    (index) => address(index).replace(/.$/, 'g'),
    () => '0xabc',
  ],
  asset: [
    () => 'ETH',
    () => 'ETH',
    () => address(1000),
    () => checksummed(1000),
    () => address(1001),
    () => '',
    () => 'eth',
    () => 'ETHX',
  ],
  amount: [
    () => '1',
    () => '0',
    () => '975000000000000',
    () => '123456789012345678',
    () => '1234567890123456789',
    () => '79228162514264337593543950',
    () => '9999999999999999999999999999',
    () => '0000000000000000000000000007',
    () => '18446744073709551616',
    () => '10000000000000000000000000000',
    () => '1157920892373161954235709850086879078532699846656405640394575840079131296399',
    () => '',
    () => '-1',
    () => '1.5',
    () => '12345678a',
  ],
  valueUsd: [
    () => '',
    () => '0.97',
    () => '12',
    () => '3.5',
    () => '21165.70',
    () => '0.00',
    () => '.50',
    () => '5.',
    () => '1.234',
    () => '1..5',
    () => '999999999999.99',
    () => '10000000000000.00',
    () => '-1',
    () => '1e3',
  ],
};

/** Mostly plain rows, with one cell of another form in every second one. */
function randomRows(count: number, seed: number, ending: string): string {
  const next = seededUint32(seed);
  const rows = Array.from({ length: count }, (_, index) => {
    const odd = NAMES[next() % (2 * NAMES.length)];
    const cells = NAMES.map((name) => {
      const forms = FORMS[name] as readonly ((index: number) => string)[];
      const form = name === odd ? forms[next() % forms.length] : forms[0];
      return (form as (index: number) => string)(name === 'txHash' ? index : index % 97);
    });
    const kind = next() % 60;
    if (kind === 0) return '';
    if (kind === 1) return cells.slice(1).join(',');
    if (kind === 2) return `${cells.join(',')},more`;
    if (kind === 3) return cells.map((cell) => `"${cell}"`).join(',');
    return cells.join(',');
  });
  return [NAMES.join(','), ...rows].join(ending);
}

async function loaded(name: string, text: string, fromBytes: number): Promise<[TransferStore, IngestReport]> {
  const path = join(folder, `${name}.csv`);
  writeFileSync(path, text);
  const store = openTransferStore({ path: join(folder, name), readOnly: false });
  open.push(store);
  const bulk = { fromBytes, runTransfers: 700 };
  return [store, await ingestFiles({ format: 'ndjson', files: [path], chain: 'ETH', bulk }, { store })];
}

function transactions(store: TransferStore, count: number): unknown {
  const graph = store.graph('ETH');
  return Array.from({ length: count }, (_, index) => {
    const texts = [hash(index), hash(index).slice(2), hash(index).slice(0, -1)];
    return store.transaction('ETH', texts, 10)?.transfers.map((one) => ({
      ...one,
      from: one.from === 0 ? null : graph?.addressOf(one.from),
      to: one.to === 0 ? null : graph?.addressOf(one.to),
    }));
  });
}

describe('plain rows of a CSV', () => {
  it.each(['\n', '\r\n'])(
    'are stored and rejected as if they were read one by one (line ending %j)',
    async (ending) => {
      const count = 1_500;
      const text = randomRows(count, 5, ending);
      const [fast, fastReport] = await loaded('fast', text, 0);
      const [slow, slowReport] = await loaded('slow', text, Number.POSITIVE_INFINITY);
      const summary = ({ rows, stored, duplicates, rejected, rejects }: IngestReport): unknown => ({
        rows,
        stored,
        duplicates,
        rejected,
        rejects: rejects.map(({ provenance, reason }) => [provenance.line, reason]),
      });
      expect(fastReport.stored).toBeGreaterThan(count / 2);
      expect(fastReport.rejected).toBeGreaterThan(50);
      expect(summary(fastReport)).toEqual(summary(slowReport));
      expect(fast.coverage('ETH')).toEqual(slow.coverage('ETH'));
      expect(transactions(fast, count)).toEqual(transactions(slow, count));
    },
  );
});

describe('the kernel for plain rows', () => {
  const secret = Buffer.from('0123456789abcdef', 'hex');
  const options = { rowsMax: 100, seed: 7, timeMaxMs: 1_700_000_000_000 };
  const opened = (): TransferRows => {
    const rows = TransferRows.of({ chain: 'ETH', names: NAMES, empties: [] }, secret, 1 << 16);
    if (rows === null) throw new Error('The kernel is not built.');
    return rows;
  };
  const row = (cells: Readonly<Record<string, string>> = {}): string =>
    `${NAMES.map((name) => cells[name] ?? FORMS[name]?.[0]?.(1)).join(',')}\n`;
  const learnAsset = (rows: TransferRows, text: string, number: number): void => {
    rows.window.write(`,${text}`, 0, 'latin1');
    rows.learnAsset(1, 1 + text.length, number);
  };

  it('reads amounts of up to 28 digits exactly, and the fingerprint of the transaction', () => {
    const rows = opened();
    learnAsset(rows, 'ETH', 3);
    const next = seededUint32(9);
    const amounts = Array.from({ length: 90 }, (_, index) =>
      Array.from({ length: 1 + (index % 28) }, () => next() % 10).join(''),
    );
    const text = amounts.map((amount, index) => row({ amount, txHash: hash(index) })).join('');
    const end = rows.window.write(text, 0, 'latin1');
    expect(rows.read(0, end, options)).toBe(amounts.length);
    const fingerprint = new Fingerprinter(secret);
    for (const [index, amount] of amounts.entries()) {
      const [low, middle, high] = rows.amounts.subarray(index * 3, index * 3 + 3) as unknown as number[];
      expect(
        (BigInt(high as number) << 64n) | (BigInt(middle as number) << 32n) | BigInt(low as number),
      ).toBe(BigInt(amount));
      const packed = packTransaction(hash(index));
      const at = index * EVM_TRANSACTION_BYTES;
      expect(Buffer.from(rows.transactions.subarray(at, at + EVM_TRANSACTION_BYTES))).toEqual(packed);
      fingerprint.hash(packed, 0, packed.length);
      expect([rows.highs[index], rows.lows[index]]).toEqual([fingerprint.high, fingerprint.low]);
      expect(rows.assets[index]).toBe(3);
    }
  });

  it('stops before a row of another form, and after the requested number of rows', () => {
    const rows = opened();
    learnAsset(rows, 'ETH', 0);
    const end = rows.window.write(row() + row() + row({ from: checksummed(1) }) + row(), 0, 'latin1');
    expect(rows.read(0, end, options)).toBe(2);
    expect(rows.read(0, end, { ...options, rowsMax: 1 })).toBe(1);
    expect(rows.rowEnds[0]).toBe(row().length);
    const unknown = rows.window.write(row({ asset: address(5) }), 0, 'latin1');
    expect(rows.read(0, unknown, options)).toBe(0);
  });

  it('is not used for chains with other addresses', () => {
    expect(TransferRows.of({ chain: 'BTC', names: NAMES, empties: [] }, secret, 1024)).toBeNull();
  });
});

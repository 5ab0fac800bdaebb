import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packTransaction, positionCode } from '../../../src/graph/store/fingerprint.ts';
import { type LoggedTransfer, packTransfer, recordsIn } from '../../../src/graph/store/log.ts';
import { columnMemory, type FilledRun, RunColumns } from '../../../src/graph/store/run-columns.ts';
import { RunLog, writeRunLog } from '../../../src/graph/store/run-log.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-run-log-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Transfers with every form of id, position, time, amount and value. The one with the number 20 has a block beyond the usual form. */
const transfer = (index: number): LoggedTransfer => ({
  transaction: packTransaction(
    index % 7 === 3 ? `text ${index}` : `0x${(index >> 1).toString(16).padStart(64, '0')}`,
  ),
  position: index % 5 === 4 ? `odd position ${index}` : index % 2 === 0 ? 'value' : `log:${index}`,
  blockNumber: index === 20 ? 2 ** 51 : 1_000 + (index >> 2),
  timestampMs: 1_700_000_000_000 + (index >> 2) * 12_001,
  from: index % 9 === 0 ? 0 : 1 + index,
  to: 100 + index,
  asset: 1 + (index % 12),
  amount: index % 6 === 5 ? 2n ** 130n + BigInt(index) : BigInt(index) * 10n ** BigInt(index % 20),
  cents: index % 4 === 1 ? null : index * 1_000_003,
  initiation: index % 3,
});

const files = (run: number): { values: string; records: string } => ({
  values: join(folder, `${run}.values`),
  records: join(folder, `${run}.log`),
});

/** Writes transfers as a bulk load has them in columns. */
function writeValues(run: number, first: number, count: number): void {
  const columns = new RunColumns(columnMemory(count), count);
  const positionTexts = new Map<number, string>();
  const large = new Map<number, bigint>();
  let bytes = 0;
  for (let at = 0; at < count; at++) {
    const { transaction, position, amount, cents, ...rest } = transfer(first + at);
    columns.transactions.set(transaction, bytes);
    bytes += transaction.length;
    columns.transactionEnds[at + 1] = bytes;
    const code = positionCode(position);
    columns.positions[at] = code ?? -1;
    if (code === null) positionTexts.set(at, position);
    if (amount >= 2n ** 96n) large.set(at, amount);
    for (let word = 0; word < 3; word++)
      columns.amounts[at * 3 + word] = Number((amount >> BigInt(32 * word)) & 0xffff_ffffn);
    columns.cents[at] = cents ?? -1;
    columns.blocks[at] = rest.blockNumber;
    columns.times[at] = rest.timestampMs;
    columns.from[at] = rest.from;
    columns.to[at] = rest.to;
    columns.asset[at] = rest.asset;
    columns.initiations[at] = rest.initiation;
  }
  const filled: FilledRun = {
    ...{ slot: 0, count, keys: new Uint32Array(0), isLastOfNumbers: false, assets: [] },
    ...{ positionTexts, large },
  };
  writeRunLog(files(run).values, first, filled, columns);
}

/** Writes transfers as older programs did. */
const writeRecords = (run: number, first: number, count: number): void =>
  writeFileSync(
    files(run).records,
    Buffer.concat(Array.from({ length: count }, (_, at) => packTransfer(transfer(first + at)))),
  );

describe('the log of the runs of a bulk load', () => {
  it('has the transfers of new and older runs, in values that end where those of the log do', () => {
    writeRecords(0, 0, 11);
    writeValues(1, 11, 20);
    writeRecords(2, 31, 3);
    writeValues(3, 34, 6);
    const log = new RunLog([0, 1, 2, 3].map(files));
    const ends: number[] = [];
    const records: Buffer[] = [];
    while (log.index < 40) {
      // The bytes are valid until the next call.
      records.push(...recordsIn(Buffer.from(log.next())));
      ends.push(log.index);
    }
    log.close();
    expect(ends).toEqual([8, 11, 16, 24, 31, 32, 34, 40]);
    expect(records).toEqual(Array.from({ length: 40 }, (_, index) => packTransfer(transfer(index))));
  });

  it('continues at a value', () => {
    writeValues(0, 0, 24);
    const log = new RunLog([files(0)]);
    log.skipTo(16);
    expect(recordsIn(Buffer.from(log.next()))[0]).toEqual(packTransfer(transfer(16)));
    log.close();
  });

  it('reports a file that ends inside a value', () => {
    writeValues(0, 0, 16);
    const { values } = files(0);
    writeFileSync(values, readFileSync(values).subarray(0, -1));
    const log = new RunLog([files(0)]);
    log.next();
    expect(() => log.next()).toThrow('The files of an unfinished load are truncated.');
    log.close();
  });
});

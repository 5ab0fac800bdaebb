import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INGEST_LIMITS } from '../../src/graph/ingest/limits.ts';
import { quoteLongIntegers, type Row, readRows } from '../../src/graph/ingest/rows.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-rows-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function rowsOf(content: string | Buffer): Promise<Row[]> {
  const path = join(folder, 'rows');
  writeFileSync(path, content);
  const rows: Row[] = [];
  for await (const row of readRows(path)) rows.push(row);
  return rows;
}

const shown = (rows: readonly Row[]): unknown[] =>
  rows.map((row) => (row.ok ? [row.line, row.fields] : [row.line, 'fault']));

describe('rows of a file', () => {
  it('are read from JSON lines, with a fault in the place of a broken line', async () => {
    const rows = await rowsOf('{"a":1}\n\n{"a":\n[2]\n{"a":3}');
    expect(shown(rows)).toEqual([
      [1, { a: 1 }],
      [3, 'fault'],
      [4, 'fault'],
      [5, { a: 3 }],
    ]);
  });

  it('are read from one JSON array, however it is laid out', async () => {
    const rows = await rowsOf('\n[\n {"a":"[{,\\"]"},{"b":\n[1,2]},\n 7 ]\n');
    expect(shown(rows)).toEqual([
      [3, { a: '[{,"]' }],
      [3, { b: [1, 2] }],
      [5, 'fault'],
    ]);
  });

  it('are read from CSV by the names of its header', async () => {
    const rows = await rowsOf('hash,value\r\n0x1,"12"\r\n0x2,340282366920938463463374607431768211456\r\n');
    expect(shown(rows)).toEqual([
      [2, { hash: '0x1', value: '12' }],
      [3, { hash: '0x2', value: '340282366920938463463374607431768211456' }],
    ]);
  });

  it('are read from gzip', async () => {
    expect(shown(await rowsOf(gzipSync('{"a":1}\n{"a":2}\n')))).toEqual([
      [1, { a: 1 }],
      [2, { a: 2 }],
    ]);
  });

  it('are none in an empty file', async () => {
    expect(await rowsOf(' \n')).toEqual([]);
  });

  it('refuse an array that does not end, naming the line', async () => {
    await expect(rowsOf('[{"a":1},\n{"a":2}')).rejects.toThrow(/line 2: the JSON array is not closed/);
  });

  it('refuse what stands behind an array', async () => {
    await expect(rowsOf('[{"a":1}]\n{"a":2}')).rejects.toThrow(/outside the JSON array/);
  });

  it('skip a line that is too long, and go on behind it', async () => {
    const long = `{"a":"${'x'.repeat(INGEST_LIMITS.ingestRowCharsMax)}"}`;
    expect(shown(await rowsOf(`{"a":1}\n${long}\n{"a":3}\n`))).toEqual([
      [1, { a: 1 }],
      [2, 'fault'],
      [3, { a: 3 }],
    ]);
  });

  it('close the file when the reader stops early', async () => {
    const path = join(folder, 'early');
    writeFileSync(path, '{"a":1}\n{"a":2}\n');
    for await (const row of readRows(path)) {
      expect(row.ok).toBe(true);
      break;
    }
    rmSync(path);
  });

  it('stop when the signal says so', async () => {
    const path = join(folder, 'aborted');
    writeFileSync(path, '{"a":1}\n');
    const reading = async (): Promise<void> => {
      for await (const _ of readRows(path, AbortSignal.abort(new Error('enough'))));
    };
    await expect(reading()).rejects.toThrow('enough');
  });
});

describe('long whole numbers in JSON', () => {
  it('keep all their digits', () => {
    const text =
      '{"v":7786596450288373164569331648084,"s":"12345678901234567890 ,\\"1111111111111111","n":-1234567890123456789}';
    expect(JSON.parse(quoteLongIntegers(text))).toEqual({
      v: '7786596450288373164569331648084',
      s: '12345678901234567890 ,"1111111111111111',
      n: '-1234567890123456789',
    });
  });

  it('are told from fractions, exponents and texts: any other JSON stays what it was', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const long = /(?<![\d.eE+])-?\d{16,}(?![\d.eE])/;
        fc.pre(!long.test(text));
        expect(JSON.parse(quoteLongIntegers(text))).toEqual(JSON.parse(text));
      }),
    );
    expect(quoteLongIntegers('[1.2345678901234567,1234567890123456789e1,12345678901234567.5]')).toBe(
      '[1.2345678901234567,1234567890123456789e1,12345678901234567.5]',
    );
  });
});

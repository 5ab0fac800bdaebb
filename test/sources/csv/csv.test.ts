import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CsvFault, type CsvRow, readCsv, splitCsvRow } from '../../../src/sources/csv.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-csv-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function read(text: string): Promise<(CsvRow | CsvFault)[]> {
  const path = join(folder, 'rows.csv');
  writeFileSync(path, text);
  const rows: (CsvRow | CsvFault)[] = [];
  for await (const row of readCsv(path)) rows.push(row);
  return rows;
}

const cellsOf = (rows: readonly (CsvRow | CsvFault)[]): unknown[] =>
  rows.map((row) => (row.type === 'row' ? row.cells : row.reason));

describe('splitCsvRow', () => {
  it.each([
    ['a,b,c', ['a', 'b', 'c']],
    ['', ['']],
    [',', ['', '']],
    ['"a,b",c', ['a,b', 'c']],
    ['"say ""hi""",', ['say "hi"', '']],
    ['a "quoted" word,b', ['a "quoted" word', 'b']],
    ['""', ['']],
    ['"a', 'open'],
    ['"a""', 'open'],
    ['"a"b,c', 'broken'],
  ])('%s', (text, cells) => {
    expect(splitCsvRow(text)).toEqual(cells);
  });

  it('splits every row that RFC 4180 allows', () => {
    const quoted = (cell: string): string => (/[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (cells) => {
        expect(splitCsvRow(cells.map(quoted).join(','))).toEqual(cells);
      }),
    );
  });
});

describe('readCsv', () => {
  it('joins the lines of a quoted cell, and numbers rows by their first line', async () => {
    const rows = await read('\uFEFFa,b\r\n\r\n"one\ntwo",x\n"three",y');
    expect(cellsOf(rows)).toEqual([
      ['a', 'b'],
      ['one\ntwo', 'x'],
      ['three', 'y'],
    ]);
    expect(rows.map(({ line }) => line)).toEqual([1, 3, 5]);
  });

  it('loses only the row with an unclosed quote', async () => {
    const rows = await read('a,b\n"open,1\nc,d\ne,f\n');
    expect(cellsOf(rows)).toEqual([
      ['a', 'b'],
      'A quote is opened and never closed.',
      ['c', 'd'],
      ['e', 'f'],
    ]);
  });

  it('does not lose a large file after an unclosed quote', async () => {
    const rows = await read(`a,b\n"open,1\n${'x,y\n'.repeat(40_000)}`);
    expect(rows).toHaveLength(40_002);
    expect(rows[1]).toMatchObject({ type: 'fault', line: 2, text: '"open,1' });
  });

  it('rejects a row that is too long', async () => {
    const rows = await read(`a,b\n${'x'.repeat(70_000)},1\nc,d\n`);
    expect(rows.map(({ type }) => type)).toEqual(['row', 'fault', 'row']);
  });
});

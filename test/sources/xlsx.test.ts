import { describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { seededUint32 } from '../../src/base/random.ts';
import { readSheet, type SheetRow, serialDate } from '../../src/sources/xlsx.ts';
import { workbookOf, zipOf } from '../setup/workbook.ts';
import { withFolder } from './collect.ts';

async function rowsOf(path: string): Promise<SheetRow[]> {
  const rows: SheetRow[] = [];
  for await (const row of readSheet(path)) rows.push(row);
  return rows;
}

describe('an XLSX workbook', () => {
  it('yields the rows of its first sheet, without readings, with gaps as empty texts', async () => {
    await withFolder(async (write) => {
      const rows = await rowsOf(
        write('a.xlsx', workbookOf([['Title'], [], ['a & b', '', 45_000], ['<x>', 1.5]])),
      );
      expect(rows).toEqual([
        { line: 1, cells: ['Title'] },
        { line: 3, cells: ['a & b', '', '45000'] },
        { line: 4, cells: ['<x>', '1.5'] },
      ]);
    });
  });

  it('reads inline texts, results of formulas and cells without references, and no errors', async () => {
    await withFolder(async (write) => {
      const sheet =
        '<worksheet><sheetData><row><c t="inlineStr"><is><t>in </t></is></c><c t="str"><f>A1</f><v>out</v></c><c t="e"><v>#N/A</v></c></row></sheetData></worksheet>';
      const path = write(
        'b.xlsx',
        zipOf({ 'xl/workbook.xml': '<workbook/>', 'xl/worksheets/sheet1.xml': sheet }),
      );
      expect(await rowsOf(path)).toEqual([{ line: 1, cells: ['in ', 'out', ''] }]);
    });
  });

  it('rejects other files and damaged workbooks with INVALID_FILE', async () => {
    const next = seededUint32(4);
    await withFolder(async (write) => {
      for (const content of ['', '<html></html>', 'a,b', zipOf({ 'a.txt': 'x', 'b.txt': 'y' })])
        await expect(rowsOf(write('x.xlsx', content))).rejects.toMatchObject({ code: 'INVALID_FILE' });
      const whole = workbookOf([
        ['a', 'b'],
        ['c', 1],
      ]);
      for (let round = 0; round < 80; round++) {
        const broken = Buffer.from(whole);
        for (let hit = 0; hit < 3; hit++) broken[next() % broken.length] = next() & 0xff;
        await rowsOf(write('x.xlsx', broken)).catch((error: unknown) => {
          if (!(error instanceof AssayError) || error.code !== 'INVALID_FILE') throw error;
        });
      }
    });
  });

  it.each([
    ['45000', '2023-03-15'],
    ['42826.0', '2017-04-01'],
    ['1', null],
    ['99999', null],
    ['2024-01-01', null],
  ])('the serial number %s is the date %s', (text, day) => {
    expect(serialDate(text)).toBe(day);
  });
});

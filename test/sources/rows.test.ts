import { describe, expect, it } from 'vitest';
import {
  columnsOf,
  readWholeTable,
  type WholeTableOptions,
  type WholeTableRow,
} from '../../src/sources/rows.ts';
import { withFolder } from './collect.ts';

const read = (content: string, options: Partial<WholeTableOptions> = {}): Promise<WholeTableRow[]> =>
  withFolder(async (write) => {
    const rows: WholeTableRow[] = [];
    for await (const row of readWholeTable(write('t.csv', content), { delimiter: ',', ...options }))
      rows.push(row);
    return rows;
  });

describe('tables', () => {
  it('counts the lines inside cells with line breaks', async () => {
    expect(await read('Report Date: x\na,b\n"1\n2",x\n3,y\n', { linesAbove: 1 })).toEqual([
      { kind: 'above', line: 1, cells: ['Report Date: x'] },
      { kind: 'header', line: 2, cells: ['a', 'b'] },
      { kind: 'row', line: 3, cells: ['1\n2', 'x'] },
      { kind: 'row', line: 5, cells: ['3', 'y'] },
    ]);
  });

  it('rejects a row of another width, and refuses a table cut in its last row', async () => {
    expect(await read('a,b\n1\n2,3\n')).toMatchObject([
      { kind: 'header' },
      {
        kind: 'reject',
        reject: { reason: 'Expected 2 cells, found 1.', text: '1', provenance: { line: 2 } },
      },
      { kind: 'row', cells: ['2', '3'] },
    ]);
    await expect(read('a,b\n1,2\n3')).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringMatching(/^t\.csv, line 3: the last row is incomplete/),
    });
    await expect(read('a,b\n1,"2\n3')).rejects.toMatchObject({ code: 'INVALID_FILE' });
  });

  it('ignores the end mark of DOS files', async () => {
    expect(await read('1,2\r\n\u001a', { cells: 2 })).toEqual([{ kind: 'row', line: 1, cells: ['1', '2'] }]);
  });

  it('finds columns by name without regard to letter case and punctuation', () => {
    const cell = columnsOf(['Unique ID', 'D.O.B', 'Last Updated', 'Last Updated']);
    expect([
      cell(['a', ' b ', 'c', 'd'], 'dob'),
      cell(['a'], 'unique_id'),
      cell(['a', 'b', 'c', 'd'], 'last updated'),
    ]).toEqual(['b', 'a', 'c']);
    expect(cell(['a'], 'missing')).toBe('');
  });
});

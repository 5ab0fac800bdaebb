import { describe, expect, it } from 'vitest';
import { csvCell, csvText } from '../src/ui/csv.ts';

describe('a cell of a CSV file', () => {
  it.each([
    ['=HYPERLINK("https://evil.example","x")', `"'=HYPERLINK(""https://evil.example"",""x"")"`],
    ['+1 555 0100', "'+1 555 0100"],
    ['-2+3', "'-2+3"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\uFFFD=1"],
    ['  =1', "'  =1"],
    ['＝1', "'＝1"],
    ['harmless;=cmd|x!A1', `"harmless;'=cmd|x!A1"`],
    ['|cmd', "'|cmd"],
  ])('makes the formula %j a text', (value, cell) => {
    expect(csvCell(value)).toBe(cell);
  });

  it.each([
    [-12.5, '-12.5'],
    ['-12.5', '-12.5'],
    ['1e6', '1e6'],
    ['Binance', 'Binance'],
    [null, ''],
    ['a,b', '"a,b"'],
    ['a\nb', 'a\uFFFDb'],
    ['say "x"', '"say ""x"""'],
  ])('leaves %j as it is', (value, cell) => {
    expect(csvCell(value)).toBe(cell);
  });
});

it('a file has a byte order mark, a header and lines that end as RFC 4180 says', () => {
  expect(csvText(['Name', 'Points'], [['ü', 3]])).toBe('\uFEFFName,Points\r\nü,3\r\n');
});

/** Files of bulk jobs: what is recognised before they are sent, and results as CSV. */
import { describe, expect, it } from 'vitest';
import { resultCsv } from '../src/pages/bulk/result.ts';
import { factsOf, formatOf } from '../src/pages/bulk/upload.ts';

const fileOf = (name: string, text: string): File => new File([text], name);

describe('a file for a bulk job', () => {
  it.each([
    ['a.csv', 'address,chain\n', 'csv'],
    ['a.txt', '0xabc\n', 'csv'],
    ['a.csv', '"address"\n', 'csv'],
    ['a.ndjson', '"0xabc"\n', 'ndjson'],
    ['a.txt', '  {"address":"0xabc"}\n', 'ndjson'],
  ] as const)('recognises %s that begins with %j as %s', (name, head, format) => {
    expect(formatOf(name, head)).toBe(format);
  });

  it.each([
    ['a.csv', 'chain;Address\nETH;0xabc\n\n  \nETH;0xdef', 2],
    ['a.txt', '0xabc\r\n0xdef\r\n', 2],
    ['a.ndjson', '{"address":"0xabc"}\n', 1],
  ])('counts the addresses of %s, not its header and empty lines', async (name, text, lines) => {
    expect((await factsOf(fileOf(name, text), 5)).lines).toBe(lines);
  });

  it('shows the first lines, without a byte order mark', async () => {
    const { head } = await factsOf(fileOf('a.csv', '\uFEFFaddress\n\na\nb\nc\n'), 3);
    expect(head).toEqual(['address', 'a', 'b']);
  });
});

describe('a result as CSV', () => {
  it('has a column for every field of any line, and names of lists of objects', () => {
    const lines = [
      { address: 'a', risk: { score: 7, level: 'LOW' }, labels: [{ name: 'One' }, { name: 'Two' }] },
      { address: 'b', error: 'not an address', line: 2 },
    ];
    const csv = resultCsv(`${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
    expect(csv.trim().split('\r\n')).toEqual([
      'address,risk.score,risk.level,labels,error,line',
      'a,7,LOW,"One; Two",,',
      'b,,,,not an address,2',
    ]);
  });

  it('makes formulas of hostile names texts', () => {
    const csv = resultCsv(JSON.stringify({ labels: [{ name: '=HYPERLINK("https://evil.example")' }] }));
    expect(csv).toContain(`"'=HYPERLINK`);
  });

  it('does not nest without end', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 50; level++) deep = { deep };
    expect(resultCsv(JSON.stringify({ deep })).split('\r\n')[0]?.split('.').length).toBeLessThan(4);
  });
});

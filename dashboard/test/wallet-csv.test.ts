/** Files of wallets: every line becomes a row, and one that cannot be added says why. */
import { describe, expect, it } from 'vitest';
import { ROWS_MAX, readWallets } from '../src/pages/wallets/wallet-csv.ts';
import { csvText } from '../src/ui/csv.ts';
import { parseCsv } from '../src/ui/csv-read.ts';

const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
const facts = {
  isMonitored: (chain: string) => chain === 'ETH' || chain === 'BSC',
  detectChains: (text: string) => (/^0x[0-9a-f]{40}$/.test(text) ? ['ETH', 'BSC', 'CELO'] : []),
};
const read = (text: string, chain = '') => readWallets(text, chain, facts);

describe('a CSV file of wallets', () => {
  it('is split with quotes, line breaks in quotes, and any of three separators', () => {
    expect(parseCsv('\uFEFFa;"b ""x""; y";c\r\n\r\n1;"two\nlines";3')).toEqual([
      { line: 1, cells: ['a', 'b "x"; y', 'c'] },
      { line: 3, cells: ['1', 'two\nlines', '3'] },
    ]);
    expect(parseCsv('a\tb,c\td\n')).toEqual([{ line: 1, cells: ['a', 'b,c', 'd'] }]);
    expect(parseCsv('')).toEqual([]);
  });

  it('is read by the names of its columns, in any order', () => {
    const { rows, header } = read(
      `Label,alert_threshold,Wallet Address,CHAIN\nDesk,High,${address(1)},eth\n`,
    );
    expect(header).toHaveLength(4);
    expect(rows).toMatchObject([
      { line: 2, address: address(1), chain: 'ETH', label: 'Desk', threshold: 'high', problem: null },
    ]);
  });

  it('is read without a header as address, chain, label', () => {
    expect(read(`${address(1)},BSC,Desk\n${address(2)}`, 'ETH').rows).toMatchObject([
      { chain: 'BSC', label: 'Desk', problem: null },
      { chain: 'ETH', label: '', problem: null },
    ]);
  });

  it('keeps rows with errors, each with the reason', () => {
    const { rows } = read(
      [
        'address,chain,label,threshold,frequency,notes',
        `,ETH`,
        `${address(1)},`,
        `${address(1)},BTC`,
        `0x12,ETH`,
        `${address(1)},ETH,${'x'.repeat(201)}`,
        `${address(1)},ETH,a,often`,
        `${address(1)},ETH,a,all,hourly`,
        `${address(1)},ETH,a,all,daily,${'x'.repeat(4_001)}`,
        `${address(2)},ETH`,
        `${address(2)},eth`,
        `${address(2)},BSC`,
      ].join('\n'),
    );
    expect(rows.map(({ problem }) => problem)).toEqual([
      'NO_ADDRESS',
      'NO_CHAIN',
      'CHAIN',
      'ADDRESS',
      'LABEL',
      'THRESHOLD',
      'FREQUENCY',
      'NOTES',
      null,
      'TWICE',
      null,
    ]);
  });

  it('reads a saved file again with the labels that it had', () => {
    const labels = ['=1+2', "'quoted'", '-desk', "'=1"];
    const file = csvText(
      ['address', 'chain', 'label'],
      labels.map((label, n) => [address(n + 1), 'ETH', label]),
    );
    // A label that began with an apostrophe before a formula cannot be told from one that was made safe.
    expect(read(file).rows.map(({ label }) => label)).toEqual(['=1+2', "'quoted'", '-desk', '=1']);
  });

  it('says how many rows are beyond the last one that is read', () => {
    const lines = Array.from({ length: ROWS_MAX + 3 }, (_, n) => `${address(n + 1)},ETH`);
    const { rows, cut } = read(lines.join('\n'));
    expect([rows.length, cut]).toEqual([ROWS_MAX, 3]);
  });
});

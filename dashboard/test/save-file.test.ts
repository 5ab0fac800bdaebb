import { describe, expect, it } from 'vitest';
import { csvName } from '../src/ui/save-file.ts';

const NOW = new Date('2026-11-30T19:18:21.426Z');
const name = (pathname: string, search: string, table: string): string =>
  csvName({ pathname, search }, table, NOW);

describe('the name of a CSV file', () => {
  it('has the address, the day of the answer and the time of the export', () => {
    expect(name('/screening/ETH/0xabc', '?asOf=2026-05-01&tab=exposure', 'exposure')).toBe(
      'screening-ETH-0xabc-exposure-as-of-2026-05-01-2026-11-30-191821.csv',
    );
    expect(name('/screening/ETH/0xabc', '', 'exposure')).toBe(
      'screening-ETH-0xabc-exposure-2026-11-30-191821.csv',
    );
    expect(name('/saved/01m8', '', 'score')).toBe('saved-01m8-score-2026-11-30-191821.csv');
  });

  it('does not repeat the name of a page that is one table', () => {
    expect(name('/cases', '', 'cases')).toBe('cases-2026-11-30-191821.csv');
    expect(name('/', '', 'lists')).toBe('lists-2026-11-30-191821.csv');
  });

  it('has only characters that all file systems take, and a bounded length', () => {
    expect(name('/screening/BCH/bitcoincash%3Aqq', '?asOf=%2Fx', 'exposure')).toBe(
      'screening-BCH-bitcoincash_qq-exposure-2026-11-30-191821.csv',
    );
    expect(name(`/screening/ADA/${'a'.repeat(500)}`, '', 'exposure').length).toBeLessThan(255);
  });
});

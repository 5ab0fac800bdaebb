import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLines } from '../../bench/bulk.ts';
import {
  type CheckedAnswer,
  itemAnswer,
  type KnownAddress,
  requireAnswers,
} from '../../bench/check-answers.ts';

const asked: readonly KnownAddress[] = [
  { chain: 'ETH', text: '0xab', isLabelled: true },
  { chain: 'BTC', text: 'bc1q', isLabelled: false },
];
const right: readonly CheckedAnswer[] = [
  { chain: 'ETH', address: '0xAB', isLabelled: true },
  { chain: 'BTC', address: 'bc1q', isLabelled: false },
];
const [first, second] = right as [CheckedAnswer, CheckedAnswer];

describe('the answers of a server under load', () => {
  test('are right if they say what the index has', () => {
    expect(() => requireAnswers('bulk', asked, right)).not.toThrow();
  });

  test.each<[string, readonly CheckedAnswer[], string]>([
    ['an item is missing', [first], '1 answers to 2 addresses'],
    ['labels are missing', [{ ...first, isLabelled: false }, second], 'ETH 0xab is labelled'],
    ['labels are invented', [first, { ...second, isLabelled: true }], 'BTC bc1q is not labelled'],
    ['the order is another', [second, first], 'asked for ETH 0xab, answered for BTC bc1q'],
    [
      'an address that is not hexadecimal is in another case',
      [first, { ...second, address: 'BC1Q' }],
      'asked for BTC',
    ],
    ['the chain is another', [{ ...first, chain: 'BSC' }, second], 'asked for ETH 0xab, answered for BSC'],
  ])('are refused if %s', (_, answers, reason) => {
    expect(() => requireAnswers('bulk', asked, answers)).toThrow(reason);
  });

  test('have the labels of an item', () => {
    const item = { chain: 'ETH', address: '0xab' } as const;
    expect(itemAnswer({ ...item, labels: [] }).isLabelled).toBe(false);
    expect(itemAnswer({ ...item, labels: [{} as never] }).isLabelled).toBe(true);
  });
});

describe('the lines of a bulk file', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-lines-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const texts = ['0x01', '0x02', '0x03', '0x04'];
  const line = (address: string, labels: readonly object[]): string =>
    JSON.stringify({ address, chain: 'ETH', labels });
  const right = texts.map((text, index) => line(text, index % 2 === 0 ? [{}] : []));
  const check = (lines: readonly string[]): Promise<void> => {
    const output = join(folder, 'labels.ndjson');
    writeFileSync(output, `${lines.join('\n')}\n`);
    return checkLines(output, texts);
  };

  test('are right if every other one is labelled, in the order of the addresses', async () => {
    await expect(check(right)).resolves.toBeUndefined();
  });

  test.each<[string, readonly string[]]>([
    ['labels are missing', right.map((_, index) => line(texts[index] as string, []))],
    ['a line is left out', right.toSpliced(1, 1)],
    ['the last line is left out', right.slice(0, -1)],
    ['there is one more', [...right, right[0] as string]],
    ['the order is another', [right[2], right[1], right[0], right[3]] as string[]],
  ])('are refused if %s', async (_, lines) => {
    await expect(check(lines)).rejects.toThrow();
  });
});

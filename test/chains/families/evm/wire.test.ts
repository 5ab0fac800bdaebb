/** Receipts whose logs are not theirs. */
import { describe, expect, it } from 'vitest';
import { readReceipt } from '../../../../src/chains/families/evm/wire.ts';

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const log = (change: object) => ({
  address: `0x${'a'.repeat(40)}`,
  topics: [],
  data: '0x',
  logIndex: '0x0',
  ...change,
});
const receipt = (change: object) =>
  readReceipt({
    ...{ transactionHash: hash('1'), blockHash: hash('2'), status: '0x1', logs: [log({}), log(change)] },
  } as never);

describe('the logs of a receipt', () => {
  it.each([
    {},
    { transactionHash: hash('1'), blockHash: hash('2'), removed: false },
    { transactionHash: null, blockHash: null },
  ])('are accepted if they name its transaction and block, or none: %j', (change) => {
    expect(receipt(change).logs).toHaveLength(2);
  });

  it.each([
    [{ transactionHash: hash('3') }, 'transactionHash'],
    [{ blockHash: hash('3') }, 'blockHash'],
    [{ removed: true }, 'removed'],
  ])('are refused if they are of another one, or reverted: %j', (change, field) => {
    expect(() => receipt(change)).toThrow(expect.objectContaining({ code: 'CHAIN_BAD_ANSWER' }));
    expect(() => receipt(change)).toThrow(field);
  });
});

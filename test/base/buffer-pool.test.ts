import { expect, it } from 'vitest';
import {
  createBorrower,
  createLender,
  createLendingMemory,
  type LendableJson,
  lendJson,
} from '../../src/base/buffer-pool.ts';
import { LIMITS } from '../../src/base/limits.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (result: unknown): string => Buffer.from((result as LendableJson).json).toString();

it('a result comes back as it was, whatever other results are on loan', () => {
  const memory = createLendingMemory();
  const [first, second] = [createLender(memory), createLender(memory)];
  const borrow = createBorrower(memory);
  const loans = Array.from({ length: LIMITS.poolSlots }, (_, index) =>
    lendJson({ json: bytesOf(`answer ${index}`), answered: index }, index % 2 === 0 ? first : second),
  );
  const results = loans.map(borrow);
  results.forEach((result, index) => {
    expect(textOf(result)).toBe(`answer ${index}`);
    expect(result).toMatchObject({ answered: index });
  });
  expect(new Set(loans.map((lent) => lent.loan?.slot)).size).toBe(LIMITS.poolSlots);
});

it('without a free slot, or where it is too long, a result keeps its own bytes', () => {
  const memory = createLendingMemory();
  const lend = createLender(memory);
  const borrow = createBorrower(memory);
  const long = lendJson({ json: new Uint8Array(LIMITS.poolSlotBytes + 1) }, lend);
  expect(long.loan).toBeUndefined();
  const taken = Array.from({ length: LIMITS.poolSlots }, () =>
    borrow(lendJson({ json: bytesOf('x') }, lend)),
  );
  const full = lendJson({ json: bytesOf('own') }, lend);
  expect(full.loan).toBeUndefined();
  expect(textOf(borrow(full))).toBe('own');
  (taken[7] as LendableJson).release?.();
  expect(lendJson({ json: bytesOf('again') }, lend).loan?.slot).toBe(7);
});

it('a result without a JSON text passes as it is', () => {
  const memory = createLendingMemory();
  const lend = createLender(memory);
  const borrow = createBorrower(memory);
  for (const result of [null, 'text', 7, new Uint8Array(3), { json: 'text' }]) {
    expect(borrow(lendJson(result, lend))).toBe(result);
  }
});

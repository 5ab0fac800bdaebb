import { expect, it } from 'vitest';
import { DueBuffer } from '../../src/monitoring/delivery/due-buffer.ts';
import { DELIVERY_LIMITS } from '../../src/monitoring/delivery/limits.ts';
import type { Waiting } from '../../src/monitoring/delivery/receiver-queues.ts';

const MAX = DELIVERY_LIMITS.deliveryScanMax;
const row = (n: number): Waiting => ({
  queue: 'a/webhook/1',
  id: `d${n}`,
  accountId: 'a',
  walletId: `w${n % 3}`,
  dueMs: n,
  isFirst: true,
});
const rows = (count: number, from = 0): Waiting[] => Array.from({ length: count }, (_, n) => row(from + n));
const any = (): boolean => true;

it('returns entries in their order, without those that must wait or are attempted already', () => {
  const buffer = new DueBuffer();
  expect([buffer.needsRefill(0), buffer.take(any)]).toEqual([true, null]);
  buffer.refill({ waiting: rows(5), nextDueMs: null }, new Set(['d0']));
  expect(buffer.take(({ walletId }) => walletId !== 'w1')?.id).toBe('d2');
  expect([1, 2, 3].map(() => buffer.take(any)?.id)).toEqual(['d1', 'd3', 'd4']);
  expect([buffer.take(any), buffer.needsRefill(1_000)]).toEqual([null, false]);
});

it('is filled again when deliveries were stored, or when the next one is due', () => {
  const buffer = new DueBuffer();
  buffer.refill({ waiting: [], nextDueMs: 500 }, new Set());
  expect(buffer.nextDueMs).toBe(500);
  expect([499, 500].map((now) => buffer.needsRefill(now))).toEqual([false, true]);
  buffer.refill({ waiting: rows(1), nextDueMs: null }, new Set());
  expect(buffer.needsRefill(1_000)).toBe(false);
  buffer.outdate();
  expect(buffer.needsRefill(1_000)).toBe(true);
  buffer.refill({ waiting: rows(1), nextDueMs: null }, new Set());
  buffer.clear();
  expect([buffer.needsRefill(1_000), buffer.take(any)]).toEqual([true, null]);
});

it('is filled again at half of its size only, while the outbox has more', () => {
  const buffer = new DueBuffer();
  buffer.refill({ waiting: rows(MAX), nextDueMs: null }, new Set());
  for (let taken = 0; taken < MAX / 2; taken++) {
    expect(buffer.needsRefill(1_000)).toBe(false);
    buffer.take(any);
  }
  buffer.take(any);
  expect(buffer.needsRefill(1_000)).toBe(true);
});

/** Addresses parsed per second on one thread, compared with a minimal loop over the same bytes in the same run. */
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check } from '@scure/base';
import { isoTime, systemClock } from '../../src/base/clock.ts';
import { KeyBatch } from '../../src/chains/address/key-batch.ts';
import {
  formatAddressKey,
  maxKeyBytes,
  writeAddressKey,
  writeAddressKeyFromText,
} from '../../src/chains/address/parse.ts';
import { BATCH_ITEMS } from '../../src/screening/bulk-items.ts';
import { type BenchReport, publish, report, row } from '../harness.ts';

/** More than any string cache holds, and created in less than a second. */
const COUNT = 20_000;
const MEASURE_MS = 600;

/** Best of three windows: other work of the machine can only reduce the speed. */
function rate(round: () => void): number {
  round();
  let best = 0;
  for (let window = 0; window < 3; window++) {
    const start = performance.now();
    let rounds = 0;
    while (performance.now() - start < MEASURE_MS / 3) {
      round();
      rounds++;
    }
    best = Math.max(best, (rounds * COUNT * 1000) / (performance.now() - start));
  }
  return best;
}

const randomKey = (keyByte: number): Uint8Array => Uint8Array.of(keyByte, 1, ...randomBytes(20));

export async function benchAddress(): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const batch = new KeyBatch();
  const scure = createBase58check(sha256);
  const mixed = Array.from({ length: COUNT }, () => formatAddressKey(randomKey(1), 'ETH'));
  const lower = mixed.map((text) => text.toLowerCase());
  const bitcoin = Array.from({ length: COUNT }, () => formatAddressKey(randomKey(2), 'BTC'));
  const lines = Buffer.from(lower.join(''));
  const out = new Uint8Array(maxKeyBytes);
  let bad = 0;
  let sum = 0;
  const texts = (chain: 'ETH' | 'BTC', list: readonly string[]) => () => {
    for (const text of list) if (writeAddressKeyFromText(chain, text, out, 0) !== 22) bad++;
  };
  const batches = (chain: 'ETH' | 'BTC', list: readonly string[]): (() => void) => {
    const source = Buffer.from(list.join(''));
    let next = 0;
    const places = list.map(({ length }) => {
      next += length;
      return { start: next - length, end: next };
    });
    return () => {
      for (let from = 0; from < COUNT; from += BATCH_ITEMS) {
        const to = Math.min(COUNT, from + BATCH_ITEMS);
        batch.read(source, places, from, to, () => chain);
        for (let index = 0; index < to - from; index++) if (batch.lengths[index] !== 22) bad++;
      }
    };
  };
  const byScure = (): void => {
    for (const text of bitcoin) if (scure.decode(text).length !== 21) bad++;
  };
  const control = rate(() => {
    for (let i = 0; i < lines.length; i++) sum = (sum + (lines[i] as number)) | 0;
  });
  const fromBytes = rate(() => {
    for (let i = 0; i < COUNT; i++) {
      if (writeAddressKey('ETH', lines, i * 42, i * 42 + 42, out, 0) !== 22) bad++;
    }
  });
  const rows = [
    row('control: sum of the 42 bytes of an address', control, 'addresses/s'),
    row('EVM lower case from bytes', fromBytes, 'addresses/s', { atLeast: 10_000_000 }, control),
    row('EVM lower case in batches', rate(batches('ETH', lower)), 'addresses/s', undefined, control),
    row(
      'EVM lower case from text',
      rate(texts('ETH', lower)),
      'addresses/s',
      { atLeast: 3_000_000 },
      control,
    ),
    row('EVM mixed case from text', rate(texts('ETH', mixed)), 'addresses/s', { atLeast: 150_000 }, control),
    row('base58check from text', rate(texts('BTC', bitcoin)), 'addresses/s', { atLeast: 300_000 }, control),
    row(
      'base58check in batches',
      rate(batches('BTC', bitcoin)),
      'addresses/s',
      { atLeast: 2_500_000 },
      control,
    ),
    row('peer: base58check by @scure/base', rate(byScure), 'addresses/s', undefined, control),
  ];
  if (bad > 0 || !Number.isInteger(sum)) throw new Error(`${bad} addresses of the benchmark were refused`);
  return report('address', startedAt, { addresses: COUNT, threads: 1 }, rows);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) publish(await benchAddress());

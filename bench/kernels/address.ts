/** Addresses parsed a second on one thread, beside a bare loop over the same bytes in the same run. */
import { randomBytes } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import {
  formatAddressKey,
  maxKeyBytes,
  writeAddressKey,
  writeAddressKeyFromText,
} from '../../src/chains/address/parse.ts';

export interface AddressFigure {
  readonly name: string;
  readonly opsPerSecond: number;
  /** What the figure must reach; 0 for the control. */
  readonly goal: number;
}

/** More than any cache of strings holds, less than a second to make. */
const COUNT = 20_000;
const MEASURE_MS = 600;

/** Best of three windows: the machine's other work only ever takes speed away. */
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

export async function benchAddress(): Promise<AddressFigure[]> {
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
  const figures = [
    {
      name: 'control: sum of 42 bytes',
      goal: 0,
      opsPerSecond: rate(() => {
        for (let i = 0; i < lines.length; i++) sum = (sum + (lines[i] as number)) | 0;
      }),
    },
    {
      name: 'EVM lower case from bytes',
      goal: 10_000_000,
      opsPerSecond: rate(() => {
        for (let i = 0; i < COUNT; i++) {
          if (writeAddressKey('ETH', lines, i * 42, i * 42 + 42, out, 0) !== 22) bad++;
        }
      }),
    },
    { name: 'EVM lower case from text', goal: 3_000_000, opsPerSecond: rate(texts('ETH', lower)) },
    { name: 'EVM mixed case from text', goal: 150_000, opsPerSecond: rate(texts('ETH', mixed)) },
    { name: 'base58check from text', goal: 300_000, opsPerSecond: rate(texts('BTC', bitcoin)) },
  ];
  if (bad > 0 || !Number.isInteger(sum)) throw new Error(`${bad} addresses of the benchmark were refused`);
  return figures;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const { name, opsPerSecond, goal } of await benchAddress()) {
    const verdict = goal === 0 ? '' : opsPerSecond >= goal ? 'reached' : 'MISSED';
    console.log(
      `${name.padEnd(28)}${(opsPerSecond / 1e6).toFixed(2).padStart(10)} M/s   goal ${(goal / 1e6).toFixed(2).padStart(6)}   ${verdict}`,
    );
  }
}

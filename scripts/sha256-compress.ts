/**
 * Generates src/chains/address/sha256-compress.ts: the 64 rounds of SHA-256 (FIPS 180-4) unrolled, with constants inlined and the message
 * schedule in 16 variables. A loop over tables took 1.6 times as long, and every Bitcoin-like address costs two compressions.
 * Run: `npm run build && node dist/scripts/sha256-compress.js`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../src/base/paths.ts';

const ROUNDS = 64;
const SCHEDULE = 16;

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, section 4.2.2). */
function constants(): number[] {
  const primes: bigint[] = [];
  for (let candidate = 2n; primes.length < ROUNDS; candidate++) {
    if (primes.every((prime) => candidate % prime !== 0n)) primes.push(candidate);
  }
  return primes.map((prime) => {
    // Greatest x with x³ ≤ prime · 2^96: the cube root with 32 bits after the binary point.
    const target = prime << 96n;
    let root = 0n;
    for (let bit = 1n << 40n; bit > 0n; bit >>= 1n) {
      const tried = root | bit;
      if (tried * tried * tried <= target) root = tried;
    }
    return Number(BigInt.asIntN(32, root));
  });
}

const rotated = (name: string, bits: number): string => `((${name} >>> ${bits}) | (${name} << ${32 - bits}))`;
const sigma = (name: string, first: number, second: number, third: string): string =>
  `(${rotated(name, first)} ^ ${rotated(name, second)} ^ ${third})`;

function round(index: number, constant: number): string[] {
  // Instead of moving eight values, each round uses the variable names to which the values would have moved.
  const [a, b, c, d, e, f, g, h] = [...'abcdefgh'].map(
    (_, place) => 'abcdefgh'[(place - index + ROUNDS) % 8],
  ) as [string, string, string, string, string, string, string, string];
  const word = (back: number): string => `w${(index - back + ROUNDS) % SCHEDULE}`;
  const extend =
    index < SCHEDULE
      ? []
      : [
          `${word(0)} = (${word(0)} + ${sigma(word(15), 7, 18, `(${word(15)} >>> 3)`)} + ${word(7)} + ` +
            `${sigma(word(2), 17, 19, `(${word(2)} >>> 10)`)}) | 0;`,
        ];
  return [
    ...extend,
    `${h} = (${h} + ${sigma(e, 6, 11, rotated(e, 25))} + (${g} ^ (${e} & (${f} ^ ${g}))) + ${constant} + ${word(0)}) | 0;`,
    `${d} = (${d} + ${h}) | 0;`,
    `${h} = (${h} + ${sigma(a, 2, 13, rotated(a, 22))} + ((${a} & ${b}) | (${c} & (${a} | ${b})))) | 0;`,
  ];
}

const body = [
  ...Array.from({ length: SCHEDULE }, (_, index) => `let w${index} = words[${index}] as number;`),
  ...[...'abcdefgh'].map((name, index) => `let ${name} = state[${index}] as number;`),
  ...constants().flatMap((constant, index) => round(index, constant)),
  ...[...'abcdefgh'].map((name, index) => `state[${index}] = ((state[${index}] as number) + ${name}) | 0;`),
];

writeFileSync(
  join(projectRoot, 'src', 'chains', 'address', 'sha256-compress.ts'),
  `/** The compression function of SHA-256, spelt out. Made by scripts/sha256-compress.ts; not to be edited. */

/** Takes one block of 16 words into \`state\` (eight words), both as signed 32-bit numbers. */
export function compress(state: Int32Array, words: Int32Array): void {
${body.map((line) => `  ${line}`).join('\n')}
}
`,
);

/**
 * Keccak-f[1600] (FIPS 202) as WebAssembly text: a kernel of its own for single messages (`src/chains/address/keccak.ts`), and the check of
 * EIP-55 for batches of addresses. The letter case of an EVM address is right if each letter is a capital where the Keccak-256 of the address in
 * lower case has a digit of 8 or more.
 */
import { KECCAK_MEMORY } from '../../src/chains/address/keccak.ts';
import { BATCH_MEMORY } from '../../src/chains/address/key-batch.ts';
import { everyByte, local, setLocal } from './wat.ts';

const ROUNDS = 24;
const ROW = 5;
/** Steps of rho and pi: the rotation of each lane, in the order in which pi moves them from place to place. */
const STEPS = ROW * ROW - 1;
const HEX_DIGITS = 40;
const TEXT_LANES = HEX_DIGITS / 8;
/** The last lane of a block of 136 bytes. */
const LAST_LANE = 16;
const DIGEST_LANES = 4;
/** The bit that makes an ASCII letter a small one; every digit has it. */
export const SMALL = 0x20;
/** A bit that every letter has, and no digit. */
const LETTER = 0x40;

const lanes: readonly number[] = Array.from({ length: ROW * ROW }, (_, lane) => lane);
const xor = (...values: string[]): string => values.reduce((left, right) => `(i64.xor ${left} ${right})`);
const rotated = (value: string, bits: number): string =>
  bits === 0 ? value : `(i64.rotl ${value} (i64.const ${bits}))`;

/** Returns the constants of the rounds (FIPS 202, algorithm 5): bits of a shift register of eight bits. */
function roundConstants(): bigint[] {
  let register = 1;
  return Array.from({ length: ROUNDS }, () => {
    let constant = 0n;
    for (let power = 0; power <= 6; power++) {
      if ((register & 1) === 1) constant |= 1n << BigInt(2 ** power - 1);
      register = register & 0x80 ? ((register << 1) ^ 0x171) & 0xff : register << 1;
    }
    return constant;
  });
}

/** The constants as bytes of the module's data. */
const roundConstantsText = roundConstants()
  .map((constant) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(constant);
    return [...bytes].map((byte) => `\\${byte.toString(16).padStart(2, '0')}`).join('');
  })
  .join('');

/** Returns for each lane the lane to which rho and pi move it, and by how many bits it is rotated. */
function moves(): { readonly to: number; readonly bits: number }[] {
  const found = lanes.map(() => ({ to: 0, bits: 0 }));
  let [x, y] = [1, 0];
  for (let step = 0; step < STEPS; step++) {
    const [nextX, nextY] = [y, (2 * x + 3 * y) % ROW];
    found[x + ROW * y] = { to: nextX + ROW * nextY, bits: (((step + 1) * (step + 2)) / 2) % 64 };
    [x, y] = [nextX, nextY];
  }
  return found;
}

/** Theta, rho and pi, chi, iota: one round on the lanes `a0` to `a24`. `constants`: place of the constants of all rounds. */
function round(constants: number): string[] {
  const column = (x: number): string[] => Array.from({ length: ROW }, (_, y) => local(`a${x + ROW * y}`));
  const columns = Array.from({ length: ROW }, (_, x) => x);
  const next = (lane: number, by: number): number => lane - (lane % ROW) + ((lane + by) % ROW);
  const chi = (lane: number): string =>
    xor(
      local(`b${lane}`),
      `(i64.and (i64.xor ${local(`b${next(lane, 1)}`)} (i64.const -1)) ${local(`b${next(lane, 2)}`)})`,
    );
  return [
    ...columns.map((x) => setLocal(`c${x}`, xor(...column(x)))),
    ...columns.map((x) =>
      setLocal(`d${x}`, xor(local(`c${(x + ROW - 1) % ROW}`), rotated(local(`c${(x + 1) % ROW}`), 1))),
    ),
    ...moves().map(({ to, bits }, lane) =>
      setLocal(`b${to}`, rotated(xor(local(`a${lane}`), local(`d${lane % ROW}`)), bits)),
    ),
    ...lanes.map((lane) => setLocal(`a${lane}`, chi(lane))),
    setLocal('a0', xor(local('a0'), `(i64.load offset=${constants} ${local('round')})`)),
  ];
}

const named = (letter: string, count: number): string =>
  Array.from({ length: count }, (_, index) => `(local $${letter}${index} i64)`).join(' ');

/** The locals that `rounds` uses, beside its 25 lanes `a0` to `a24`. */
const ROUND_LOCALS = `(local $round i32) ${named('a', ROW * ROW)} ${named('b', ROW * ROW)} ${named('c', ROW)} ${named('d', ROW)}`;
const constantsData = (at: number): string => `(data (i32.const ${at}) "${roundConstantsText}")`;

/** All rounds. */
const rounds = (constants: number): string => `(loop $next
    ${round(constants).join('\n    ')}
    (local.set $round (i32.add ${local('round')} (i32.const 8)))
    (br_if $next (i32.lt_u ${local('round')} (i32.const ${ROUNDS * 8}))))`;

/** The kernel of single messages: permutes a block of its memory, and writes the first lanes back. */
export const keccakKernel = `(module
(memory (export "memory") 1)
${constantsData(KECCAK_MEMORY.constants)}
(func (export "permute")
  ${ROUND_LOCALS}
  ${Array.from({ length: LAST_LANE + 1 }, (_, lane) => setLocal(`a${lane}`, `(i64.load offset=${lane * 8} (i32.const 0))`)).join('\n  ')}
  ${rounds(KECCAK_MEMORY.constants)}
  ${Array.from({ length: DIGEST_LANES }, (_, lane) => `(i64.store offset=${lane * 8} (i32.const 0) ${local(`a${lane}`)})`).join('\n  ')}))
`;

/** Compares the case of 16 characters with 8 bytes of the digest, which begin at a byte of `$hash`. */
const caseOf = (from: number, byte: number): string => {
  const twice = Array.from({ length: 16 }, (_, lane) => byte + (lane >> 1)).join(' ');
  return `
  (local.set $text (v128.load offset=${from} ${local('at')}))
  ;; A letter is right if it is small and its digit is below 8, or neither.
  (local.set $right (v128.and ${local('right')} (v128.or
    (i8x16.eq (v128.and ${local('text')} ${everyByte(LETTER)}) ${everyByte(0)})
    (v128.xor
      (i8x16.ne (v128.and ${local('text')} ${everyByte(SMALL)}) ${everyByte(0)})
      (i8x16.ne
        (v128.and (i8x16.shuffle ${twice} ${local('hash')} ${local('hash')})
          (v128.const i8x16${' 0x80 0x08'.repeat(8)}))
        ${everyByte(0)})))))`;
};

/** Returns whether the letter case of 40 hex digits is the checksum of EIP-55. The constants of the rounds are data of the module. */
export const eip55 = `${constantsData(BATCH_MEMORY.keccakConstants)}
(func $eip55 (param $at i32) (result i32)
  (local $text v128) (local $hash v128) (local $right v128)
  ${ROUND_LOCALS}
  ${Array.from({ length: TEXT_LANES }, (_, lane) =>
    setLocal(
      `a${lane}`,
      `(i64.or (i64.load offset=${lane * 8} ${local('at')}) (i64.const 0x${SMALL.toString(16).repeat(8)}))`,
    ),
  ).join('\n  ')}
  ;; The padding: a bit behind the text, and the last of the block.
  ${setLocal(`a${TEXT_LANES}`, '(i64.const 1)')}
  ${setLocal(`a${LAST_LANE}`, '(i64.const 0x8000000000000000)')}
  ${rounds(BATCH_MEMORY.keccakConstants)}
  (local.set $right ${everyByte(255)})
  (local.set $hash (i64x2.replace_lane 1 (i64x2.splat ${local('a0')}) ${local('a1')}))
  ${caseOf(0, 0)}
  ${caseOf(16, 8)}
  (local.set $hash (i64x2.replace_lane 1 (i64x2.splat ${local('a1')}) ${local('a2')}))
  ${caseOf(HEX_DIGITS - 16, 4)}
  (i8x16.all_true ${local('right')}))`;

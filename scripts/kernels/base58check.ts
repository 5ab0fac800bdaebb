/**
 * The part of the kernel of `address-keys.ts` that reads base58check: base58 by 32-bit limbs, and the checksums of four addresses at once. Its
 * memory is laid out by `src/chains/address/key-batch.ts`.
 */
import { BATCH_MEMORY } from '../../src/chains/address/key-batch.ts';
import { DIGEST_LOCALS, doubleDigest } from './sha256.ts';

/** Addresses whose checksums are computed at once. */
export const LANES = 4;
/** Characters per multiplication: 58^5 times a 32-bit limb, and the carry, are less than 2^62. */
const GROUP = 5;
const LIMB_BITS = 32;
/** 58^36 is less than 2^211. */
const LIMBS = Math.ceil((BATCH_MEMORY.textMax * Math.log2(58)) / LIMB_BITS);
const GROUPS = Math.ceil(BATCH_MEMORY.textMax / GROUP);
/** Bytes of a decoded number, which ends at `NUMBER + NUMBER_BYTES`. As many zeros follow. */
const NUMBER_BYTES = 32;
const NUMBER = BATCH_MEMORY.number;
const CHECKSUM_BYTES = 4;
const BLOCK = BATCH_MEMORY.blockBytes;

const limbs = Array.from({ length: LIMBS }, (_, limb) => `$limb${limb}`);
const digit = (offset: number): string =>
  `(i64.load8_u (i32.add (local.get $digits) (i32.load8_u offset=${offset} (local.get $at))))`;

/** Reads five digits into `$carry`. A byte that is no digit has 255, and sets the highest bit of `$seen`. */
const readGroup = [
  ...Array.from({ length: GROUP }, (_, index) => `(local.set $digit${index} ${digit(index)})`),
  ...Array.from(
    { length: GROUP },
    (_, index) => `(local.set $seen (i64.or (local.get $seen) (local.get $digit${index})))`,
  ),
  `(local.set $carry ${Array.from(
    { length: GROUP },
    (_, index) => `(i64.mul (local.get $digit${index}) (i64.const ${58 ** (GROUP - 1 - index)}))`,
  ).reduce((left, right) => `(i64.add ${left} ${right})`)})`,
  `(local.set $at (i32.add (local.get $at) (i32.const ${GROUP})))`,
];

/** Multiplies the limbs that `group` groups can have filled, and adds the next group. */
const addGroup = (group: number): string[] => [
  '(br_if $read (i32.ge_u (local.get $at) (local.get $end)))',
  ...readGroup,
  ...limbs
    .slice(0, group)
    .flatMap((limb) => [
      `(local.set $carry (i64.add (i64.mul (local.get ${limb}) (i64.const ${58 ** GROUP})) (local.get $carry)))`,
      `(local.set ${limb} (i64.and (local.get $carry) (i64.const 0xffffffff)))`,
      `(local.set $carry (i64.shr_u (local.get $carry) (i64.const ${LIMB_BITS})))`,
    ]),
  ...(group < LIMBS ? [`(local.set ${limbs[group]} (local.get $carry))`] : []),
];

/** A limb with its bytes in the order of a message. */
const swapped = (limb: string): string => {
  const value = `(i32.wrap_i64 (local.get ${limb}))`;
  return `(i32.or (i32.and (i32.rotl ${value} (i32.const 8)) (i32.const 0x00ff00ff)) (i32.and (i32.rotr ${value} (i32.const 8)) (i32.const 0xff00ff00)))`;
};

/** Decodes a text; writes the block of its payload and its written checksum; returns the length of the payload, or 0. */
export const decode = `(func $decode (param $at i32) (param $end i32) (param $digits i32) (param $block i32) (param $written i32) (result i32)
  (local $seen i64) (local $carry i64) (local $first i32) (local $zeros i32) (local $total i32)
  ${Array.from({ length: GROUP }, (_, index) => `(local $digit${index} i64)`).join(' ')}
  ${limbs.map((limb) => `(local ${limb} i64)`).join(' ')}
  (block $counted
    (loop $next
      (br_if $counted (i32.ge_u (i32.add (local.get $at) (local.get $zeros)) (local.get $end)))
      (br_if $counted (i32.load8_u (i32.add (local.get $digits)
        (i32.load8_u (i32.add (local.get $at) (local.get $zeros))))))
      (local.set $zeros (i32.add (local.get $zeros) (i32.const 1)))
      (br $next)))
  ;; The first group has one to five digits, so that the others have five each.
  (local.set $first (i32.add (local.get $at)
    (i32.add (i32.rem_u (i32.sub (i32.sub (local.get $end) (local.get $at)) (i32.const 1)) (i32.const ${GROUP})) (i32.const 1))))
  (loop $next
    (local.set $digit0 ${digit(0)})
    (local.set $seen (i64.or (local.get $seen) (local.get $digit0)))
    (local.set $limb0 (i64.add (i64.mul (local.get $limb0) (i64.const 58)) (local.get $digit0)))
    (local.set $at (i32.add (local.get $at) (i32.const 1)))
    (br_if $next (i32.lt_u (local.get $at) (local.get $first))))
  (block $read
    ${Array.from({ length: GROUPS - 1 }, (_, index) => addGroup(index + 1).join('\n    ')).join('\n    ')})
  (if (i64.ge_u (local.get $seen) (i64.const 128)) (then (return (i32.const 0))))
  ;; The bits of the number, from its highest limb that is not zero.
  ${limbs
    .map(
      (limb, index) =>
        `(local.set $total (select (i32.sub (i32.const ${index * LIMB_BITS + 64}) (i32.wrap_i64 (i64.clz (local.get ${limb})))) (local.get $total) (i64.ne (local.get ${limb}) (i64.const 0))))`,
    )
    .join('\n  ')}
  (local.set $total (i32.add (local.get $zeros) (i32.shr_u (i32.add (local.get $total) (i32.const 7)) (i32.const 3))))
  (if (i32.le_u (local.get $total) (i32.const ${CHECKSUM_BYTES})) (then (return (i32.const 0))))
  (if (i32.gt_u (local.get $total) (i32.const ${NUMBER_BYTES})) (then (return (i32.const 0))))
  ${limbs
    .map(
      (limb, index) =>
        `(i32.store (i32.const ${NUMBER + NUMBER_BYTES - (index + 1) * (LIMB_BITS / 8)}) ${swapped(limb)})`,
    )
    .join('\n  ')}
  (i32.store (local.get $written) (i32.load (i32.const ${NUMBER + NUMBER_BYTES - CHECKSUM_BYTES})))
  (local.set $at (i32.sub (i32.const ${NUMBER + NUMBER_BYTES}) (local.get $total)))
  (v128.store (local.get $block) (v128.load (local.get $at)))
  (v128.store offset=16 (local.get $block) (v128.load offset=16 (local.get $at)))
  (local.set $total (i32.sub (local.get $total) (i32.const ${CHECKSUM_BYTES})))
  ;; The end mark and three zeros take the place of the checksum.
  (i32.store (i32.add (local.get $block) (local.get $total)) (i32.const 0x80))
  (i32.store offset=${BLOCK - 4} (local.get $block) (i32.shl (local.get $total) (i32.const 3)))
  (local.get $total))`;

const everyLane = Array.from({ length: LANES }, (_, lane) => lane);
/** Swaps the bytes of each lane: messages are big-endian. */
const swapLanes = (value: string): string =>
  `(i8x16.shuffle 3 2 1 0 7 6 5 4 11 10 9 8 15 14 13 12 ${value} (v128.const i32x4 0 0 0 0))`;
const loadLanes = (offset: number): string =>
  everyLane.reduce(
    (vector, lane) =>
      `(v128.load32_lane offset=${lane * BLOCK + offset} ${lane} (local.get $block) ${vector})`,
    '(v128.const i32x4 0 0 0 0)',
  );

/** Returns the first four bytes of the double digests of four blocks, as they are written in addresses. */
export const checksums = `(func $checksums (param $block i32) (result v128)
  ${DIGEST_LOCALS}
  ${Array.from({ length: NUMBER_BYTES / 4 }, (_, word) => `(local.set $w${word} ${swapLanes(loadLanes(word * 4))})`).join('\n  ')}
  (local.set $w15 ${loadLanes(BLOCK - 4)})
  ${doubleDigest().join('\n  ')}
  ${swapLanes('(local.get $w0)')})`;

/**
 * The WebAssembly text of the kernel that `src/chains/address/key-batch.ts` runs: the keys of base58check, witness and EVM texts. Its memory is
 * laid out by that file. A text that it does not confirm gets a key of length 0.
 */
import { BECH32, BECH32M } from '../../src/chains/address/bech32.ts';
import { BASE58CHECK_TYPE, BATCH_MEMORY, FORM } from '../../src/chains/address/key-batch.ts';
import { UTXO_KINDS } from '../../src/chains/address/utxo.ts';
import { checksums, decode, LANES } from './base58check.ts';
import { eip55, SMALL } from './keccak.ts';
import { everyByte, local } from './wat.ts';

const HASH_BYTES = 20;
/** Chain and kind. */
const HEAD_BYTES = 2;
/** Shortest text of a payload with a hash of 20 bytes: that of a version byte, the hash and a checksum with the most zeros. */
const TEXT_MIN = 25;

const field = (offset: number): string => `(i32.load offset=${offset} (local.get $form))`;
/** Stores the chain of the form and a kind at the start of the key. */
const storeHead = (kind: string): string =>
  `(i32.store16 ${local('key')} (i32.or ${field(FORM.keyByte)} (i32.shl ${kind} (i32.const 8))))`;
const swapped64 = (value: string): string =>
  `(i64x2.extract_lane 0 (i8x16.shuffle 7 6 5 4 3 2 1 0 7 6 5 4 3 2 1 0 (i64x2.splat ${value}) (v128.const i32x4 0 0 0 0)))`;

/** Writes the key of a base58check text, whose checksum must then be compared. Returns 0 if it is not the text of a known version. */
const base58check = `(func $base58check (param $at i32) (param $end i32) (param $form i32) (param $key i32)
  (param $block i32) (param $written i32) (result i32)
  (local $bytes i32) (local $version i32) (local $row i32) (local $kind i32)
  (local.set $bytes ${field(FORM.versionBytes)})
  (if (i32.ne (call $decode ${local('at')} ${local('end')} ${field(FORM.digits)} ${local('block')} ${local('written')})
        (i32.add ${local('bytes')} (i32.const ${HASH_BYTES})))
    (then (return (i32.const 0))))
  ;; The version is big-endian.
  (local.set $version (i32.shr_u
    (i32.wrap_i64 (i64.shr_u ${swapped64(`(i64.load ${local('block')})`)} (i64.const 32)))
    (i32.sub (i32.const 32) (i32.shl ${local('bytes')} (i32.const 3)))))
  (local.set $row ${local('form')})
  (block $found
    (loop $next
      (local.set $kind (i32.load offset=${FORM.versions + 4} ${local('row')}))
      (if (i32.eqz ${local('kind')}) (then (return (i32.const 0))))
      (br_if $found (i32.eq (i32.load offset=${FORM.versions} ${local('row')}) ${local('version')}))
      (local.set $row (i32.add ${local('row')} (i32.const 8)))
      (br $next)))
  ${storeHead(local('kind'))}
  (local.set $block (i32.add ${local('block')} ${local('bytes')}))
  (v128.store offset=${HEAD_BYTES} ${local('key')} (v128.load ${local('block')}))
  (i32.store offset=${HEAD_BYTES + 16} ${local('key')} (i32.load offset=16 ${local('block')}))
  (i32.const 1))`;

const GROUP = 8;
/** Reads the next character into `$digit`, and adds it to the checksum. A character that is no digit has 255. */
const readDigit = (offset: number): string => `
  (local.set $digit (i32.load8_u offset=${BATCH_MEMORY.bech32Digits} (i32.load8_u offset=${offset} ${local('at')})))
  (local.set $seen (i32.or ${local('seen')} ${local('digit')}))
  (local.set $sum (i32.xor
    (i32.xor (i32.shl (i32.and ${local('sum')} (i32.const 0x1ffffff)) (i32.const 5)) ${local('digit')})
    (i32.load offset=${BATCH_MEMORY.bech32Steps} (i32.shl (i32.shr_u ${local('sum')} (i32.const 25)) (i32.const 2)))))`;
const readBits = (offset: number): string => `${readDigit(offset)}
  (local.set $bits (i64.or (i64.shl (local.get $bits) (i64.const 5)) (i64.extend_i32_u ${local('digit')})))`;
const forward = (count: number): string => `(local.set $at (i32.add ${local('at')} (i32.const ${count})))`;
const times = (count: number, code: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => code(index)).join('\n  ');

/** Digits of a program of 20 and of 32 bytes, which has four bits too many. */
const SHORT_DIGITS = 32;
const LONG_DIGITS = 52;
const CHECKSUM_DIGITS = 6;

/** Writes the key of a witness program of version 0 or 1. Returns its length, or 0. */
const witness = `(func $witness (param $at i32) (param $end i32) (param $form i32) (param $key i32) (result i32)
  (local $digit i32) (local $seen i32) (local $sum i32) (local $version i32) (local $isLong i32) (local $groups i32)
  (local $out i32) (local $bits i64)
  (local.set $at (i32.add ${local('at')} ${field(FORM.prefixBytes)}))
  (local.set $sum ${field(FORM.prefixState)})
  (local.set $isLong (i32.sub ${local('end')} ${local('at')}))
  (if (i32.eq ${local('isLong')} (i32.const ${1 + LONG_DIGITS + CHECKSUM_DIGITS}))
    (then (local.set $isLong (i32.const 1)))
    (else
      (if (i32.ne ${local('isLong')} (i32.const ${1 + SHORT_DIGITS + CHECKSUM_DIGITS})) (then (return (i32.const 0))))
      (local.set $isLong (i32.const 0))))
  ${readDigit(0)}
  (local.set $version ${local('digit')})
  ;; Version 1 has long programs only.
  (if (i32.gt_u ${local('version')} ${local('isLong')}) (then (return (i32.const 0))))
  ${forward(1)}
  (local.set $out ${local('key')})
  (local.set $groups (select (i32.const ${Math.floor(LONG_DIGITS / GROUP)}) (i32.const ${SHORT_DIGITS / GROUP}) ${local('isLong')}))
  (loop $next
    ${times(GROUP, readBits)}
    ;; Eight digits are five bytes; the next ones overwrite the rest.
    (i64.store offset=${HEAD_BYTES} ${local('out')} ${swapped64('(i64.shl (local.get $bits) (i64.const 24))')})
    (local.set $out (i32.add ${local('out')} (i32.const 5)))
    ${forward(GROUP)}
    (local.set $groups (i32.sub ${local('groups')} (i32.const 1)))
    (br_if $next ${local('groups')}))
  (if ${local('isLong')}
    (then
      (local.set $bits (i64.const 0))
      ${times(LONG_DIGITS % GROUP, readBits)}
      (if (i64.ne (i64.and (local.get $bits) (i64.const 15)) (i64.const 0)) (then (return (i32.const 0))))
      (i64.store offset=${HEAD_BYTES} ${local('out')} ${swapped64('(i64.shl (local.get $bits) (i64.const 44))')})
      ${forward(LONG_DIGITS % GROUP)}))
  ${times(CHECKSUM_DIGITS, readDigit)}
  (if (i32.ge_u ${local('seen')} (i32.const 32)) (then (return (i32.const 0))))
  (if (i32.ne ${local('sum')} (select (i32.const ${BECH32M}) (i32.const ${BECH32}) ${local('version')}))
    (then (return (i32.const 0))))
  ${storeHead(`(select
    (select (i32.const ${UTXO_KINDS.p2tr}) (i32.const ${UTXO_KINDS.p2wsh}) ${local('version')})
    (i32.const ${UTXO_KINDS.p2wpkh}) ${local('isLong')})`)}
  (select (i32.const ${HEAD_BYTES + 32}) (i32.const ${HEAD_BYTES + HASH_BYTES}) ${local('isLong')}))`;

/** Converts 16 hex digits from an offset of the text into 8 bytes of the key, and notes the cases of its letters. */
const hexDigits = (from: number): string => `
  (local.set $text (v128.load offset=${from} ${local('at')}))
  (local.set $digits (i8x16.sub ${local('text')} ${everyByte(0x30)}))
  (local.set $letters (i8x16.sub (v128.or ${local('text')} ${everyByte(SMALL)}) ${everyByte(0x61)}))
  (local.set $isDigit (i8x16.lt_u ${local('digits')} ${everyByte(10)}))
  (local.set $valid (v128.and ${local('valid')}
    (v128.or ${local('isDigit')} (i8x16.lt_u ${local('letters')} ${everyByte(6)}))))
  (local.set $small (v128.or ${local('small')} (v128.andnot ${local('text')} ${local('isDigit')})))
  (local.set $capital (v128.or ${local('capital')} (v128.andnot (v128.not ${local('text')}) ${local('isDigit')})))
  (local.set $digits (v128.bitselect
    ${local('digits')} (i8x16.add ${local('letters')} ${everyByte(10)}) ${local('isDigit')}))
  ;; The first digit of a pair is the low byte of its lane.
  (local.set $digits (v128.and
    (v128.or (i16x8.shl ${local('digits')} (i32.const 4)) (i16x8.shr_u ${local('digits')} (i32.const 8)))
    (v128.const i16x8 255 255 255 255 255 255 255 255)))
  (v128.store64_lane offset=${HEAD_BYTES + (from - 2) / 2} 0 ${local('key')}
    (i8x16.narrow_i16x8_u ${local('digits')} ${local('digits')}))`;
const EVM_TEXT = 42;
/** `0x` as the first two bytes of a text. */
const EVM_PREFIX = 0x7830;
const hasSmallBit = (text: string): string => `(v128.any_true (v128.and ${local(text)} ${everyByte(SMALL)}))`;

/** Writes the key of an EVM address, whose letters are a checksum if some are small and some are capital. Returns its length, or 0. */
const evm = `(func $evm (param $at i32) (param $end i32) (param $form i32) (param $key i32) (result i32)
  (local $text v128) (local $digits v128) (local $letters v128) (local $isDigit v128) (local $valid v128)
  (local $small v128) (local $capital v128)
  (if (i32.ne (i32.sub ${local('end')} ${local('at')}) (i32.const ${EVM_TEXT})) (then (return (i32.const 0))))
  (if (i32.ne (i32.load16_u ${local('at')}) (i32.const ${EVM_PREFIX})) (then (return (i32.const 0))))
  (local.set $valid ${everyByte(255)})
  ${[2, 18, EVM_TEXT - 16].map(hexDigits).join('')}
  (if (i32.eqz (i8x16.all_true ${local('valid')})) (then (return (i32.const 0))))
  (if (i32.and ${hasSmallBit('small')} ${hasSmallBit('capital')})
    (then (if (i32.eqz (call $eip55 (i32.add ${local('at')} (i32.const 2)))) (then (return (i32.const 0))))))
  ${storeHead(field(FORM.versions + 4))}
  (i32.const ${HEAD_BYTES + HASH_BYTES}))`;

const { starts, ends, textForms, lengths, blockTexts, written, blocks, blockBytes, keys, keyBytes } =
  BATCH_MEMORY;
const numberOf = (table: number, index: string): string =>
  `offset=${table} (i32.shl ${local(index)} (i32.const 2))`;
const blockOf = (index: string): string =>
  `(i32.add (i32.const ${blocks}) (i32.mul ${local(index)} (i32.const ${blockBytes})))`;

/** Writes the length of the key of each of `count` texts. */
const read = `(func (export "read") (param $count i32)
  (local $text i32) (local $form i32) (local $at i32) (local $end i32) (local $key i32) (local $checked i32) (local $block i32)
  (block $done (loop $next
    (br_if $done (i32.ge_u ${local('text')} ${local('count')}))
    (i32.store ${numberOf(lengths, 'text')} (i32.const 0))
    (local.set $form (i32.load ${numberOf(textForms, 'text')}))
    (if ${local('form')}
      (then
        (local.set $at (i32.load ${numberOf(starts, 'text')}))
        (local.set $end (i32.load ${numberOf(ends, 'text')}))
        (local.set $key (i32.add (i32.const ${keys}) (i32.mul ${local('text')} (i32.const ${keyBytes}))))
        (if (i32.ne ${field(FORM.type)} (i32.const ${BASE58CHECK_TYPE}))
          (then (i32.store ${numberOf(lengths, 'text')}
            (call $evm ${local('at')} ${local('end')} ${local('form')} ${local('key')})))
          (else
            (if (i32.eq (i32.and (i32.load ${local('at')}) ${field(FORM.prefixMask)}) ${field(FORM.prefix)})
              (then (i32.store ${numberOf(lengths, 'text')}
                (call $witness ${local('at')} ${local('end')} ${local('form')} ${local('key')})))
              (else
                (if (i32.le_u (i32.sub (i32.sub ${local('end')} ${local('at')}) (i32.const ${TEXT_MIN}))
                    (i32.const ${BATCH_MEMORY.textMax - TEXT_MIN}))
                  (then
                    (if (call $base58check ${local('at')} ${local('end')} ${local('form')} ${local('key')} ${blockOf('checked')}
                        (i32.add (i32.const ${written}) (i32.shl ${local('checked')} (i32.const 2))))
                      (then
                        (i32.store ${numberOf(blockTexts, 'checked')} ${local('text')})
                        (local.set $checked (i32.add ${local('checked')} (i32.const 1)))))))))))))
    (local.set $text (i32.add ${local('text')} (i32.const 1)))
    (br $next)))
  ;; The last four may contain blocks of an earlier batch, whose results are not read.
  (block $done (loop $next
    (br_if $done (i32.ge_u ${local('block')} ${local('checked')}))
    (v128.store ${numberOf(written, 'block')}
      (i32x4.eq (call $checksums ${blockOf('block')}) (v128.load ${numberOf(written, 'block')})))
    (local.set $block (i32.add ${local('block')} (i32.const ${LANES})))
    (br $next)))
  (local.set $block (i32.const 0))
  (block $done (loop $next
    (br_if $done (i32.ge_u ${local('block')} ${local('checked')}))
    (local.set $text (i32.load ${numberOf(blockTexts, 'block')}))
    (i32.store ${numberOf(lengths, 'text')}
      (i32.and (i32.load ${numberOf(written, 'block')}) (i32.const ${HEAD_BYTES + HASH_BYTES})))
    (local.set $block (i32.add ${local('block')} (i32.const 1)))
    (br $next))))`;

/** The whole module. */
export const addressKeysKernel = `(module
(memory (export "memory") ${BATCH_MEMORY.pages})
${decode}
${checksums}
${base58check}
${witness}
${eip55}
${evm}
${read})
`;

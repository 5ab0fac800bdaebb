/**
 * The WebAssembly text of the kernel that `src/graph/ingest/transfer-rows.ts` runs: reads plain rows of a CSV of transfers into columns. Its
 * memory is laid out by that file. It stops before a row that is not plain: one with a quote, another number of cells, a capital letter in
 * an address, an unknown asset, or any cell that only the reader of single rows understands.
 */
import {
  ASSET_SLOT_BYTES,
  ASSET_SLOTS,
  TRANSFER_ROWS_MEMORY as AT,
  EVM_KEY_BYTES,
  EVM_KEY_WORDS,
  EVM_TRANSACTION_BYTES,
  ROW_COLUMNS_AT as OUT,
} from '../../src/graph/ingest/transfer-rows.ts';
import { everyByte, local } from './wat.ts';

const ROTATE = (name: string, bits: number): string => `(i32.rotl ${local(name)} (i32.const ${bits}))`;
const set = (name: string, value: string): string => `(local.set $${name} ${value})`;

/** Bytes of ones where a vector has ASCII digits, or letters from a to f. */
const isDigit = `(i8x16.lt_u (i8x16.sub ${local('v')} ${everyByte(48)}) ${everyByte(10)})`;
const isLetter = `(i8x16.lt_u (i8x16.sub ${local('v')} ${everyByte(97)}) ${everyByte(6)})`;

/** The bytes of 16 hex digits, in the lower half of each 16 bits. Clears `$isHex` if one is no digit in lower case. */
const hexBytes = (at: string, into: string): string => `
  ${set('v', `(v128.load ${at})`)}
  ${set('digits', isDigit)}
  ${set('letters', isLetter)}
  (global.set $isHex (i32.and (global.get $isHex)
    (i8x16.all_true (v128.or ${local('digits')} ${local('letters')}))))
  ${set(
    'v',
    `(v128.or
      (v128.and (i8x16.sub ${local('v')} ${everyByte(48)}) ${local('digits')})
      (v128.and (i8x16.sub ${local('v')} ${everyByte(87)}) ${local('letters')}))`,
  )}
  ${set(
    into,
    `(v128.and (v128.const i16x8${' 255'.repeat(8)})
      (v128.or (i16x8.shl ${local('v')} (i32.const 4)) (i16x8.shr_u ${local('v')} (i32.const 8))))`,
  )}`;

/** Returns the 16 bytes of 32 hex digits. */
const hex = `(func $hex (param $at i32) (result v128)
  (local $v v128) (local $digits v128) (local $letters v128) (local $first v128) (local $second v128)
  ${hexBytes(local('at'), 'first')}
  ${hexBytes(`(i32.add ${local('at')} (i32.const 16))`, 'second')}
  (i8x16.narrow_i16x8_u ${local('first')} ${local('second')}))`;

/** Returns a whole number of 1 to 18 digits. -1 for anything else. Eight digits at a time are combined in pairs. */
const digits = `(func $digits (param $at i32) (param $end i32) (result i64)
  (local $value i64) (local $eight i64) (local $digit i32)
  (if (i32.gt_u (i32.sub (i32.sub ${local('end')} ${local('at')}) (i32.const 1)) (i32.const 17))
    (then (return (i64.const -1))))
  (block $short
    (loop $next
      (br_if $short (i32.lt_s (i32.sub ${local('end')} ${local('at')}) (i32.const 8)))
      ${set('eight', `(i64.load ${local('at')})`)}
      (if (i64.ne
            (i64.and (i64.const 0x8080808080808080)
              (i64.or (i64.add ${local('eight')} (i64.const 0x4646464646464646))
                (i64.or ${local('eight')} (i64.sub ${local('eight')} (i64.const 0x3030303030303030)))))
            (i64.const 0))
        (then (return (i64.const -1))))
      ${set('eight', `(i64.shr_u (i64.mul (i64.and ${local('eight')} (i64.const 0x0f0f0f0f0f0f0f0f)) (i64.const 2561)) (i64.const 8))`)}
      ${set('eight', `(i64.shr_u (i64.mul (i64.and ${local('eight')} (i64.const 0x00ff00ff00ff00ff)) (i64.const 6553601)) (i64.const 16))`)}
      ${set('eight', `(i64.shr_u (i64.mul (i64.and ${local('eight')} (i64.const 0x0000ffff0000ffff)) (i64.const 42949672960001)) (i64.const 32))`)}
      ${set('value', `(i64.add (i64.mul ${local('value')} (i64.const 100000000)) ${local('eight')})`)}
      ${set('at', `(i32.add ${local('at')} (i32.const 8))`)}
      (br $next)))
  (block $ended
    (loop $next
      (br_if $ended (i32.ge_s ${local('at')} ${local('end')}))
      ${set('digit', `(i32.sub (i32.load8_u ${local('at')}) (i32.const 48))`)}
      (if (i32.gt_u ${local('digit')} (i32.const 9)) (then (return (i64.const -1))))
      ${set('value', `(i64.add (i64.mul ${local('value')} (i64.const 10)) (i64.extend_i32_u ${local('digit')}))`)}
      ${set('at', `(i32.add ${local('at')} (i32.const 1))`)}
      (br $next)))
  ${local('value')})`;

/** Stores an amount of at most 28 digits, of which the last 18 are multiplied in. Returns 0 for anything else. */
const amount = `(func $amount (param $at i32) (param $end i32) (param $out i32) (result i32)
  (local $first i64) (local $last i64) (local $sum i64) (local $firstHigh i64) (local $middle i32)
  ${set('middle', `(i32.sub ${local('end')} (i32.const 18))`)}
  (if (i32.le_s ${local('middle')} ${local('at')})
    (then
      ${set('last', `(call $digits ${local('at')} ${local('end')})`)}
      (i64.store ${local('out')} ${local('last')})
      (i32.store offset=8 ${local('out')} (i32.const 0))
      (return (i64.ge_s ${local('last')} (i64.const 0)))))
  (if (i32.gt_s (i32.sub ${local('middle')} ${local('at')}) (i32.const 10)) (then (return (i32.const 0))))
  ${set('first', `(call $digits ${local('at')} ${local('middle')})`)}
  ${set('last', `(call $digits ${local('middle')} ${local('end')})`)}
  (if (i64.lt_s (i64.or ${local('first')} ${local('last')}) (i64.const 0)) (then (return (i32.const 0))))
  ;; 10^18 has the words 0x0de0b6b3 and 0xa7640000, and the first digits have at most 34 bits.
  ${set('firstHigh', `(i64.shr_u ${local('first')} (i64.const 32))`)}
  ${set('first', `(i64.and ${local('first')} (i64.const 0xffffffff))`)}
  ${set('sum', `(i64.add (i64.mul ${local('first')} (i64.const 0xa7640000)) (i64.and ${local('last')} (i64.const 0xffffffff)))`)}
  (i64.store32 ${local('out')} ${local('sum')})
  ${set(
    'sum',
    `(i64.add
      (i64.add (i64.shr_u ${local('sum')} (i64.const 32)) (i64.shr_u ${local('last')} (i64.const 32)))
      (i64.add (i64.mul ${local('first')} (i64.const 0x0de0b6b3)) (i64.mul ${local('firstHigh')} (i64.const 0xa7640000))))`,
  )}
  (i64.store32 offset=4 ${local('out')} ${local('sum')})
  (i64.store32 offset=8 ${local('out')}
    (i64.add (i64.shr_u ${local('sum')} (i64.const 32)) (i64.mul ${local('firstHigh')} (i64.const 0x0de0b6b3))))
  (i32.const 1))`;

/** Returns whether two texts of the same length, 1 to 64 bytes, are equal. */
const isSame = `(func $isSame (param $one i32) (param $other i32) (param $length i32) (result i32)
  (local $at i32)
  (if (i32.lt_u ${local('length')} (i32.const 8))
    (then
      (loop $next
        ${set('length', `(i32.sub ${local('length')} (i32.const 1))`)}
        (if (i32.ne (i32.load8_u (i32.add ${local('one')} ${local('length')}))
              (i32.load8_u (i32.add ${local('other')} ${local('length')})))
          (then (return (i32.const 0))))
        (br_if $next ${local('length')}))
      (return (i32.const 1))))
  ;; Eight bytes at a time; the last eight may overlap others.
  ${set('length', `(i32.sub ${local('length')} (i32.const 8))`)}
  (loop $next
    (if (i64.ne (i64.load (i32.add ${local('one')} ${local('at')})) (i64.load (i32.add ${local('other')} ${local('at')})))
      (then (return (i32.const 0))))
    (if (i32.eq ${local('at')} ${local('length')}) (then (return (i32.const 1))))
    ${set('at', `(i32.add ${local('at')} (i32.const 8))`)}
    (if (i32.gt_u ${local('at')} ${local('length')}) (then ${set('at', local('length'))}))
    (br $next))
  (unreachable))`;

/** Returns the slot of the text of an asset, by its length and its last bytes. */
const slot = `(func $slot (param $at i32) (param $end i32) (result i32)
  (local $hash i32)
  ${set(
    'hash',
    `(i32.mul (i32.const 0x9e3779b1)
      (i32.xor (i32.load (i32.sub ${local('end')} (i32.const 4))) (i32.sub ${local('end')} ${local('at')})))`,
  )}
  (i32.add (i32.const ${AT.assetSlots}) (i32.mul (i32.const ${ASSET_SLOT_BYTES})
    (i32.and (i32.const ${ASSET_SLOTS - 1}) (i32.xor ${local('hash')} (i32.shr_u ${local('hash')} (i32.const 17)))))))`;

const sipRound = `
  ${set('v0', `(i32.add ${local('v0')} ${local('v1')})`)}
  ${set('v1', `(i32.xor ${ROTATE('v1', 5)} ${local('v0')})`)}
  ${set('v0', ROTATE('v0', 16))}
  ${set('v2', `(i32.add ${local('v2')} ${local('v3')})`)}
  ${set('v3', `(i32.xor ${ROTATE('v3', 8)} ${local('v2')})`)}
  ${set('v0', `(i32.add ${local('v0')} ${local('v3')})`)}
  ${set('v3', `(i32.xor ${ROTATE('v3', 7)} ${local('v0')})`)}
  ${set('v2', `(i32.add ${local('v2')} ${local('v1')})`)}
  ${set('v1', `(i32.xor ${ROTATE('v1', 13)} ${local('v2')})`)}
  ${set('v2', ROTATE('v2', 16))}`;
const sipWord = (word: string): string => `
  ${set('word', word)}
  ${set('v3', `(i32.xor ${local('v3')} ${local('word')})`)}
  ${sipRound}${sipRound}
  ${set('v0', `(i32.xor ${local('v0')} ${local('word')})`)}`;

/** Stores the fingerprint of a packed transaction id (HalfSipHash-2-4, as in src/graph/store/fingerprint.ts). */
const fingerprint = `(func $fingerprint (param $at i32) (param $row i32)
  (local $v0 i32) (local $v1 i32) (local $v2 i32) (local $v3 i32) (local $word i32)
  ${set('v0', `(i32.load (i32.const ${AT.secret}))`)}
  ${set('v1', `(i32.load (i32.const ${AT.secret + 4}))`)}
  ${set('v2', `(i32.xor (i32.const 0x6c796765) ${local('v0')})`)}
  ${set('v3', `(i32.xor (i32.const 0x74656462) ${local('v1')})`)}
  ${set('v1', `(i32.xor (i32.const 0xee) ${local('v1')})`)}
  ${Array.from({ length: EVM_TRANSACTION_BYTES >> 2 }, (_, word) =>
    sipWord(`(i32.load offset=${word * 4} ${local('at')})`),
  ).join('')}
  ${sipWord(
    `(i32.or (i32.const ${EVM_TRANSACTION_BYTES << 24}) (i32.load8_u offset=${EVM_TRANSACTION_BYTES - 1} ${local('at')}))`,
  )}
  ${set('v2', `(i32.xor ${local('v2')} (i32.const 0xee))`)}
  ${sipRound.repeat(4)}
  (i32.store offset=${OUT.lows} (i32.shl ${local('row')} (i32.const 2)) (i32.xor ${local('v1')} ${local('v3')}))
  ${set('v1', `(i32.xor ${local('v1')} (i32.const 0xdd))`)}
  ${sipRound.repeat(4)}
  (i32.store offset=${OUT.highs} (i32.shl ${local('row')} (i32.const 2)) (i32.xor ${local('v1')} ${local('v3')})))`;

const mixed = (shift: number): string =>
  `(i32.xor ${local('hash')} (i32.shr_u ${local('hash')} (i32.const ${shift})))`;

/** Stores the key of an address, and its hash as in src/graph/store/key-table.ts. Returns 0 for a text that is not plain. */
const address = `(func $address (param $at i32) (param $end i32) (param $place i32) (result i32)
  (local $key i32) (local $hash i32)
  ${set('key', `(i32.add (i32.const ${OUT.keys}) (i32.mul ${local('place')} (i32.const ${EVM_KEY_WORDS * 4})))`)}
  (i32.store8 offset=${OUT.present} ${local('place')} (i32.ne ${local('at')} ${local('end')}))
  (if (i32.eq ${local('at')} ${local('end')}) (then (return (i32.const 1))))
  (if (i32.ne (i32.sub ${local('end')} ${local('at')}) (i32.const 42)) (then (return (i32.const 0))))
  (if (i32.ne (i32.load16_u ${local('at')}) (i32.const 0x7830)) (then (return (i32.const 0))))
  (i32.store16 ${local('key')} (i32.load (i32.const ${AT.keyHead})))
  (i32.store16 offset=${EVM_KEY_BYTES} ${local('key')} (i32.const 0))
  ;; The second half overlaps the first.
  (v128.store offset=2 ${local('key')} (call $hex (i32.add ${local('at')} (i32.const 2))))
  (v128.store offset=6 ${local('key')} (call $hex (i32.add ${local('at')} (i32.const 10))))
  ${set('hash', `(i32.xor (i32.load (i32.const ${AT.seed})) (i32.const ${EVM_KEY_BYTES}))`)}
  ${Array.from(
    { length: EVM_KEY_WORDS },
    (_, word) => `
  ${set('hash', `(i32.mul (i32.xor ${local('hash')} (i32.load offset=${word * 4} ${local('key')})) (i32.const 0x2c1b3c6d))`)}
  ${set('hash', mixed(15))}`,
  ).join('')}
  ${set('hash', `(i32.mul ${mixed(13)} (i32.const 0x297a2d39))`)}
  (i32.store offset=${OUT.hashes} (i32.shl ${local('place')} (i32.const 2)) ${mixed(15)})
  (i32.const 1))`;

/** Stores the code of the position \`value\`, or \`log:\` and a number of at most 8 digits. Returns 0 for another one. */
const position = `(func $position (param $at i32) (param $end i32) (param $out i32) (result i32)
  (local $length i32) (local $number i64)
  ${set('length', `(i32.sub ${local('end')} ${local('at')})`)}
  (if (i32.and (i32.eq ${local('length')} (i32.const 5)) (i32.eq (i32.load ${local('at')}) (i32.const 0x756c6176)))
    (then
      (f64.store offset=${OUT.positions} ${local('out')} (f64.const 1))
      (return (i32.eq (i32.load8_u offset=4 ${local('at')}) (i32.const 101)))))
  (if (i32.or (i32.ne (i32.load ${local('at')}) (i32.const 0x3a676f6c)) (i32.gt_u ${local('length')} (i32.const 12)))
    (then (return (i32.const 0))))
  ${set('number', `(call $digits (i32.add ${local('at')} (i32.const 4)) ${local('end')})`)}
  (if (i64.lt_s ${local('number')} (i64.const 0)) (then (return (i32.const 0))))
  (if (i32.and (i32.eq (i32.load8_u offset=4 ${local('at')}) (i32.const 48)) (i32.ne ${local('length')} (i32.const 5)))
    (then (return (i32.const 0))))
  (f64.store offset=${OUT.positions} ${local('out')}
    (f64.convert_i64_s (i64.add (i64.mul ${local('number')} (i64.const 8)) (i64.const 9))))
  (i32.const 1))`;

/** Stores a time in milliseconds: digits, or the text of the last time that the caller read. Returns 0 for another one. */
const time = `(func $time (param $at i32) (param $end i32) (param $out i32) (result i32)
  (local $ms i64) (local $length i32)
  ${set('length', `(i32.sub ${local('end')} ${local('at')})`)}
  (if (i32.and
        (i32.gt_s ${local('length')} (i32.const 0))
        (i32.eq ${local('length')} (i32.load (i32.const ${AT.timeLength}))))
    (then
      (if (call $isSame ${local('at')} (i32.const ${AT.timeText}) ${local('length')})
        (then
          (f64.store offset=${OUT.times} ${local('out')} (f64.load (i32.const ${AT.time})))
          (return (i32.const 1))))))
  (if (i32.gt_s ${local('length')} (i32.const 15)) (then (return (i32.const 0))))
  ${set('ms', `(call $digits ${local('at')} ${local('end')})`)}
  (f64.store offset=${OUT.times} ${local('out')} (f64.convert_i64_s ${local('ms')}))
  (i32.and
    (i64.ge_s ${local('ms')} (i64.const 0))
    (f64.le (f64.convert_i64_s ${local('ms')}) (f64.load (i32.const ${AT.timeMax})))))`;

/** Stores whole cents of a decimal with at most two places; -1 for an empty cell. Returns 0 for anything else. */
const cents = `(func $cents (param $at i32) (param $end i32) (param $out i32) (result i32)
  (local $whole i64) (local $fraction i64) (local $point i32)
  (if (i32.eq ${local('at')} ${local('end')})
    (then
      (f64.store offset=${OUT.cents} ${local('out')} (f64.const -1))
      (return (i32.const 1))))
  ${set('point', local('end'))}
  (if (i32.ge_s (i32.sub ${local('end')} ${local('at')}) (i32.const 3))
    (then
      (if (i32.eq (i32.load8_u (i32.sub ${local('end')} (i32.const 3))) (i32.const 46))
        (then
          ${set('point', `(i32.sub ${local('end')} (i32.const 3))`)}
          ${set('fraction', `(call $digits (i32.sub ${local('end')} (i32.const 2)) ${local('end')})`)}))
      (if (i32.eq (i32.load8_u (i32.sub ${local('end')} (i32.const 2))) (i32.const 46))
        (then
          ${set('point', `(i32.sub ${local('end')} (i32.const 2))`)}
          ${set('fraction', `(call $digits (i32.sub ${local('end')} (i32.const 1)) ${local('end')})`)}
          (if (i64.lt_s ${local('fraction')} (i64.const 0)) (then (return (i32.const 0))))
          ${set('fraction', `(i64.mul ${local('fraction')} (i64.const 10))`)}))))
  (if (i32.gt_s (i32.sub ${local('point')} ${local('at')}) (i32.const 13)) (then (return (i32.const 0))))
  ${set('whole', `(call $digits ${local('at')} ${local('point')})`)}
  (if (i64.lt_s (i64.or ${local('whole')} ${local('fraction')}) (i64.const 0)) (then (return (i32.const 0))))
  ${set('whole', `(i64.add (i64.mul ${local('whole')} (i64.const 100)) ${local('fraction')})`)}
  (f64.store offset=${OUT.cents} ${local('out')} (f64.convert_i64_s ${local('whole')}))
  (i64.le_s ${local('whole')} (i64.const 100000000000000)))`;

const is = (byte: number): string => `(i8x16.eq ${local('bytes')} ${everyByte(byte)})`;

/** Finds the cells of the row at an address. Returns the address of its line feed, or 0 for a row that is not plain. */
const split = `(func $split (param $from i32) (result i32)
  (local $at i32) (local $mask i32) (local $found i32) (local $byte i32) (local $column i32) (local $last i32) (local $bytes v128)
  ${set('last', `(i32.shl (i32.load (i32.const ${AT.lastColumn})) (i32.const 2))`)}
  (i32.store (i32.const ${AT.starts}) ${local('from')})
  ${set('at', `(i32.sub ${local('from')} (i32.const 16))`)}
  (loop $next
    (if (i32.eqz ${local('mask')})
      (then
        ${set('at', `(i32.add ${local('at')} (i32.const 16))`)}
        ${set('bytes', `(v128.load ${local('at')})`)}
        ${set('mask', `(i8x16.bitmask (v128.or (v128.or ${is(44)} ${is(10)}) ${is(34)}))`)}
        (br $next)))
    ${set('found', `(i32.add ${local('at')} (i32.ctz ${local('mask')}))`)}
    ${set('mask', `(i32.and ${local('mask')} (i32.sub ${local('mask')} (i32.const 1)))`)}
    ${set('byte', `(i32.load8_u ${local('found')})`)}
    (if (i32.eq ${local('byte')} (i32.const 44))
      (then
        (if (i32.eq ${local('column')} ${local('last')}) (then (return (i32.const 0))))
        (i32.store offset=${AT.ends} ${local('column')} ${local('found')})
        ${set('column', `(i32.add ${local('column')} (i32.const 4))`)}
        (i32.store offset=${AT.starts} ${local('column')} (i32.add ${local('found')} (i32.const 1)))
        (br $next)))
    (if (i32.or (i32.ne ${local('byte')} (i32.const 10)) (i32.ne ${local('column')} ${local('last')}))
      (then (return (i32.const 0)))))
  ;; The last cell ends before a carriage return.
  ${set('at', `(i32.load offset=${AT.starts} ${local('column')})`)}
  (i32.store offset=${AT.ends} ${local('column')} (i32.sub ${local('found')}
    (i32.and
      (i32.gt_u ${local('found')} ${local('at')})
      (i32.eq (i32.load8_u (i32.sub ${local('found')} (i32.const 1))) (i32.const 13)))))
  ${local('found')})`;

/** Start or end of a cell, by the position of its column in the list of places. */
const cell = (index: number): string =>
  `(i32.load offset=${AT.starts} ${place(index)}) (i32.load offset=${AT.ends} ${place(index)})`;
const place = (index: number): string =>
  `(i32.shl (i32.load (i32.const ${AT.places + index * 4})) (i32.const 2))`;
const [HASH, POSITION, BLOCK, TIME, FROM, TO, ASSET, AMOUNT, USD] = [0, 1, 2, 3, 4, 5, 6, 7, 8] as const;
const orStop = (isPlain: string): string => `(br_if $stop (i32.eqz ${isPlain}))`;

/** Reads rows until one is not plain. Returns their number. */
const rows = `(func (export "rows") (param $from i32) (param $end i32) (result i32)
  (local $row i32) (local $next i32) (local $at i32) (local $stopAt i32) (local $id i32) (local $wide i32) (local $number i64)
  ${set('from', `(i32.add ${local('from')} (i32.const ${AT.window}))`)}
  ${set('end', `(i32.add ${local('end')} (i32.const ${AT.window}))`)}
  (global.set $isHex (i32.const 1))
  (block $stop
    (loop $nextRow
      (br_if $stop (i32.ge_u ${local('from')} ${local('end')}))
      (br_if $stop (i32.ge_u ${local('row')} (i32.load (i32.const ${AT.rowsMax}))))
      ${set('next', `(call $split ${local('from')})`)}
      ${orStop(local('next'))}
      ${set('wide', `(i32.shl ${local('row')} (i32.const 3))`)}
      ;; Columns with values that only the reader of single rows understands.
      ${set('at', `(i32.const ${AT.firstEmpty})`)}
      ${set('stopAt', `(i32.add ${local('at')} (i32.shl (i32.load (i32.const ${AT.empties})) (i32.const 2)))`)}
      (block $empty
        (loop $nextEmpty
          (br_if $empty (i32.ge_u ${local('at')} ${local('stopAt')}))
          ${set('id', `(i32.shl (i32.load ${local('at')}) (i32.const 2))`)}
          (br_if $stop (i32.ne (i32.load offset=${AT.starts} ${local('id')}) (i32.load offset=${AT.ends} ${local('id')})))
          ${set('at', `(i32.add ${local('at')} (i32.const 4))`)}
          (br $nextEmpty)))
      ;; 0x and 64 digits.
      ${set('at', `(i32.load offset=${AT.starts} ${place(HASH)})`)}
      (br_if $stop (i32.ne (i32.sub (i32.load offset=${AT.ends} ${place(HASH)}) ${local('at')}) (i32.const 66)))
      (br_if $stop (i32.ne (i32.load16_u ${local('at')}) (i32.const 0x7830)))
      ${set('id', `(i32.add (i32.const ${OUT.transactions}) (i32.mul ${local('row')} (i32.const ${EVM_TRANSACTION_BYTES})))`)}
      (i32.store8 ${local('id')} (i32.const 0))
      (v128.store offset=1 ${local('id')} (call $hex (i32.add ${local('at')} (i32.const 2))))
      (v128.store offset=17 ${local('id')} (call $hex (i32.add ${local('at')} (i32.const 34))))
      ${orStop(`(call $position ${cell(POSITION)} ${local('wide')})`)}
      ${set('number', `(call $digits ${cell(BLOCK)})`)}
      (br_if $stop (i64.gt_u ${local('number')} (i64.const 999999999999999)))
      (f64.store offset=${OUT.blocks} ${local('wide')} (f64.convert_i64_s ${local('number')}))
      ${orStop(`(call $time ${cell(TIME)} ${local('wide')})`)}
      ${orStop(`(call $address ${cell(FROM)} (i32.shl ${local('row')} (i32.const 1)))`)}
      ${orStop(`(call $address ${cell(TO)} (i32.add (i32.shl ${local('row')} (i32.const 1)) (i32.const 1)))`)}
      ;; A row has a sender or a receiver, and all of its hex is in lower case.
      (br_if $stop (i32.eqz (i32.load16_u offset=${OUT.present} (i32.shl ${local('row')} (i32.const 1)))))
      ${orStop('(global.get $isHex)')}
      ${orStop(`(call $amount ${cell(AMOUNT)} (i32.add (i32.const ${OUT.amounts}) (i32.mul ${local('row')} (i32.const 12))))`)}
      ${orStop(`(call $cents ${cell(USD)} ${local('wide')})`)}
      ${set('at', `(i32.load offset=${AT.starts} ${place(ASSET)})`)}
      ${set('stopAt', `(i32.load offset=${AT.ends} ${place(ASSET)})`)}
      (br_if $stop (i32.eq ${local('at')} ${local('stopAt')}))
      ${set('id', `(call $slot ${local('at')} ${local('stopAt')})`)}
      (br_if $stop (i32.ne (i32.load ${local('id')}) (i32.sub ${local('stopAt')} ${local('at')})))
      ${orStop(`(call $isSame ${local('at')} (i32.add ${local('id')} (i32.const 8)) (i32.load ${local('id')}))`)}
      (i32.store offset=${OUT.assets} (i32.shl ${local('row')} (i32.const 2)) (i32.load offset=4 ${local('id')}))
      (call $fingerprint
        (i32.add (i32.const ${OUT.transactions}) (i32.mul ${local('row')} (i32.const ${EVM_TRANSACTION_BYTES}))) ${local('row')})
      ${set('from', `(i32.add ${local('next')} (i32.const 1))`)}
      (i32.store offset=${OUT.rowEnds} (i32.shl ${local('row')} (i32.const 2))
        (i32.sub ${local('from')} (i32.const ${AT.window})))
      ${set('row', `(i32.add ${local('row')} (i32.const 1))`)}
      (br $nextRow)))
  ${local('row')})`;

const assetSlot = `(func (export "assetSlot") (param $start i32) (param $end i32) (result i32)
  (call $slot
    (i32.add ${local('start')} (i32.const ${AT.window})) (i32.add ${local('end')} (i32.const ${AT.window}))))`;

/** The whole module. */
export const transferRowsKernel = `(module
(memory (export "memory") 3)
(global $isHex (mut i32) (i32.const 1))
${hex}
${digits}
${amount}
${isSame}
${slot}
${fingerprint}
${address}
${position}
${time}
${cents}
${split}
${rows}
${assetSlot})
`;

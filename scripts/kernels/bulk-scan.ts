/**
 * The WebAssembly text of the kernel that `src/screening/bulk-scan.ts` runs: finds the texts of a bulk body, sixteen bytes at a time. It accepts
 * exactly the bodies that the scan in JavaScript accepts. Its memory is laid out by that file.
 *
 * A zero follows the body. No step passes a byte that it has not compared with another value, so none passes the end.
 */
import { PLACE_NUMBERS, SCAN_MEMORY } from '../../src/screening/bulk-scan.ts';
import { SCREENING_LIMITS } from '../../src/screening/limits.ts';
import { everyByte } from './wat.ts';

const { places, chain, source } = SCAN_MEMORY;
const ABSENT = '(i32.const -1)';
const code = (character: string): string => `(i32.const ${character.charCodeAt(0)})`;
const byteAt = '(i32.load8_u (local.get $at))';
const isByte = (character: string): string => `(i32.eq ${byteAt} ${code(character)})`;
const unless = (condition: string, result: string): string =>
  `(if (i32.eqz ${condition}) (then (return ${result})))`;

/** Returns the condition that a text follows at an offset from `$at`, in loads of eight, four and two bytes. */
function follows(text: string, offset: number): string {
  const bytes = Buffer.from(text, 'latin1');
  const tests: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const left = bytes.length - at;
    const place = `offset=${offset + at} (local.get $at)`;
    if (left >= 8) {
      tests.push(`(i64.eq (i64.load ${place}) (i64.const ${bytes.readBigInt64LE(at)}))`);
      at += 8;
    } else if (left >= 4) {
      tests.push(`(i32.eq (i32.load ${place}) (i32.const ${bytes.readInt32LE(at)}))`);
      at += 4;
    } else {
      tests.push(`(i32.eq (i32.load16_u ${place}) (i32.const ${bytes.readUInt16LE(at)}))`);
      at += 2;
    }
  }
  return tests.reduce((left, right) => `(if (result i32) ${left} (then ${right}) (else (i32.const 0)))`);
}

/** The name of a field with its closing quote: all of them have an even length. The opening quote has been compared. */
const isName = (name: string): string => follows(`${name}"`, 1);
/** Moves `$at` from the opening quote of a name to the value. */
const toValue = (name: string, failed: string): string => `
  (local.set $at (call $value (i32.add (local.get $at) (i32.const ${name.length + 2}))))
  ${unless('(local.get $at)', failed)}`;
const readText = (out: string, failed: string): string => `
  (local.set $at (call $string (local.get $at) ${out}))
  ${unless('(local.get $at)', failed)}`;
const skipFrom = (at: string): string => `(local.set $at (call $skip ${at}))`;
const next = '(i32.add (local.get $at) (i32.const 1))';
const here = '(local.get $at)';

/** Returns the offset of the next byte that is not white space. */
const skip = `(func $skip (param $at i32) (result i32)
  (block $found
    (loop $next
      (br_if $found (i32.gt_u ${byteAt} (i32.const 0x20)))
      (br_if $found (i32.eqz (i32.or
        (i32.or ${isByte(' ')} ${isByte('\n')}) (i32.or ${isByte('\r')} ${isByte('\t')}))))
      (local.set $at ${next})
      (br $next)))
  ${here})`;

/** Returns the offset of the value of a field, from the end of its name; 0 if there is no colon. */
const value = `(func $value (param $at i32) (result i32)
  ${skipFrom(here)}
  ${unless(isByte(':'), '(i32.const 0)')}
  (call $skip ${next}))`;

/** The bytes that end a text: a quote, a backslash, and all but printable ASCII. Bytes from 128 on are negative. */
const ends = [
  `(i8x16.eq (local.get $bytes) ${everyByte(0x22)})`,
  `(i8x16.eq (local.get $bytes) ${everyByte(0x5c)})`,
  `(i8x16.lt_s (local.get $bytes) ${everyByte(0x20)})`,
  `(i8x16.eq (local.get $bytes) ${everyByte(0x7f)})`,
].reduce((left, right) => `(v128.or ${left} ${right})`);

/** Stores the place of a quoted text. Returns the offset behind it; 0 if it is not plain. */
const string = `(func $string (param $at i32) (param $out i32) (result i32)
  (local $bytes v128) (local $mask i32)
  ${unless(isByte('"'), '(i32.const 0)')}
  (local.set $at ${next})
  (i32.store (local.get $out) (i32.sub ${here} (i32.const ${source})))
  (block $found
    (loop $next
      (local.set $bytes (v128.load ${here}))
      (local.set $mask (i8x16.bitmask ${ends}))
      (br_if $found (local.get $mask))
      (local.set $at (i32.add ${here} (i32.const 16)))
      (br $next)))
  (local.set $at (i32.add ${here} (i32.ctz (local.get $mask))))
  ${unless(isByte('"'), '(i32.const 0)')}
  (i32.store offset=4 (local.get $out) (i32.sub ${here} (i32.const ${source})))
  ${next})`;

const none = '(i32.const 0)';
const chainOut = '(i32.add (local.get $out) (i32.const 8))';

/** Stores the places of `{"address":"…","chain":"…"}`. Returns the offset behind it, or 0. */
const item = `(func $item (param $at i32) (param $out i32) (result i32)
  (i32.store (local.get $out) ${ABSENT})
  ${skipFrom(next)}
  (loop $next
    ${unless(isByte('"'), none)}
    (if ${isName('address')}
      (then
        ${unless(`(i32.eq (i32.load (local.get $out)) ${ABSENT})`, none)}
        ${toValue('address', none)}
        ${readText('(local.get $out)', none)})
      (else
        ${unless(isName('chain'), none)}
        ${unless(`(i32.eq (i32.load offset=8 (local.get $out)) ${ABSENT})`, none)}
        ${toValue('chain', none)}
        ${readText(chainOut, none)}))
    ${skipFrom(here)}
    (if ${isByte('}')}
      (then (return (select ${none} ${next} (i32.eq (i32.load (local.get $out)) ${ABSENT})))))
    ${unless(isByte(','), none)}
    ${skipFrom(next)}
    (br $next))
  (unreachable))`;

const unusual = '(i32.const -1)';

/** Stores the places of all items of the body that ends at `$end`. Returns their number, or -1. */
const scan = `(func (export "scan") (param $end i32) (result i32)
  (local $at i32) (local $out i32) (local $count i32)
  (i32.store (i32.const ${chain}) ${ABSENT})
  ${skipFrom(`(i32.const ${source})`)}
  ${unless(isByte('{'), unusual)}
  ${skipFrom(next)}
  (loop $field
    ${unless(isByte('"'), unusual)}
    (if ${isName('addresses')}
      (then
        ${toValue('addresses', unusual)}
        (if (local.get $count) (then (return ${unusual})))
        ${unless(isByte('['), unusual)}
        (local.set $out (i32.const ${places}))
        (block $listed
          (loop $items
            (if (i32.eq (local.get $count) (i32.const ${SCREENING_LIMITS.bulkAddressesMax})) (then (return ${unusual})))
            ${skipFrom(next)}
            (i32.store offset=8 (local.get $out) ${ABSENT})
            (local.set $at (if (result i32) ${isByte('{')}
              (then (call $item ${here} (local.get $out)))
              (else (call $string ${here} (local.get $out)))))
            ${unless('(local.get $at)', unusual)}
            (local.set $count (i32.add (local.get $count) (i32.const 1)))
            (local.set $out (i32.add (local.get $out) (i32.const ${PLACE_NUMBERS * 4})))
            ${skipFrom(here)}
            (br_if $listed ${isByte(']')})
            (br_if $items ${isByte(',')})
            (return ${unusual})))
        (local.set $at ${next}))
      (else
        ${unless(isName('chain'), unusual)}
        ${unless(`(i32.eq (i32.load (i32.const ${chain})) ${ABSENT})`, unusual)}
        ${toValue('chain', unusual)}
        ${readText(`(i32.const ${chain})`, unusual)}))
    ${skipFrom(here)}
    (if ${isByte('}')}
      (then
        ${skipFrom(next)}
        (return (select (local.get $count) ${unusual}
          (i32.and (i32.eq ${here} (local.get $end)) (i32.ne (local.get $count) (i32.const 0)))))))
    ${unless(isByte(','), unusual)}
    ${skipFrom(next)}
    (br $field))
  (unreachable))`;

/** The whole module. */
export const bulkScanKernel = `(module
(memory (export "memory") 1)
${skip}
${value}
${string}
${item}
${scan})
`;

/**
 * The WebAssembly text of the kernel that `src/labels/csv-rests.ts` runs: reads plain rows of a CSV, sixteen bytes at a time, and looks up their
 * rests. Its memory is laid out by that file. It stops before a row that is not plain; a rest that is not in the table gets NO_REST.
 *
 * Rows are looked up in steps: as no read of a step depends on another, the processor waits for several at once.
 */
import {
  HASH_END,
  HASH_LANE,
  HASH_START,
  HASH_WORD,
  KERNEL_ROWS,
  LENGTH,
  NO_REST,
  REST_WORDS,
  ROW_COLUMNS,
  ROW_END,
  ROW_HASH,
  ROW_LENGTH,
  ROW_REST,
  ROWS_MEMORY,
} from '../../src/labels/csv-rests.ts';
import { everyByte, local } from './wat.ts';

const parameter = (at: number): string => `(i32.load (i32.const ${at}))`;
const add = (left: string, right: string): string => `(i32.add ${left} ${right})`;
const number = (value: number): string => `(i32.const ${value})`;
const isByte = (character: string): string => `(i32.eq ${local('byte')} ${number(character.charCodeAt(0))})`;
const equals = (character: string): string =>
  `(i8x16.eq ${local('bytes')} ${everyByte(character.charCodeAt(0))})`;
const columnPlace = (column: string): string => add(local('out'), `(i32.shl ${column} ${number(2)})`);
const storeColumn = (column: string, value: string): string =>
  `(i32.store offset=${ROW_COLUMNS * 4} ${columnPlace(column)} (i32.sub ${value} ${local('window')}))`;
const loadColumn = (column: string, offset = 0): string =>
  add(`(i32.load offset=${(ROW_COLUMNS + offset) * 4} ${columnPlace(column)})`, local('window'));

/** Sets `$bytes` to the sixteen bytes at an address, with zeros for those from `$end` on. */
const load = (at: string): string => `
  (local.set $bytes (v128.load ${at}))
  (local.set $left (i32.sub ${local('end')} ${local('at')}))
  (if (i32.lt_u ${local('left')} ${number(16)})
    (then (local.set $bytes (v128.and ${local('bytes')}
      (v128.load (i32.sub ${number(ROWS_MEMORY.masks + 16)} ${local('left')}))))))`;

/** Runs code for every run of the row at `$out`, between `$at` and `$end`. */
const forRuns = (code: string): string => `
  (local.set $run ${number(ROWS_MEMORY.firstRun)})
  (local.set $runs ${parameter(ROWS_MEMORY.runs)})
  (block $allRuns
    (loop $nextRun
      (br_if $allRuns (i32.eqz ${local('runs')}))
      (local.set $at ${loadColumn(`(i32.load ${local('run')})`)})
      (local.set $end (i32.sub ${loadColumn(`(i32.load offset=4 ${local('run')})`, 1)} ${number(1)}))
      ${code}
      (local.set $run ${add(local('run'), number(8))})
      (local.set $runs (i32.sub ${local('runs')} ${number(1)}))
      (br $nextRun)))`;

const mixLane = (before: string, lane: number, multiplier: number): string => `
  (local.set $hash (i32.mul
    (i32.xor ${before} (i32x4.extract_lane ${lane} ${local('lanes')})) ${number(multiplier)}))`;
const shifted = (shift: number): string =>
  `(i32.xor ${local('hash')} (i32.shr_u ${local('hash')} ${number(shift)}))`;

/** Stores hash and length of the rest of the row at `$out`. */
const hash = `(func $hash (param $out i32) (param $window i32)
  (local $run i32) (local $runs i32) (local $at i32) (local $end i32) (local $left i32) (local $length i32) (local $hash i32)
  (local $bytes v128) (local $lanes v128)
  (local.set $lanes (i32x4.splat ${number(HASH_START)}))
  ${forRuns(`
      (local.set $length ${add(local('length'), add(`(i32.sub ${local('end')} ${local('at')})`, number(1)))})
      (block $hashed
        (loop $next
          (br_if $hashed (i32.ge_s ${local('at')} ${local('end')}))
          ${load(local('at'))}
          (local.set $lanes (i32x4.mul (v128.xor ${local('lanes')} ${local('bytes')}) (i32x4.splat ${number(HASH_WORD)})))
          (local.set $lanes (v128.xor ${local('lanes')} (i32x4.shr_u ${local('lanes')} ${number(15)})))
          (local.set $at ${add(local('at'), number(16))})
          (br $next)))`)}
  ${mixLane(local('length'), 0, HASH_LANE)}
  ${mixLane(shifted(15), 1, HASH_END)}
  ${mixLane(shifted(13), 2, HASH_LANE)}
  ${mixLane(shifted(15), 3, HASH_END)}
  (i32.store offset=${ROW_LENGTH * 4} ${local('out')} ${local('length')})
  (i32.store offset=${ROW_HASH * 4} ${local('out')} ${shifted(16)}))`;

/** Stores the columns of plain rows, and the hashes of their rests. Returns the number of rows. */
const scan = `(func $scan (param $from i32) (param $stop i32) (param $window i32) (result i32)
  (local $at i32) (local $mask i32) (local $position i32) (local $byte i32) (local $column i32) (local $out i32) (local $count i32)
  (local $quoted i32) (local $tail i32) (local $columns i32) (local $bytes v128)
  (local.set $out ${parameter(ROWS_MEMORY.rows)})
  (local.set $tail ${parameter(ROWS_MEMORY.tail)})
  (local.set $columns ${parameter(ROWS_MEMORY.columns)})
  (loop $row
    (if (i32.or (i32.eq ${local('count')} ${number(KERNEL_ROWS)}) (i32.ge_u ${local('from')} ${local('stop')}))
      (then (return ${local('count')})))
    (local.set $column ${number(0)})
    (local.set $quoted ${number(0)})
    ${storeColumn(number(0), local('from'))}
    (local.set $at (i32.sub ${local('from')} ${number(16)}))
    (local.set $mask ${number(0)})
    (block $ended
      (loop $next
        (if (i32.eqz ${local('mask')})
          (then
            (local.set $at ${add(local('at'), number(16))})
            (local.set $bytes (v128.load ${local('at')}))
            (local.set $mask (i8x16.bitmask (v128.or (v128.or ${equals(',')} ${equals('\n')}) ${equals('"')})))
            (br $next)))
        (local.set $position ${add(local('at'), `(i32.ctz ${local('mask')})`)})
        (local.set $mask (i32.and ${local('mask')} (i32.sub ${local('mask')} ${number(1)})))
        (local.set $byte (i32.load8_u ${local('position')}))
        (if ${isByte(',')}
          (then
            (br_if $next (i32.eq ${local('column')} ${local('tail')}))
            (local.set $column ${add(local('column'), number(1))})
            (if (i32.lt_u ${local('column')} ${local('columns')})
              (then ${storeColumn(local('column'), add(local('position'), number(1)))}))
            (br $next)))
        (if ${isByte('\n')}
          (then
            (if ${local('quoted')} (then (return ${local('count')})))
            (br $ended)))
        (if (i32.ne ${local('column')} ${local('tail')}) (then (return ${local('count')})))
        (local.set $quoted (i32.xor ${local('quoted')} ${number(1)}))
        (br $next)))
    (if (i32.ne ${add(local('column'), number(1))} ${local('columns')}) (then (return ${local('count')})))
    (i32.store offset=${ROW_END * 4} ${local('out')} (i32.sub ${local('position')} ${local('window')}))
    ;; The text ends before a carriage return. An empty row is not plain.
    (if (i32.le_u ${local('position')} ${local('from')}) (then (return ${local('count')})))
    (local.set $at (i32.sub ${local('position')}
      (i32.eq (i32.load8_u (i32.sub ${local('position')} ${number(1)})) ${number(13)})))
    (if (i32.le_u ${local('at')} ${local('from')}) (then (return ${local('count')})))
    ${storeColumn(local('columns'), add(local('at'), number(1)))}
    (call $hash ${local('out')} ${local('window')})
    (local.set $from ${add(local('position'), number(1))})
    (local.set $out ${add(local('out'), parameter(ROWS_MEMORY.rowBytes))})
    (local.set $count ${add(local('count'), number(1))})
    (br $row))
  (unreachable))`;

/** Runs code for each row. */
const forRows = (code: string): string => `
  (local.set $out ${parameter(ROWS_MEMORY.rows)})
  (local.set $row ${number(0)})
  (block $allRows
    (loop $nextRow
      (br_if $allRows (i32.ge_u ${local('row')} ${local('count')}))
      ${code}
      (local.set $out ${add(local('out'), parameter(ROWS_MEMORY.rowBytes))})
      (local.set $row ${add(local('row'), number(1))})
      (br $nextRow)))`;

const restWords = `(i32.add ${parameter(ROWS_MEMORY.rests)} (i32.mul ${local('rest')} ${number(REST_WORDS * 4)}))`;

/** Stores the rest with the hash of a row; NO_REST if absent. A comparison follows. */
const candidates = `(func $candidates (param $count i32)
  (local $out i32) (local $row i32) (local $place i32) (local $at i32) (local $hash i32) (local $rest i32)
  ${forRows(`
      (local.set $hash (i32.load offset=${ROW_HASH * 4} ${local('out')}))
      (local.set $place ${local('hash')})
      (block $found
        (loop $next
          (local.set $place (i32.and ${local('place')} ${parameter(ROWS_MEMORY.placesMask)}))
          (local.set $at ${add(parameter(ROWS_MEMORY.places), `(i32.shl ${local('place')} ${number(3)})`)})
          (local.set $rest (i32.sub (i32.load offset=4 ${local('at')}) ${number(1)}))
          (br_if $found (i32.eq (i32.load ${local('at')}) ${local('hash')}))
          (br_if $found (i32.lt_s ${local('rest')} ${number(0)}))
          (local.set $place ${add(local('place'), number(1))})
          (br $next)))
      (i32.store offset=${ROW_REST * 4} ${local('out')} ${local('rest')})`)})`;

/** Reads the start and the middle of each candidate, so that they are in the cache when they are compared. Returns a number without meaning. */
const touch = `(func $touch (param $count i32) (result i32)
  (local $out i32) (local $row i32) (local $rest i32) (local $at i32) (local $sum i32)
  ${forRows(`
      (local.set $rest (i32.load offset=${ROW_REST * 4} ${local('out')}))
      (if (i32.ge_s ${local('rest')} ${number(0)})
        (then
          (local.set $at (i32.load ${restWords}))
          (local.set $sum ${add(local('sum'), add(`(i32.load8_u ${local('at')})`, `(i32.load8_u ${add(local('at'), `(i32.shr_u (i32.load offset=${LENGTH * 4} ${restWords}) ${number(1)})`)})`))})))`)}
  ${local('sum')})`;

/** Compares the rest of the row at `$out` with a rest of the table. */
const isSame = `(func $isSame (param $out i32) (param $window i32) (param $rest i32) (result i32)
  (local $run i32) (local $runs i32) (local $at i32) (local $end i32) (local $left i32) (local $stored i32)
  (local $bytes v128)
  (if (i32.ne (i32.load offset=${ROW_LENGTH * 4} ${local('out')}) (i32.load offset=${LENGTH * 4} ${restWords}))
    (then (return ${number(0)})))
  (local.set $stored (i32.load ${restWords}))
  ${forRuns(`
      (block $compared
        (loop $next
          (br_if $compared (i32.ge_s ${local('at')} ${local('end')}))
          ${load(local('at'))}
          (local.set $bytes (v128.xor ${local('bytes')} (v128.load ${local('stored')})))
          (if (i32.lt_u ${local('left')} ${number(16)})
            (then
              (local.set $bytes (v128.and ${local('bytes')}
                (v128.load (i32.sub ${number(ROWS_MEMORY.masks + 16)} ${local('left')}))))
              (if (v128.any_true ${local('bytes')}) (then (return ${number(0)})))
              (local.set $stored ${add(local('stored'), local('left'))})
              (br $compared)))
          (if (v128.any_true ${local('bytes')}) (then (return ${number(0)})))
          (local.set $stored ${add(local('stored'), number(16))})
          (local.set $at ${add(local('at'), number(16))})
          (br $next)))
      (if (i32.ne (i32.load8_u ${local('stored')}) ${number(44)}) (then (return ${number(0)})))
      (local.set $stored ${add(local('stored'), number(1))})`)}
  ${number(1)})`;

const compare = `(func $compare (param $count i32) (param $window i32)
  (local $out i32) (local $row i32) (local $rest i32)
  ${forRows(`
      (local.set $rest (i32.load offset=${ROW_REST * 4} ${local('out')}))
      (if (i32.ge_s ${local('rest')} ${number(0)})
        (then
          (if (i32.eqz (call $isSame ${local('out')} ${local('window')} ${local('rest')}))
            (then (i32.store offset=${ROW_REST * 4} ${local('out')} ${number(NO_REST)})))))`)})`;

const rows = `(func (export "rows") (param $from i32) (param $length i32) (result i32)
  (local $window i32) (local $count i32)
  (local.set $window ${parameter(ROWS_MEMORY.window)})
  (local.set $count (call $scan
    ${add(local('window'), local('from'))} ${add(local('window'), local('length'))} ${local('window')}))
  (call $candidates ${local('count')})
  (drop (call $touch ${local('count')}))
  (call $compare ${local('count')} ${local('window')})
  ${local('count')})`;

/** The whole module. */
export const labelRowsKernel = `(module
(memory (export "memory") 1)
${hash}
${scan}
${candidates}
${touch}
${isSame}
${compare}
${rows})
`;

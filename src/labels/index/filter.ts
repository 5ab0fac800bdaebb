/**
 * A binary fuse filter of 8 bits: rules out an address without reading the records, with 1 false positive in 256.
 * Source: Graf and Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters", https://arxiv.org/abs/2201.01174,
 * 3-wise, with two 32-bit hashes of the slot instead of one 64-bit hash.
 */
import { freeMemory } from '../../base/free-memory.ts';
import { filterHash, placeHash, SLOT_WORDS } from './slot.ts';

export interface FilterShape {
  /** log2 of the segment's length. */
  readonly segmentBits: number;
  /** Number of first positions: segments times their length. */
  readonly span: number;
  /** Bytes of the filter. */
  readonly bytes: number;
}

/**
 * Lets everything pass. Used if a filter could not be built, which needs slots with equal 64-bit hashes in every attempt.
 */
export const OPEN_FILTER: FilterShape = { segmentBits: 0, span: 0, bytes: 0 };

/** The segment masks take two times this many bits of one 32-bit hash. */
const SEGMENT_BITS_MAX = 16;
const ATTEMPTS_MAX = 8;

/**
 * Returns the sizes of a filter, as in the paper's reference implementation.
 *
 * @param keys Number of keys.
 * @param growth Factor on the size, for a further attempt.
 */
export function filterShape(keys: number, growth: number): FilterShape {
  const count = Math.max(keys, 2);
  const segmentBits = Math.min(
    Math.max(Math.floor(Math.log(count) / Math.log(3.33) + 2.25), 2),
    SEGMENT_BITS_MAX,
  );
  const segment = 1 << segmentBits;
  const factor = Math.max(1.125, 0.875 + (0.25 * Math.log(1_000_000)) / Math.log(count)) * growth;
  const segments = Math.max(Math.ceil((count * factor) / segment) - 2, 1);
  return { segmentBits, span: segments * segment, bytes: (segments + 2) * segment };
}

/** Returns the position in the first of the three segments: the place hash scaled to the span. */
export const firstPosition = (place: number, span: number): number =>
  ((place >>> 0) * (span / 4_294_967_296)) | 0;

/** Returns one byte of both hashes; as far as possible it uses bits that the positions do not use. */
export const fingerprint = (place: number, second: number): number =>
  (Math.imul(place ^ (second >>> 9), 0x9e3779b1) >>> 24) ^ (second >>> 28);

export interface Filter {
  readonly shape: FilterShape;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The positions of a filter with the keys that use them: what is left of the records when its bytes are computed. */
export interface FilterUses {
  readonly shape: FilterShape;
  /** Number of different keys. */
  readonly keys: number;
  /**
   * For each position: the number of keys that still use it (times 4, plus the exclusive or of the roles, 0 to 2, of the position for these
   * keys), and the exclusive or of their hashes. At a position with one key left, these values identify the key.
   */
  readonly uses: Uint16Array<ArrayBuffer>;
  readonly places: Int32Array<ArrayBuffer>;
  readonly seconds: Int32Array<ArrayBuffer>;
}

/**
 * Builds the filter of `count` slots, one every `stride` words in `records`. They must be sorted by place hash, so that
 * memory is accessed in order; adjacent slots with equal hashes count once.
 *
 * @param keys - number of different slots
 */
export function buildFilter(records: Int32Array, stride: number, count: number, keys = count): Filter {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const shape = filterShape(keys, 1 + attempt / 16);
    const uses = countUses(records, stride, count, shape);
    const filter = uses === null ? null : filterFrom(uses);
    if (filter !== null) return filter;
  }
  return { shape: OPEN_FILTER, bytes: new Uint8Array(0) };
}

/**
 * The part of the first attempt that reads the records, which may change afterwards.
 *
 * @returns null if too many keys have one position: a further attempt needs the records
 */
export const firstUses = (
  records: Int32Array,
  stride: number,
  count: number,
  keys: number,
): FilterUses | null => countUses(records, stride, count, filterShape(keys, 1));

function countUses(
  records: Int32Array,
  stride: number,
  count: number,
  shape: FilterShape,
): FilterUses | null {
  const { span, segmentBits, bytes: size } = shape;
  const segment = 1 << segmentBits;
  const mask = segment - 1;
  const uses = new Uint16Array(size);
  const places = new Int32Array(size);
  const seconds = new Int32Array(size);
  let keys = 0;
  let before = 0;
  let beforeSecond = 0;
  for (let key = 0, at = 0; key < count; key++, at += stride) {
    const place = slotPlace(records, at);
    const second = slotSecond(records, at);
    if (key > 0 && place === before && second === beforeSecond) continue;
    before = place;
    beforeSecond = second;
    keys++;
    const first = firstPosition(place, span);
    const middle = (first + segment) ^ (second & mask);
    const last = (first + 2 * segment) ^ ((second >>> segmentBits) & mask);
    uses[first] = (uses[first] as number) + 4;
    uses[middle] = ((uses[middle] as number) + 4) ^ 1;
    uses[last] = ((uses[last] as number) + 4) ^ 2;
    places[first] = (places[first] as number) ^ place;
    places[middle] = (places[middle] as number) ^ place;
    places[last] = (places[last] as number) ^ place;
    seconds[first] = (seconds[first] as number) ^ second;
    seconds[middle] = (seconds[middle] as number) ^ second;
    seconds[last] = (seconds[last] as number) ^ second;
    if ((uses[first] as number) >= 0xfff0) return null;
  }
  return { shape, keys, uses, places, seconds };
}

/**
 * Computes the bytes of a filter, and frees its positions.
 *
 * @returns null if some keys have no position to themselves: a further attempt needs the records
 */
export function filterFrom({ shape, keys, uses, places, seconds }: FilterUses): Filter | null {
  const { span, segmentBits, bytes: size } = shape;
  const segment = 1 << segmentBits;
  const mask = segment - 1;
  // A stack of positions with one key left grows from the start, and the order in which keys are taken from its end. Each position is put
  // on the stack at most once, so they never meet. A taken key has its last position to itself, so its hashes stay there.
  const order = new Int32Array(size);
  let waiting = 0;
  for (let position = 0; position < size; position++) {
    if ((uses[position] as number) >> 2 === 1) order[waiting++] = position;
  }
  let taken = 0;
  while (waiting > 0) {
    const position = order[--waiting] as number;
    if ((uses[position] as number) >> 2 !== 1) continue;
    const place = places[position] as number;
    const second = seconds[position] as number;
    const which = (uses[position] as number) & 3;
    order[size - ++taken] = position;
    const first = firstPosition(place, span);
    const middle = (first + segment) ^ (second & mask);
    const last = (first + 2 * segment) ^ ((second >>> segmentBits) & mask);
    for (let other = 0; other < 3; other++) {
      if (other === which) continue;
      const target = other === 0 ? first : other === 1 ? middle : last;
      const left = ((uses[target] as number) - 4) ^ other;
      uses[target] = left;
      places[target] = (places[target] as number) ^ place;
      seconds[target] = (seconds[target] as number) ^ second;
      if (left >> 2 === 1) order[waiting++] = target;
    }
  }
  if (taken !== keys) return null;

  const filter = new Uint8Array(size);
  for (let index = size - taken; index < size; index++) {
    const position = order[index] as number;
    const place = places[position] as number;
    const second = seconds[position] as number;
    const first = firstPosition(place, span);
    const middle = (first + segment) ^ (second & mask);
    const last = (first + 2 * segment) ^ ((second >>> segmentBits) & mask);
    filter[position] =
      (filter[first] as number) ^
      (filter[middle] as number) ^
      (filter[last] as number) ^
      fingerprint(place, second);
  }
  freeMemory([uses, places, seconds, order]);
  return { shape, bytes: filter };
}

/** Returns whether a slot with these hashes passes the filter; always true for a slot that the filter was built from. */
export function passesFilter(bytes: Uint8Array, shape: FilterShape, place: number, second: number): boolean {
  if (shape.bytes === 0) return true;
  const segment = 1 << shape.segmentBits;
  const mask = segment - 1;
  const first = firstPosition(place, shape.span);
  const middle = (first + segment) ^ (second & mask);
  const last = (first + 2 * segment) ^ ((second >>> shape.segmentBits) & mask);
  const found = (bytes[first] as number) ^ (bytes[middle] as number) ^ (bytes[last] as number);
  return found === (fingerprint(place, second) & 0xff);
}

/** Returns the place hash of the slot at `records[at]`. */
export const slotPlace = (records: Int32Array, at: number): number =>
  placeHash(
    records[at] as number,
    records[at + 1] as number,
    records[at + 2] as number,
    records[at + 3] as number,
    records[at + 4] as number,
    records[at + SLOT_WORDS - 1] as number,
  );

/** Returns the filter hash of the slot at `records[at]`. */
export const slotSecond = (records: Int32Array, at: number): number =>
  filterHash(
    records[at] as number,
    records[at + 1] as number,
    records[at + 2] as number,
    records[at + 3] as number,
    records[at + 4] as number,
    records[at + SLOT_WORDS - 1] as number,
  );

/**
 * Stored transactions by fingerprint: their positions, the dense ids of the sender and receiver of each, and its number in the log. Stores
 * of version 3 and earlier have positions without a number, and keep them as they are.
 */
import { ByteReader, ByteWriter } from './bytes.ts';
import { HASHED_MARK, PLAIN_MARK_MAX } from './fingerprint.ts';

const MARK_BYTES = 6;
/**
 * The highest byte of a mark says what follows. Marks of earlier versions have 0 there if they are exact, and its highest bit set if they
 * are hashed, with a hash that is one bit longer. The values between show that a number in the log follows.
 */
const NUMBERED_PLAIN = 2 ** 40;
const NUMBERED_HASHED = 2 ** 46;

const reader = new ByteReader();
const out = new ByteWriter();

export interface KnownPosition {
  /** `positionMark` of fingerprint.ts. */
  readonly mark: number;
  readonly from: number;
  readonly to: number;
  /** Number in the log. Null if an earlier version stored the position. */
  readonly ordinal: number | null;
}

/** Returns a mark without the bit that earlier versions had. Other marks stay the same. */
export const currentMark = (mark: number): number =>
  mark < HASHED_MARK ? mark : HASHED_MARK + ((mark - HASHED_MARK) % NUMBERED_HASHED);

/** Unpacks the positions of a transaction. */
export function readPositions(bytes: Buffer | undefined): KnownPosition[] {
  const positions: KnownPosition[] = [];
  if (!bytes) return positions;
  reader.open(bytes);
  while (!reader.isAtEnd) {
    const { at } = reader;
    reader.skip(MARK_BYTES);
    const stored = bytes.readUIntLE(at, MARK_BYTES);
    const from = reader.varint();
    const to = reader.varint();
    if (stored <= PLAIN_MARK_MAX || stored >= HASHED_MARK)
      positions.push({ mark: currentMark(stored), from, to, ordinal: null });
    else {
      const mark =
        stored < NUMBERED_HASHED ? stored - NUMBERED_PLAIN : stored - NUMBERED_HASHED + HASHED_MARK;
      positions.push({ mark, from, to, ordinal: reader.varint() });
    }
  }
  return positions;
}

/** Packs the positions of a transaction. The result is valid until the next call. */
export function packPositions(positions: readonly KnownPosition[]): Buffer {
  out.length = 0;
  for (const { mark, from, to, ordinal } of positions) {
    const numbered = mark < HASHED_MARK ? mark + NUMBERED_PLAIN : mark - HASHED_MARK + NUMBERED_HASHED;
    out.reserve(MARK_BYTES);
    out.bytes.writeUIntLE(ordinal === null ? mark : numbered, out.length, MARK_BYTES);
    out.length += MARK_BYTES;
    out.varint(from);
    out.varint(to);
    if (ordinal !== null) out.varint(ordinal);
  }
  return out.bytes.subarray(0, out.length);
}

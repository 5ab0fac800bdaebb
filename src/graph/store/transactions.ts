/** Stored transactions by fingerprint: their positions, and the dense ids of the sender and receiver of each. */
import { ByteReader, ByteWriter } from './bytes.ts';

const MARK_BYTES = 6;
const reader = new ByteReader();
const out = new ByteWriter();

export interface KnownPosition {
  /** `positionMark` of fingerprint.ts. */
  readonly mark: number;
  readonly from: number;
  readonly to: number;
}

/** Unpacks the positions of a transaction. */
export function readPositions(bytes: Buffer | undefined): KnownPosition[] {
  const positions: KnownPosition[] = [];
  if (!bytes) return positions;
  reader.open(bytes);
  while (!reader.isAtEnd) {
    const { at } = reader;
    reader.skip(MARK_BYTES);
    positions.push({ mark: bytes.readUIntLE(at, MARK_BYTES), from: reader.varint(), to: reader.varint() });
  }
  return positions;
}

/** Packs the positions of a transaction. */
export function packPositions(positions: readonly KnownPosition[]): Buffer {
  out.length = 0;
  for (const { mark, from, to } of positions) {
    out.reserve(MARK_BYTES);
    out.bytes.writeUIntLE(mark, out.length, MARK_BYTES);
    out.length += MARK_BYTES;
    out.varint(from);
    out.varint(to);
  }
  return out.take();
}

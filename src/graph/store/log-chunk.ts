/**
 * A value of the log: up to eight transfers, each with what differs from the one before it: transaction, block and time are often the same.
 * Values of stores before format 5 have complete records with their lengths, and are read too. Such a record is also the form in which a
 * transfer is passed to a writer (`packTransfer` of log.ts).
 */
import { ByteReader, ByteWriter } from './bytes.ts';
import { packedLength } from './fingerprint.ts';
import { UNKNOWN_INITIATION } from './initiation.ts';

/** The second byte of a value of format 5. No record is so long that a former value has it there. */
const COMPACT = 0xff;
const HEADER_BYTES = 2;
/** Flags in front of a transfer. The two lowest bits say how its transaction is stored; 0 is a number without a transfer. */
const HEX_ID = 1;
const TAGGED_ID = 2;
const SAME_ID = 3;
const ID_BITS = 3;
const SAME_BLOCK = 4;
const PRICED = 8;
const STARTED = 16;
/** Assets below 8 are in the bits above. */
const ASSET_SHIFT = 5;
const ASSET_IN_FLAGS_MAX = 7;
/** Differences of numbers from here on are not exact in 53 bits. A value with one keeps complete records. */
const NUMBER_MAX = 2 ** 50;
/** Tag of an id of 64 hexadecimal digits with 0x in front, nearly all of account chains. */
const PREFIXED_HEX = 0;
const HEX_BYTES = 32;

/** Reads the transfers of a value one after another. The fields are those of the last one. */
export class LogCursor {
  readonly reader = new ByteReader();
  #isCompact = false;
  #left = 0;
  isEmpty = true;
  /** Tag and place of the transaction id (fingerprint.ts). */
  tag = 0;
  idAt = 0;
  idLength = 0;
  /** `positionCode`. 0 if the position is the text at `textAt`. */
  position = 0;
  textAt = 0;
  textLength = 0;
  blockNumber = 0;
  timestampMs = 0;
  from = 0;
  to = 0;
  asset = 0;
  /** Below zero if no price is known. */
  cents = -1;
  initiation = UNKNOWN_INITIATION;
  #amountAt = 0;

  open(bytes: Buffer): this {
    this.#isCompact = bytes.length >= HEADER_BYTES && bytes[1] === COMPACT;
    this.#left = this.#isCompact ? (bytes[0] as number) : Number.POSITIVE_INFINITY;
    this.reader.open(bytes, this.#isCompact ? HEADER_BYTES : 0);
    this.idLength = 0;
    this.blockNumber = 0;
    this.timestampMs = 0;
    return this;
  }

  /** Moves to the next number. Returns false at the end. */
  next(): boolean {
    if (!this.#isCompact) return this.#nextFormer();
    if (this.#left === 0) return false;
    this.#left--;
    this.#readCompact();
    return true;
  }

  /** Moves to the transfer at a place, counted from 0, of a value that was just opened. Returns false if there is none. */
  seek(slot: number): boolean {
    for (let skip = slot; skip > 0; skip--) if (!this.next()) return false;
    return this.next() && !this.isEmpty;
  }

  #nextFormer(): boolean {
    const { reader } = this;
    const { bytes } = reader;
    if (reader.at + 2 > bytes.length) return false;
    const length = bytes.readUInt16LE(reader.at);
    const start = reader.at + 2;
    this.isEmpty = length === 0;
    reader.open(bytes, start);
    reader.skip(length);
    if (length > 0) {
      reader.open(bytes, start, start + length);
      this.#readFormer();
    }
    reader.open(bytes, start + length);
    return true;
  }

  #readFormer(): void {
    const { reader } = this;
    this.#readId(reader.byte());
    this.#readPosition();
    this.blockNumber = reader.varint();
    this.timestampMs = reader.time();
    this.from = reader.varint();
    this.to = reader.varint();
    this.asset = reader.varint();
    this.cents = reader.varint() - 1;
    this.#amountAt = reader.at;
    reader.skipAmount();
    this.initiation = reader.isAtEnd ? UNKNOWN_INITIATION : reader.byte();
  }

  #readCompact(): void {
    const { reader } = this;
    const flags = reader.byte();
    const id = flags & ID_BITS;
    this.isEmpty = id === 0;
    if (id === 0) return;
    if (id !== SAME_ID) this.#readId(id === HEX_ID ? PREFIXED_HEX : reader.byte());
    this.#readPosition();
    if (!(flags & SAME_BLOCK)) {
      this.blockNumber += reader.signed();
      const code = reader.signed();
      const half = Math.trunc(code / 2);
      this.timestampMs += half * 2 === code ? half * 1000 : (code - Math.sign(code)) / 2;
    }
    this.from = reader.varint();
    this.to = reader.varint();
    this.asset = flags >> ASSET_SHIFT || reader.varint();
    this.cents = flags & PRICED ? reader.varint() : -1;
    this.#amountAt = reader.at;
    reader.skipCompact();
    this.initiation = flags & STARTED ? reader.byte() : UNKNOWN_INITIATION;
  }

  #readId(tag: number): void {
    const { reader } = this;
    this.tag = tag;
    this.idLength = (packedLength(tag) ?? reader.byte() + 1) - 1;
    this.idAt = reader.at;
    reader.skip(this.idLength);
  }

  #readPosition(): void {
    const { reader } = this;
    this.position = reader.varint();
    if (this.position !== 0) return;
    this.textLength = reader.byte();
    this.textAt = reader.at;
    reader.skip(this.textLength);
  }

  /** The packed transaction id, as a copy. */
  transaction(): Buffer {
    const packed = Buffer.allocUnsafe(this.idLength + 1);
    packed[0] = this.tag;
    this.reader.bytes.copy(packed, 1, this.idAt, this.idAt + this.idLength);
    return packed;
  }

  positionText(): string {
    return this.reader.bytes.toString('utf8', this.textAt, this.textAt + this.textLength);
  }

  amount(): bigint {
    const { reader } = this;
    const { at } = reader;
    reader.at = this.#amountAt;
    const amount = this.#isCompact ? reader.compact() : reader.amount();
    reader.at = at;
    return amount;
  }

  /** The amount as the nearest double. */
  amountNumber(): number {
    const { reader } = this;
    const { at } = reader;
    reader.at = this.#amountAt;
    const amount = this.#isCompact ? reader.compactNumber() : reader.amountNumber();
    reader.at = at;
    return amount;
  }

  /** Appends the amount in the compact form. */
  writeAmount(out: ByteWriter): void {
    const { bytes } = this.reader;
    const start = this.#amountAt + 1;
    const length = this.#isCompact ? Number.POSITIVE_INFINITY : (bytes[this.#amountAt] as number);
    if (length > 12) {
      out.compact(this.amount());
      return;
    }
    const word = (end: number): number => {
      let value = 0;
      for (let at = Math.max(start, end - 4); at < end; at++) value = value * 0x100 + (bytes[at] as number);
      return value;
    };
    const end = start + length;
    out.compactWords(word(end), word(end - 4), word(end - 8));
  }
}

const cursor = new LogCursor();
const out = new ByteWriter();

/**
 * Packs records, each with its length in front, into a value of the log.
 *
 * @param records at most eight, without gaps: a number without a transfer is an empty record
 * @returns bytes that are valid until the next call, or as long as the records
 */
export function packChunk(records: Buffer): Buffer {
  const read = cursor.open(records);
  out.length = HEADER_BYTES;
  let count = 0;
  let blockNumber = 0;
  let timestampMs = 0;
  let idAt = 0;
  let idLength = -1;
  let tag = -1;
  for (; read.next(); count++) {
    if (read.isEmpty) {
      out.byte(0);
      continue;
    }
    if (read.blockNumber >= NUMBER_MAX || read.timestampMs >= NUMBER_MAX) return records;
    const isSameId =
      tag === read.tag &&
      idLength === read.idLength &&
      records.compare(records, idAt, idAt + idLength, read.idAt, read.idAt + idLength) === 0;
    const isHex = read.tag === PREFIXED_HEX && read.idLength === HEX_BYTES;
    const isSameBlock = blockNumber === read.blockNumber && timestampMs === read.timestampMs;
    out.byte(
      (isSameId ? SAME_ID : isHex ? HEX_ID : TAGGED_ID) |
        (isSameBlock ? SAME_BLOCK : 0) |
        (read.cents < 0 ? 0 : PRICED) |
        (read.initiation === UNKNOWN_INITIATION ? 0 : STARTED) |
        (read.asset <= ASSET_IN_FLAGS_MAX ? read.asset << ASSET_SHIFT : 0),
    );
    if (!isSameId) {
      if (!isHex) {
        out.byte(read.tag);
        if (packedLength(read.tag) === null) out.byte(read.idLength);
      }
      out.copy(records, read.idAt, read.idAt + read.idLength);
    }
    out.varint(read.position);
    if (read.position === 0) {
      out.byte(read.textLength);
      out.copy(records, read.textAt, read.textAt + read.textLength);
    }
    if (!isSameBlock) {
      out.signed(read.blockNumber - blockNumber);
      const ms = read.timestampMs - timestampMs;
      out.signed(ms % 1000 === 0 ? (ms / 1000) * 2 : ms * 2 + Math.sign(ms));
    }
    out.varint(read.from);
    out.varint(read.to);
    if (read.asset === 0 || read.asset > ASSET_IN_FLAGS_MAX) out.varint(read.asset);
    if (read.cents >= 0) out.varint(read.cents);
    read.writeAmount(out);
    if (read.initiation !== UNKNOWN_INITIATION) out.byte(read.initiation);
    ({ blockNumber, timestampMs, idAt, idLength, tag } = read);
  }
  out.bytes[0] = count;
  out.bytes[1] = COMPACT;
  return out.bytes.subarray(0, out.length);
}

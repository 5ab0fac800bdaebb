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

  /** Passes the amount to a packer. */
  amountInto(packer: ChunkPacker): void {
    const { bytes } = this.reader;
    const start = this.#amountAt + 1;
    const length = this.#isCompact ? Number.POSITIVE_INFINITY : (bytes[this.#amountAt] as number);
    if (length > 12) {
      packer.large = this.amount();
      return;
    }
    const word = (end: number): number => {
      let value = 0;
      for (let at = Math.max(start, end - 4); at < end; at++) value = value * 0x100 + (bytes[at] as number);
      return value;
    };
    const end = start + length;
    packer.large = null;
    packer.amountLow = word(end);
    packer.amountMiddle = word(end - 4);
    packer.amountHigh = word(end - 8);
  }
}

/** Packs the transfers of a value one after another: the fields of the next one are set, then `add` appends it. */
export class ChunkPacker {
  /** Where the packed id of the transaction is, behind its tag. It must stay there until the next transfer was added. */
  bytes: Uint8Array = Buffer.alloc(0);
  idAt = 0;
  idLength = 0;
  tag = 0;
  /** `positionCode`. 0 if the position is `text`. */
  position = 0;
  text: Uint8Array = Buffer.alloc(0);
  blockNumber = 0;
  timestampMs = 0;
  from = 0;
  to = 0;
  asset = 0;
  /** Below zero if no price is known. */
  cents = -1;
  initiation = UNKNOWN_INITIATION;
  /** Words of 32 bits, used if `large` is null. */
  amountLow = 0;
  amountMiddle = 0;
  amountHigh = 0;
  large: bigint | null = null;

  readonly #out: ByteWriter;
  #start = 0;
  #lastBytes: Uint8Array = this.bytes;
  #lastIdAt = 0;
  #lastIdLength = -1;
  #lastTag = -1;
  #lastBlock = 0;
  #lastMs = 0;
  count = 0;

  /** @param out - the value is appended to it */
  constructor(out: ByteWriter) {
    this.#out = out;
  }

  /** Whether the next transfer has numbers that this form cannot store. */
  get isBeyond(): boolean {
    return this.blockNumber >= NUMBER_MAX || this.timestampMs >= NUMBER_MAX;
  }

  start(): void {
    const out = this.#out;
    this.#start = out.length;
    out.reserve(HEADER_BYTES);
    out.length += HEADER_BYTES;
    this.#lastIdLength = -1;
    this.#lastTag = -1;
    this.#lastBlock = 0;
    this.#lastMs = 0;
    this.count = 0;
  }

  /** Appends a number without a transfer. */
  addEmpty(): void {
    this.#out.byte(0);
    this.count++;
  }

  add(): void {
    const out = this.#out;
    const { tag, idLength, asset, cents, initiation } = this;
    const isSameId = this.#isSameId();
    const isHex = tag === PREFIXED_HEX && idLength === HEX_BYTES;
    const isSameBlock = this.#lastBlock === this.blockNumber && this.#lastMs === this.timestampMs;
    out.byte(
      (isSameId ? SAME_ID : isHex ? HEX_ID : TAGGED_ID) |
        (isSameBlock ? SAME_BLOCK : 0) |
        (cents < 0 ? 0 : PRICED) |
        (initiation === UNKNOWN_INITIATION ? 0 : STARTED) |
        (asset <= ASSET_IN_FLAGS_MAX ? asset << ASSET_SHIFT : 0),
    );
    if (!isSameId) {
      if (!isHex) {
        out.byte(tag);
        if (packedLength(tag) === null) out.byte(idLength);
      }
      out.copy(this.bytes, this.idAt, this.idAt + idLength);
    }
    out.varint(this.position);
    if (this.position === 0) {
      out.byte(this.text.length);
      out.copy(this.text, 0, this.text.length);
    }
    if (!isSameBlock) {
      out.signed(this.blockNumber - this.#lastBlock);
      const ms = this.timestampMs - this.#lastMs;
      out.signed(ms % 1000 === 0 ? (ms / 1000) * 2 : ms * 2 + Math.sign(ms));
    }
    out.varint(this.from);
    out.varint(this.to);
    if (asset === 0 || asset > ASSET_IN_FLAGS_MAX) out.varint(asset);
    if (cents >= 0) out.varint(cents);
    if (this.large !== null) out.compact(this.large);
    else out.compactWords(this.amountLow, this.amountMiddle, this.amountHigh);
    if (initiation !== UNKNOWN_INITIATION) out.byte(initiation);
    this.#lastBytes = this.bytes;
    this.#lastIdAt = this.idAt;
    this.#lastIdLength = idLength;
    this.#lastTag = tag;
    this.#lastBlock = this.blockNumber;
    this.#lastMs = this.timestampMs;
    this.count++;
  }

  #isSameId(): boolean {
    const { bytes, idAt, idLength } = this;
    if (this.#lastTag !== this.tag || this.#lastIdLength !== idLength) return false;
    const last = this.#lastBytes;
    const lastAt = this.#lastIdAt;
    // From the end: ids that someone chose may have equal beginnings.
    for (let at = idLength - 1; at >= 0; at--) if (bytes[idAt + at] !== last[lastAt + at]) return false;
    return true;
  }

  /** Completes the value. */
  finish(): void {
    const { bytes } = this.#out;
    bytes[this.#start] = this.count;
    bytes[this.#start + 1] = COMPACT;
  }
}

const cursor = new LogCursor();

/** Returns how many numbers a value has. */
export function countIn(value: Buffer): number {
  if (value.length >= HEADER_BYTES && value[1] === COMPACT) return value[0] as number;
  cursor.open(value);
  let count = 0;
  while (cursor.next()) count++;
  return count;
}

const out = new ByteWriter();
const packer = new ChunkPacker(out);

/**
 * Packs records, each with its length in front, into a value of the log.
 *
 * @param records at most eight, without gaps: a number without a transfer is an empty record
 * @returns bytes that are valid until the next call, or as long as the records
 */
export function packChunk(records: Buffer): Buffer {
  const read = cursor.open(records);
  out.length = 0;
  packer.bytes = records;
  packer.start();
  while (read.next()) {
    if (read.isEmpty) {
      packer.addEmpty();
      continue;
    }
    packer.idAt = read.idAt;
    packer.idLength = read.idLength;
    packer.tag = read.tag;
    packer.position = read.position;
    if (read.position === 0) packer.text = records.subarray(read.textAt, read.textAt + read.textLength);
    packer.blockNumber = read.blockNumber;
    packer.timestampMs = read.timestampMs;
    if (packer.isBeyond) return records;
    packer.from = read.from;
    packer.to = read.to;
    packer.asset = read.asset;
    packer.cents = read.cents;
    packer.initiation = read.initiation;
    read.amountInto(packer);
    packer.add();
  }
  packer.finish();
  return out.bytes.subarray(0, out.length);
}

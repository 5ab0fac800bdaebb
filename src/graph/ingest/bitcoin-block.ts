/**
 * One serialised block of BTC, BCH or BSV: header, transactions, and the checks that the bytes are intact (proof of work of the header,
 * Merkle root of the transactions). bitcoin-blk.ts reads files of blocks.
 */
import { createHash } from 'node:crypto';
import { AssayError } from '../../base/errors.ts';
import type { ScriptReader } from '../../chains/bitcoin-script.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { UtxoInput, UtxoOutput, UtxoTransaction } from '../../chains/utxo-transaction.ts';

export const HEADER_BYTES = 80;

export interface BlockHeader {
  /** As displayed: byte-reversed hex, like all hashes here. */
  readonly hash: string;
  readonly parentHash: string;
  readonly merkleRoot: string;
  readonly version: number;
  readonly timestampMs: number;
  /** The target that the hash must not exceed, in compact form. */
  readonly bits: number;
}

export interface RawBlock {
  readonly header: BlockHeader;
  /** Height in the coinbase (BIP 34). Null in older blocks. */
  readonly coinbaseHeight: number | null;
  /** Inputs contain only references to their outputs: address and value are null. */
  transactions(height: number): UtxoTransaction[];
}

interface RawTransaction {
  readonly txid: string;
  readonly inputs: readonly UtxoInput[];
  readonly outputs: readonly UtxoOutput[];
}

const doubleSha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const first = createHash('sha256');
  for (const part of parts) first.update(part);
  return createHash('sha256').update(first.digest()).digest();
};

const shown = (hash: Uint8Array): string => Buffer.from(hash).reverse().toString('hex');

const broken = (what: string): AssayError => new AssayError('INVALID_FILE', what);

/** Reads bytes in order. Throws an error with the position if they end too early. */
class ByteReader {
  readonly bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  need(count: number): number {
    const from = this.at;
    if (count > this.bytes.length - from)
      throw broken(
        `The block ends at byte ${this.bytes.length}, inside the element that begins at byte ${from}.`,
      );
    this.at = from + count;
    return from;
  }

  u8(): number {
    return this.bytes[this.need(1)] as number;
  }

  u32(): number {
    return this.bytes.readUInt32LE(this.need(4));
  }

  u64(): bigint {
    return this.bytes.readBigUInt64LE(this.need(8));
  }

  take(count: number): Buffer {
    const from = this.need(count);
    return this.bytes.subarray(from, from + count);
  }

  /** Bitcoin's CompactSize. */
  size(): number {
    const first = this.u8();
    if (first < 0xfd) return first;
    if (first === 0xfd) return this.bytes.readUInt16LE(this.need(2));
    if (first === 0xfe) return this.u32();
    const value = this.u64();
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw broken(`Byte ${this.at} counts ${value} items.`);
    return Number(value);
  }
}

/** Reads the first 80 bytes of a block. Cheap: two hashes. */
export function readHeader(bytes: Buffer): BlockHeader {
  if (bytes.length < HEADER_BYTES) throw broken(`A block header has 80 bytes (got ${bytes.length}).`);
  return {
    hash: shown(doubleSha256(bytes.subarray(0, HEADER_BYTES))),
    version: bytes.readInt32LE(0),
    parentHash: shown(bytes.subarray(4, 36)),
    merkleRoot: shown(bytes.subarray(36, 68)),
    timestampMs: bytes.readUInt32LE(68) * 1000,
    bits: bytes.readUInt32LE(72),
  };
}

/** Returns the target of compact bits, or 0 if they are invalid. */
export function targetOf(bits: number): bigint {
  const exponent = bits >>> 24;
  const mantissa = bits & 0x7f_ffff;
  if ((bits & 0x80_0000) !== 0) return 0n;
  if (exponent <= 3) return BigInt(mantissa >>> (8 * (3 - exponent)));
  return exponent > 34 ? 0n : BigInt(mantissa) << BigInt(8 * (exponent - 3));
}

/** Expected number of hashes tried for a block. Chains are compared by their sum. */
export const workOf = (bits: number): bigint => (1n << 256n) / (targetOf(bits) + 1n);

/** Returns true if the hash of the header does not exceed its own target. */
export function hasProofOfWork(header: BlockHeader): boolean {
  const target = targetOf(header.bits);
  return target > 0n && BigInt(`0x${header.hash}`) <= target;
}

/**
 * The Merkle root of transaction ids. Null if two neighbours on a level are equal: such a list can be extended without changing its root
 * (CVE-2012-2459), and no valid block has one.
 */
function merkleRoot(txids: readonly string[]): string | null {
  let level = txids.map((txid) => Buffer.from(txid, 'hex').reverse());
  while (level.length > 1) {
    const above: Buffer<ArrayBuffer>[] = [];
    for (let at = 0; at < level.length; at += 2) {
      const left = level[at] as Buffer;
      const right = level[at + 1];
      if (right?.equals(left)) return null;
      above.push(Buffer.from(doubleSha256(left, right ?? left)));
    }
    level = above;
  }
  const [root] = level;
  return root ? shown(root) : null;
}

function readTransaction(reader: ByteReader, scripts: ScriptReader): RawTransaction {
  const start = reader.at;
  reader.need(4);
  let bodyStart = reader.at;
  // BIP 144: an input count of 0 marks a transaction with a witness after the outputs.
  const hasWitness = reader.bytes[reader.at] === 0 && reader.bytes[reader.at + 1] === 1;
  if (hasWitness) {
    reader.need(2);
    bodyStart = reader.at;
  }
  const inputs: UtxoInput[] = [];
  for (let left = reader.size(); left > 0; left--) {
    const txid = shown(reader.take(32));
    const vout = reader.u32();
    reader.take(reader.size() + 4);
    inputs.push({ txid, vout, address: null, value: null });
  }
  const outputs: UtxoOutput[] = [];
  const outputCount = reader.size();
  for (let n = 0; n < outputCount; n++) {
    const value = reader.u64();
    const { kind, address } = scripts.read(reader.take(reader.size()));
    outputs.push({ n, address, value, script: kind });
  }
  const bodyEnd = reader.at;
  if (hasWitness)
    for (let input = 0; input < inputs.length; input++)
      for (let items = reader.size(); items > 0; items--) reader.take(reader.size());
  const lockTime = reader.take(4);
  const { bytes } = reader;
  const hash = hasWitness
    ? doubleSha256(bytes.subarray(start, start + 4), bytes.subarray(bodyStart, bodyEnd), lockTime)
    : doubleSha256(bytes.subarray(start, reader.at));
  return { txid: shown(hash), inputs, outputs };
}

const NO_TXID = '0'.repeat(64);
const COINBASE_VOUT = 0xffff_ffff;

/** Returns the number at the beginning of a coinbase script of a block of version 2 or later (BIP 34), or null. */
function heightIn(script: Buffer): number | null {
  const first = script[0];
  if (first === undefined) return null;
  if (first === 0) return 0;
  if (first > 0x50 && first <= 0x60) return first - 0x50;
  if (first > 5 || script.length <= first) return null;
  return script.readUIntLE(1, first);
}

function coinbaseHeight(bytes: Buffer, version: number): number | null {
  if (version < 2) return null;
  const reader = new ByteReader(bytes);
  reader.need(HEADER_BYTES);
  reader.size();
  reader.need(4);
  if (bytes[reader.at] === 0) reader.need(2);
  reader.size();
  reader.need(36);
  return heightIn(reader.take(reader.size()));
}

/**
 * Reads a complete block and verifies it.
 *
 * @throws INVALID_FILE if the proof of work or the Merkle root is wrong, or if the block is cut short or has extra bytes
 */
export function readBlock(bytes: Buffer, chain: ChainId, scripts: ScriptReader): RawBlock {
  const header = readHeader(bytes);
  if (!hasProofOfWork(header))
    throw broken(`Block ${header.hash} does not meet its proof of work: the header is damaged.`);
  const reader = new ByteReader(bytes);
  reader.need(HEADER_BYTES);
  const raw: RawTransaction[] = [];
  for (let left = reader.size(); left > 0; left--) raw.push(readTransaction(reader, scripts));
  if (reader.at !== bytes.length)
    throw broken(
      `Block ${header.hash} has ${bytes.length} bytes, but its transactions end at byte ${reader.at}.`,
    );
  if (merkleRoot(raw.map(({ txid }) => txid)) !== header.merkleRoot)
    throw broken(
      `Block ${header.hash} has transactions that do not match its Merkle root: the file is damaged.`,
    );
  return {
    header,
    coinbaseHeight: coinbaseHeight(bytes, header.version),
    transactions: (height) =>
      raw.map(({ txid, inputs, outputs }, indexInBlock) => {
        const [first] = inputs;
        const isCoinbase = first?.txid === NO_TXID && first.vout === COINBASE_VOUT;
        return {
          chain,
          txid,
          blockNumber: height,
          indexInBlock,
          timestampMs: header.timestampMs,
          isCoinbase,
          inputs: isCoinbase ? [] : inputs,
          outputs,
        };
      }),
  };
}

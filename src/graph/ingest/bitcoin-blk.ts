/**
 * Raw block files of BTC, BCH and BSV nodes (`blk*.dat`), and single serialised blocks, in chain order. Such files contain blocks in the
 * order of their arrival. So the blocks are located first, and then read one at a time, from the lowest height up.
 */
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { ScriptReader } from '../../chains/bitcoin-script.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { UtxoBlock } from '../../chains/utxo-transaction.ts';
import type { StoredBlock } from '../utxo/outputs-store.ts';
import {
  type BlockHeader,
  HEADER_BYTES,
  hasProofOfWork,
  readBlock,
  readHeader,
  targetOf,
  workOf,
} from './bitcoin-block.ts';
import { INGEST_LIMITS } from './limits.ts';
import { noBlock } from './row-layout.ts';

/** The four bytes before each block, from the chainparams of Bitcoin Core. BCH and BSV nodes write the same bytes to disk. */
const NETWORKS: Readonly<Record<string, string>> = {
  f9beb4d9: 'main',
  '0b110907': 'testnet3',
  '1c163f28': 'testnet4',
  '0a03cf40': 'signet',
  fabfb5da: 'regtest',
};

/** The easiest targets that networks of test allow: of signet, and the only one of regtest. The other networks allow 0x1d00ffff. */
const SIGNET_TARGET = targetOf(0x1e0377ae);
const REGTEST_TARGET = targetOf(0x207fffff);
const MAIN_TARGET = targetOf(0x1d00ffff);

/** Returns the networks that a block can be of: its header shows its target, but not its network. */
function networksOf({ bits }: BlockHeader): readonly string[] {
  const target = targetOf(bits);
  if (target > SIGNET_TARGET) return target === REGTEST_TARGET ? ['regtest'] : [];
  if (target > MAIN_TARGET) return ['signet'];
  return Object.values(NETWORKS).filter((network) => network !== 'regtest');
}

const CHAINS: readonly ChainId[] = ['BTC', 'BCH', 'BSV'];

const RECORD_HEADER_BYTES = 8;
const NO_PARENT = '0'.repeat(64);
/** Magic of a range that was reserved and not written yet. */
const UNWRITTEN = '00000000';
const XOR_KEY_BYTES = 8;

export interface BitcoinBlkOptions {
  readonly files: readonly string[];
  readonly chain: ChainId;
  readonly signal?: AbortSignal;
}

export interface BitcoinBlkDeps {
  /** Returns the stored block with this hash, or null. The files' heights follow from a stored parent. */
  readonly stored?: (hash: string) => StoredBlock | null;
}

export interface BitcoinBlkReport {
  /** The networks that the blocks can be of: one, unless all files are single blocks, which have no network magic. */
  readonly networks: readonly string[];
  /** Blocks of the best chain. `orphans` counts the others. */
  readonly blocks: number;
  readonly orphans: number;
  /** Files that end inside a block, which happens while a node is running. */
  readonly cutShort: readonly string[];
}

export interface BitcoinBlkFiles {
  readonly report: BitcoinBlkReport;
  /** Yields blocks, lowest first. Throws INVALID_FILE with file and byte for a block that fails verification. */
  read(): AsyncGenerator<UtxoBlock>;
}

interface Place {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
}

interface Found extends Place {
  readonly header: BlockHeader;
}

const invalid = (place: { file: string; offset: number }, what: string, cause?: unknown): AssayError =>
  new AssayError('INVALID_FILE', `${place.file}, byte ${place.offset}: ${what}`, { cause });

/** A file of a node, deobfuscated: newer nodes XOR it with a key of eight bytes in the same folder (`xor.dat`). */
class BlockFile {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #key: Buffer | null;
  readonly size: number;

  private constructor(path: string, handle: FileHandle, key: Buffer | null, size: number) {
    this.path = path;
    this.#handle = handle;
    this.#key = key;
    this.size = size;
  }

  static async open(path: string): Promise<BlockFile> {
    const key = await readFile(join(dirname(path), 'xor.dat')).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (key && key.length !== XOR_KEY_BYTES)
      throw new AssayError('INVALID_FILE', `${join(dirname(path), 'xor.dat')} is not a key of 8 bytes.`);
    const handle = await open(path, 'r');
    try {
      const { size } = await handle.stat();
      return new BlockFile(path, handle, key?.some((byte) => byte !== 0) ? key : null, size);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Reads bytes from `offset` on. Returns fewer at the end of the file. */
  async read(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, this.size - offset)));
    let filled = 0;
    while (filled < bytes.length) {
      const { bytesRead } = await this.#handle.read(bytes, filled, bytes.length - filled, offset + filled);
      if (bytesRead === 0)
        throw invalid({ file: this.path, offset }, 'the file became shorter while it was read.');
      filled += bytesRead;
    }
    const key = this.#key;
    if (key)
      for (let at = 0; at < bytes.length; at++)
        bytes[at] = (bytes[at] as number) ^ (key[(offset + at) % XOR_KEY_BYTES] as number);
    return bytes;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

interface Scan {
  readonly found: Map<string, Found>;
  networks: readonly string[];
  readonly cutShort: string[];
}

function note(scan: Scan, place: Place, header: BlockHeader): void {
  if (!hasProofOfWork(header)) throw invalid(place, `block ${header.hash} does not meet its proof of work.`);
  if (scan.found.has(header.hash)) return;
  if (scan.found.size >= INGEST_LIMITS.bitcoinBlocksMax)
    throw invalid(place, `there are more than ${INGEST_LIMITS.bitcoinBlocksMax} blocks.`);
  scan.found.set(header.hash, { ...place, header });
}

/** Notes which networks a block can be of, and thus all blocks. */
function narrow(scan: Scan, place: { file: string; offset: number }, networks: readonly string[]): void {
  const common = scan.networks.filter((network) => networks.includes(network));
  if (common.length === 0)
    throw invalid(
      place,
      networks.length === 0
        ? 'the block has a target that no network allows.'
        : `a block of ${networks.join(' or ')} is mixed with blocks of ${scan.networks.join(' or ')}.`,
    );
  scan.networks = common;
}

/** Finds the blocks of a file by their record headers. Only 88 bytes of each are read. */
async function scanFile(file: BlockFile, scan: Scan, signal: AbortSignal | undefined): Promise<void> {
  if (file.size === 0) throw noBlock([file.path]);
  let offset = 0;
  while (offset + RECORD_HEADER_BYTES <= file.size) {
    signal?.throwIfAborted();
    const head = await file.read(offset, RECORD_HEADER_BYTES + HEADER_BYTES);
    const place = { file: file.path, offset };
    const magic = head.toString('hex', 0, 4);
    if (magic === UNWRITTEN) return;
    const network = NETWORKS[magic];
    if (!network) {
      if (offset === 0 && head.length > HEADER_BYTES && hasProofOfWork(readHeader(head))) {
        if (file.size > INGEST_LIMITS.bitcoinBlockBytesMax)
          throw invalid(
            place,
            `a block of ${file.size} bytes is out of range (${INGEST_LIMITS.bitcoinBlockBytesMax}).`,
          );
        const header = readHeader(head);
        narrow(scan, place, networksOf(header));
        note(scan, { ...place, length: file.size }, header);
        return;
      }
      throw invalid(place, 'no block begins here.');
    }
    narrow(scan, place, [network]);
    const length = head.readUInt32LE(4);
    if (length <= HEADER_BYTES || length > INGEST_LIMITS.bitcoinBlockBytesMax)
      throw invalid(
        place,
        `a block of ${length} bytes is out of range (${INGEST_LIMITS.bitcoinBlockBytesMax}).`,
      );
    const start = offset + RECORD_HEADER_BYTES;
    if (start + length > file.size) {
      scan.cutShort.push(file.path);
      return;
    }
    note(scan, { file: file.path, offset: start, length }, readHeader(head.subarray(RECORD_HEADER_BYTES)));
    offset = start + length;
  }
  if (offset < file.size) scan.cutShort.push(file.path);
}

interface Segment {
  readonly root: Found;
  /** From the root to the tip of most work. */
  readonly blocks: readonly Found[];
}

/**
 * Returns each set of blocks that build on one another, as the branch with the most work. Of equal branches it takes the first one found,
 * as nodes do.
 */
function bestChains(found: ReadonlyMap<string, Found>): Segment[] {
  const children = new Map<string, Found[]>();
  const roots: Found[] = [];
  for (const block of found.values()) {
    const { parentHash } = block.header;
    if (!found.has(parentHash)) {
      roots.push(block);
      continue;
    }
    const siblings = children.get(parentHash);
    if (siblings) siblings.push(block);
    else children.set(parentHash, [block]);
  }
  return roots.map((root) => {
    let best = { block: root, work: workOf(root.header.bits) };
    const open = [best];
    for (let next = open.pop(); next; next = open.pop()) {
      if (next.work > best.work) best = next;
      const { hash } = next.block.header;
      for (const block of [...(children.get(hash) ?? [])].reverse())
        open.push({ block, work: next.work + workOf(block.header.bits) });
    }
    const blocks: Found[] = [];
    for (let block: Found | undefined = best.block; block; block = found.get(block.header.parentHash))
      blocks.push(block);
    return { root, blocks: blocks.reverse() };
  });
}

/**
 * Finds all blocks of the files and orders the best chain. Heights are derived from the first block of a chain, from a stored parent block,
 * or from a coinbase (BIP 34).
 *
 * @throws INVALID_REQUEST if the chain does not use this layout
 * @throws INVALID_FILE if a file contains other data, or if a height cannot be determined
 */
export async function openBitcoinBlk(
  options: BitcoinBlkOptions,
  deps: BitcoinBlkDeps = {},
): Promise<BitcoinBlkFiles> {
  const { chain, signal } = options;
  if (!CHAINS.includes(chain))
    throw new AssayError(
      'INVALID_REQUEST',
      `chain: block files can be read for ${CHAINS.join(', ')}, not for ${chain}.`,
    );
  const scan: Scan = { found: new Map(), networks: Object.values(NETWORKS), cutShort: [] };
  for (const path of options.files) {
    const file = await BlockFile.open(path);
    try {
      await scanFile(file, scan, signal);
    } finally {
      await file.close();
    }
  }

  const scripts = new ScriptReader(chain);
  let current: BlockFile | null = null;
  const blockAt = async (place: Found): Promise<ReturnType<typeof readBlock>> => {
    if (current?.path !== place.file) {
      await current?.close();
      current = null;
      current = await BlockFile.open(place.file);
    }
    const bytes = await current.read(place.offset, place.length);
    try {
      return readBlock(bytes, chain, scripts);
    } catch (error) {
      throw error instanceof AssayError ? invalid(place, error.message, error) : error;
    }
  };
  const heightOf = async (root: Found): Promise<number> => {
    const { parentHash, hash } = root.header;
    if (parentHash === NO_PARENT) return 0;
    const below = deps.stored?.(parentHash);
    if (below) return below.height + 1;
    const height = (await blockAt(root)).coinbaseHeight;
    if (height !== null) return height;
    throw invalid(
      root,
      `block ${hash} builds on ${parentHash}, which is not in the files, and its height is unknown.`,
    );
  };

  const segments: { readonly height: number; readonly blocks: readonly Found[] }[] = [];
  let blocks = 0;
  try {
    for (const segment of bestChains(scan.found)) {
      segments.push({ height: await heightOf(segment.root), blocks: segment.blocks });
      blocks += segment.blocks.length;
    }
  } finally {
    await (current as BlockFile | null)?.close();
    current = null;
  }
  segments.sort((a, b) => a.height - b.height);
  return {
    report: {
      networks: scan.networks,
      blocks,
      orphans: scan.found.size - blocks,
      cutShort: scan.cutShort,
    },
    async *read() {
      try {
        for (const segment of segments)
          for (const [at, place] of segment.blocks.entries()) {
            signal?.throwIfAborted();
            const block = await blockAt(place);
            const height = segment.height + at;
            if (
              block.coinbaseHeight !== null &&
              block.coinbaseHeight !== height &&
              at > 0 &&
              isCertain(block.header)
            )
              throw invalid(
                place,
                `the coinbase gives height ${block.coinbaseHeight}, but the chain gives ${height}.`,
              );
            const { hash, parentHash, timestampMs } = block.header;
            yield {
              height,
              hash,
              parentHash: parentHash === NO_PARENT ? null : parentHash,
              timestampMs,
              transactions: block.transactions(height),
            };
          }
      } finally {
        await current?.close();
        current = null;
      }
    },
  };
}

/** Version 4 was introduced when every block had to contain its height. In earlier versions the number can be something else. */
const isCertain = ({ version }: BlockHeader): boolean => version >= 4;

/**
 * Batches of the oracle: one signature binds the answers of about a second. Each answer gets a salt and the number of its line at once; its
 * proof can be fetched when the batch is signed. The hot path copies the answer, and stores nothing; another thread hashes it
 * (batch-lines.ts).
 */
import type { Clock } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { createIds } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { combine, HASH_BYTES, inclusionParts, nodeHash, type TreeNode } from '../base/merkle.ts';
import type { Random } from '../base/random.ts';
import { sleep } from '../base/retry.ts';
import { LINE_SALT_BYTES } from '../base/salted-lines.ts';
import { BatchLines, type HashedLines } from './batch-lines.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import type { ClosedBatch, Receipts } from './service.ts';

/** Leaves of one stored record: 8 KB, of which a proof needs one whole. */
export const LEAVES_OF_TILE = 256;

/** Salts are drawn for this many answers at a time: one call of the generator costs as much as a hash. */
const SALTS_AT_ONCE = 1_024;

/** Bytes that `write` needs beside the answer. */
const MEMBER_BYTES = 140;

/** Pause after a batch could not be stored. */
const RETRY_MS = 1_000;

/** A batch to which answers are added. */
interface OpenBatch {
  readonly id: string;
  /** The member `batch` of its answers, up to the line. */
  readonly memberStart: string;
}

/** A batch that is not stored yet. */
interface WaitingBatch {
  readonly id: string;
  readonly count: number;
  readonly hashed: Promise<HashedLines>;
}

export interface BatchesDeps {
  readonly receipts: () => Pick<Receipts, 'issueBatch'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Adds answers to batches, and has each batch signed. */
export class ReceiptBatches {
  readonly #deps: BatchesDeps;
  readonly #newId: () => string;
  readonly #lines = new BatchLines();
  #salts: Uint8Array = new Uint8Array(0);
  #saltAt = 0;
  #open: OpenBatch | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** Batches that are not stored yet, the oldest first. */
  readonly #closed: WaitingBatch[] = [];
  #storing: Promise<void> | null = null;
  readonly #stopping = new AbortController();

  constructor(deps: BatchesDeps) {
    this.#deps = deps;
    this.#newId = createIds(deps);
  }

  /**
   * Adds an answer, and the member `batch` at its end.
   *
   * @param out - has the JSON text of the answer, an object, from `start` to `end`
   * @returns the offset after the member; -1 if it does not fit, and then nothing was added
   * @throws OVERLOADED if earlier batches could not be stored
   */
  write(out: Buffer, start: number, end: number): number {
    if (end + MEMBER_BYTES > out.length) return -1;
    if (this.#closed.length >= RECEIPT_LIMITS.batchesWaitingMax)
      throw new AssayError('OVERLOADED', 'Batches of receipts cannot be stored; use receipt=jws or none.', {
        retryAfterSeconds: 1,
      });
    const batch = this.#open ?? this.#begin();
    const salt = this.#nextSalt();
    const line = this.#lines.count;
    this.#lines.add(salt, out, start, end);
    // In the place of the closing brace.
    const member = `${batch.memberStart}${line},"salt":"${salt.toString('hex')}"}}`;
    const after = end - 1 + out.write(member, end - 1, 'latin1');
    if (line + 1 >= RECEIPT_LIMITS.batchLinesMax) this.#close();
    return after;
  }

  #begin(): OpenBatch {
    const id = this.#newId();
    const batch = { id, memberStart: `,"batch":{"id":"${id}","line":` };
    this.#open = batch;
    this.#timer = setTimeout(() => this.#close(), RECEIPT_LIMITS.batchMs);
    this.#timer.unref();
    return batch;
  }

  #nextSalt(): Buffer {
    if (this.#saltAt === this.#salts.length) {
      this.#salts = this.#deps.random.bytes(SALTS_AT_ONCE * LINE_SALT_BYTES);
      this.#saltAt = 0;
    }
    const { buffer, byteOffset } = this.#salts;
    const salt = Buffer.from(buffer, byteOffset + this.#saltAt, LINE_SALT_BYTES);
    this.#saltAt += LINE_SALT_BYTES;
    return salt;
  }

  #close(): void {
    const batch = this.#open;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#open = null;
    if (batch === null) return;
    const { count } = this.#lines;
    this.#closed.push({ id: batch.id, count, hashed: this.#lines.close() });
    this.#storing ??= this.#store().finally(() => {
      this.#storing = null;
    });
  }

  /** Stores the closed batches in their order. One that cannot be stored is tried again: its answers were sent. */
  async #store(): Promise<void> {
    const { receipts, log } = this.#deps;
    const { signal } = this.#stopping;
    for (let first = this.#closed[0]; first !== undefined; first = this.#closed[0]) {
      try {
        await receipts().issueBatch(await closedOf(first));
        this.#closed.shift();
      } catch (error) {
        log.error(
          { batch: first.id, lines: first.count, reason: messageOf(error) },
          'batch of receipts not stored',
        );
        if (signal.aborted) return;
        await sleep(RETRY_MS, signal);
      }
    }
  }

  /** Signs and stores what is open. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#close();
    await this.#storing;
    await this.#lines.stop();
  }
}

async function closedOf({ id, count, hashed }: WaitingBatch): Promise<ClosedBatch> {
  const { root, leaves } = await hashed;
  return { id, lines: { count, root: root.toString('hex') }, leaves };
}

/**
 * Returns the path of a line of a batch: hexadecimal, from the sibling of the leaf to the child of the root.
 *
 * @param tile - returns the leaves of a record, 256 except in the last one
 */
export function batchPath(line: number, count: number, tile: (number: number) => Buffer): string[] {
  const tiles = new Map<number, Buffer>();
  const leafAt = (index: number): Buffer => {
    const number = Math.floor(index / LEAVES_OF_TILE);
    const bytes = tiles.get(number) ?? tile(number);
    tiles.set(number, bytes);
    const at = (index % LEAVES_OF_TILE) * HASH_BYTES;
    return bytes.subarray(at, at + HASH_BYTES);
  };
  const hashOf = ({ level, index }: TreeNode): Buffer => {
    if (level === 0) return leafAt(index);
    const half = { level: level - 1, index: index * 2 };
    return nodeHash(hashOf(half), hashOf({ ...half, index: half.index + 1 }));
  };
  return inclusionParts(line, count).map((nodes) => combine(nodes.map(hashOf)).toString('hex'));
}

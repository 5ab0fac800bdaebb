/**
 * The rows of a file that could not be read. One that an earlier file has not may stand in the place of a party that the newer file seems to
 * lack, so its wallets and names stay in force.
 */
import { createHash } from 'node:crypto';
import { SOURCE_LIMITS } from './limits.ts';

/** Hexadecimal digits of the hash by which a row is found again in another file. */
const HASH_DIGITS = 16;

/** A row of a file that could not be read. */
export interface UnreadableRow {
  /** The publisher's id of its party; null if the row does not show it. */
  readonly entityId: string | null;
  /** Part of the SHA-256 of the row: the same row in two files has the same hash. */
  readonly hash: string;
}

/** Collects the rows of one file. Too many of them become one row of an unknown party that no other file has. */
export class UnreadableRows {
  readonly #contentHash: string;
  /** By their hash. */
  readonly #rows = new Map<string, UnreadableRow>();

  /** @param contentHash - hash of the content of the file */
  constructor(contentHash: string) {
    this.#contentHash = contentHash;
  }

  /**
   * @param entityId - the publisher's id of the party; null if the row does not show it
   * @param text - the reason and the text of the row
   */
  add(entityId: string | null, text: string): void {
    const kept = this.#rows.size;
    if (kept > SOURCE_LIMITS.unreadableRowsMax) return;
    const isLast = kept === SOURCE_LIMITS.unreadableRowsMax;
    const row = isLast ? `more rows of ${this.#contentHash}` : `${entityId ?? ''}\n${text}`;
    const hash = createHash('sha256').update(row).digest('hex').slice(0, HASH_DIGITS);
    this.#rows.set(hash, { entityId: isLast ? null : entityId, hash });
  }

  /** Returns the collected rows, each once. */
  all(): readonly UnreadableRow[] {
    return [...this.#rows.values()];
  }
}

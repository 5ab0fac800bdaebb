/** The port of the log's records, and what one transaction adds to them. store-lmdb.ts implements it. */
import type { MerkleFrontier } from '../../base/merkle.ts';
import type { TileName } from './tiles.ts';

/** An entry of the log: a receipt. */
export interface LogEntry {
  /** Id of the receipt. */
  readonly id: string;
  /** SHA-256 of the salted receipt: the log never has the receipt itself. */
  readonly hash: Uint8Array;
}

/** Identity of a log. It never changes. */
export interface LogIdentity {
  readonly origin: string;
  /** Key with which its checkpoints are verified: `name+id+key`. */
  readonly vkey: string;
  /** The private key of its checkpoints, encrypted at rest. */
  readonly encryptedKey: string;
  readonly createdAtMs: number;
}

/** Decides whether the tree is covered by a new checkpoint, and signs it. */
export type SignHead = (frontier: MerkleFrontier) => string;

/** A state of the log that Redis has lost and this node has kept. */
export interface NewerLog {
  readonly path: string;
  identity(): LogIdentity | null;
  /** Number of entries. */
  size(): number;
  /** Returns the bytes of a tile or of an entry bundle; null if the log has fewer hashes there. */
  tile(tile: TileName): Buffer | null;
  /** Returns the last checkpoint that witnesses were asked to sign; null if absent. */
  witnessed(): string | null;
  /** Returns the entries from `index` on. */
  entriesFrom(index: number): readonly LogEntry[];
  close(): Promise<void>;
}

export interface LogStore {
  /** Number of entries. */
  size(): number;
  /** Returns the identity; null before the log was created. */
  identity(): LogIdentity | null;
  /** Stores the identity unless there is one, and returns the stored one. */
  found(identity: LogIdentity, sign: SignHead): Promise<LogIdentity>;
  /**
   * Appends entries in one durable transaction. An entry that is in the log already is not appended again.
   *
   * @param sign signs a checkpoint of the new tree; called if `isDue` returns true
   * @param isDue whether a checkpoint is due, if the last one covers `signed` of `size` entries
   * @returns the index of each entry; null if its id is in the log with another hash
   * @throws STORAGE_FULL, NOT_READY
   */
  append(
    entries: readonly LogEntry[],
    sign: SignHead,
    isDue: (signed: number, size: number) => boolean,
  ): Promise<readonly (number | null)[]>;
  /**
   * Appends entries that were in the log before, if its next entry is at most the one at `index`. No checkpoint is signed.
   *
   * @returns false if the log has other entries there, or ends before; nothing is appended then
   * @throws STORAGE_FULL, NOT_READY
   */
  appendAt(index: number, entries: readonly LogEntry[]): Promise<boolean>;
  /** Returns the states of the log that Redis has lost, the oldest first. The caller closes each. */
  newer(): Iterable<NewerLog>;
  /**
   * Calls `listener` when the log was replaced by a copy of that in Redis, before anything is appended to it. `hasLost` is true if Redis went
   * back to an earlier state.
   */
  onCopied(listener: (hasLost: boolean) => void): void;
  /** Number of entries that the last checkpoint does not cover. */
  unsigned(): number;
  /** Signs a checkpoint of all entries, if the last one does not cover them. */
  sign(sign: SignHead): Promise<void>;
  /** Returns the last checkpoint; null before the log was created. */
  checkpoint(): string | null;
  /** Returns the last checkpoint that witnesses were asked to sign, with their cosignatures; null if absent. */
  witnessed(): string | null;
  /** Stores a checkpoint with cosignatures. */
  putWitnessed(checkpoint: string): Promise<void>;
  /** Returns the index of a receipt; null if the log does not have it. */
  indexOf(id: string): number | null;
  /** Returns the hash of the receipt at `index`; null if absent. */
  entry(index: number): Buffer | null;
  /** Returns the bytes of a tile or of an entry bundle; null if the log has fewer hashes there. */
  tile(tile: TileName): Buffer | null;
  /** Ends the read transaction, so that the next read sees the writes of other processes. */
  refresh(): void;
  close(): Promise<void>;
}

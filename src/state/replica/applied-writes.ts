/**
 * The write sets that this process has applied to its replica, and the notification of listeners. A write set of this process arrives twice,
 * as the reply of its append and from the stream, in either order: it is applied once, and listeners are not notified of it.
 */
import type { AppliedWrite } from '../live-store.ts';
import { type Database, keyFromBytes } from '../lmdb.ts';
import type { Write, WriteSet } from '../write-set.ts';
import type { Position, ReplicaFile } from './replica-file.ts';

/** A write set of this process that is not yet both acknowledged and received from the stream. */
export interface OwnWriteSet {
  isAcknowledged: boolean;
  /** Its writes, once it was received from the stream. */
  received: readonly Write[] | null;
}

/** The position and the listeners of one process. */
export class AppliedWrites {
  readonly #file: ReplicaFile;
  readonly #listeners: ((writes: readonly AppliedWrite[]) => void)[] = [];
  readonly #copyListeners: ((hasLost: boolean) => void)[] = [];
  readonly #binaryKeyed = new Set<string>();
  readonly #own = new Map<string, OwnWriteSet>();
  #position: Position;

  constructor(file: ReplicaFile) {
    this.#file = file;
    this.#position = file.position();
  }

  /** The position up to which listeners of this process were notified. Another process of this machine may have applied more. */
  get position(): Position {
    return this.#position;
  }

  /** Registers a listener for the writes of other nodes. */
  listen(listener: (writes: readonly AppliedWrite[]) => void): void {
    this.#listeners.push(listener);
  }

  /** Registers a listener for copies. */
  listenToCopies(listener: (hasLost: boolean) => void): void {
    this.#copyListeners.push(listener);
  }

  /** Records that the keys of a database are reported as bytes. */
  reportKeysAsBytes(database: string): void {
    this.#binaryKeyed.add(database);
  }

  /** Applies write sets of other nodes. Returns false if they do not directly follow the replica's position. */
  apply(sets: readonly WriteSet[]): boolean {
    const fresh = sets.filter(({ version }) => version > this.#position.version);
    let at = this.#position;
    for (const { version, id, before } of fresh) {
      if (version !== at.version + 1 || before !== at.last) return false;
      at = { version, last: id };
    }
    if (fresh.length === 0) return true;
    this.#file.apply(at, fresh);
    this.#position = at;
    for (const { id, writes } of fresh) {
      const own = this.#own.get(id);
      if (own === undefined) this.#notify(writes);
      else if (own.isAcknowledged) this.#own.delete(id);
      else own.received = writes;
    }
    return true;
  }

  /**
   * Replaces the records of the replica by those of a copy.
   *
   * @param hasLost - true if Redis has lost writes that the replica has
   */
  replaceBy(staged: Database<Buffer, Buffer>, to: Position, hasLost: boolean): void {
    const changed = this.#file.replaceBy(staged, to);
    this.#position = to;
    this.#own.clear();
    for (const listener of this.#copyListeners) listener(hasLost);
    this.#notify(changed);
  }

  /** Registers a write set of this process before it is sent. */
  registerOwn(id: string): OwnWriteSet {
    const own: OwnWriteSet = { isAcknowledged: false, received: null };
    this.#own.set(id, own);
    return own;
  }

  /** Removes a write set of this process that was not appended. */
  removeOwn(id: string): void {
    this.#own.delete(id);
  }

  /** Treats a write set with an unknown outcome like one of another node from now on. */
  abandonOwn(id: string, own: OwnWriteSet): void {
    this.#own.delete(id);
    if (own.received !== null) this.#notify(own.received);
  }

  /**
   * Applies an appended write set of this process, unless it is applied already.
   *
   * @param from - the position before the write set
   * @returns false if the reply came from a server with a history that was discarded in a fail-over
   */
  acknowledgeOwn(from: Position, id: string, writes: readonly Write[]): boolean {
    const to = { version: from.version + 1, last: id };
    const { version, last } = this.#file.position();
    if (version < from.version || (version === from.version && last !== from.last)) {
      this.#own.delete(id);
      return false;
    }
    this.#file.apply(to, [{ version: to.version, id, before: from.last, writes }]);
    const own = this.#own.get(id);
    if (this.#position.version === from.version) {
      this.#position = to;
      this.#own.delete(id);
    } else if (own !== undefined && own.received === null) own.isAcknowledged = true;
    else this.#own.delete(id);
    return true;
  }

  #notify(writes: readonly Write[]): void {
    if (writes.length === 0 || this.#listeners.length === 0) return;
    const applied = writes.map(
      ({ database, key, value }): AppliedWrite => ({
        database,
        key: this.#binaryKeyed.has(database) ? key : keyFromBytes(key),
        isRemoved: value === null,
      }),
    );
    for (const listener of this.#listeners) listener(applied);
  }
}

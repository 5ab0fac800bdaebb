/** Whether a replicated store can be used: when Redis was heard last, why its store is unusable, and whether the disk is full. */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { StoreProblem } from '../live-store.ts';
import type { StateLog } from '../state-log.ts';
import { STORAGE_RETRY_SECONDS } from '../storage.ts';
import { REPLICA_LIMITS } from './limits.ts';
import { FILLING, type LogReply } from './write-log.ts';

export interface HealthOptions {
  /** Name of the store. */
  readonly name: string;
  /** Path of the replica. */
  readonly path: string;
  readonly formatVersion: number;
  readonly installationId: string;
}

export interface HealthDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly states: StateLog;
}

/** A fault of the store in Redis, which lasts until an operator repairs it. */
interface StoreFault {
  readonly kind: StoreProblem['kind'];
  readonly error: AssayError;
}

/** The health of one replicated store; logs its changes. */
export class ReplicaHealth {
  readonly #options: HealthOptions;
  readonly #deps: HealthDeps;
  /** Time of the last complete read from Redis, by the monotonic clock. */
  #heardMs = Number.NEGATIVE_INFINITY;
  #fault: StoreFault | null = null;
  /** Why write sets of other nodes cannot be applied to the replica: its disk is full; null if they can. */
  #full: AssayError | null = null;
  /** Why the log cannot be followed; null while it can. */
  #awayReason: string | null = null;

  constructor(options: HealthOptions, deps: HealthDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** True until the replica was synchronised once. */
  get isUnread(): boolean {
    return this.#heardMs === Number.NEGATIVE_INFINITY;
  }

  get hasFault(): boolean {
    return this.#fault !== null;
  }

  /** Records that the replica had all write sets at the time `atMs` of the monotonic clock. */
  heard(atMs: number): void {
    this.#heardMs = Math.max(this.#heardMs, atMs);
    this.#endFault();
  }

  /** Records that the disk of the replica is full, or has room again (null). */
  setFull(cause: unknown): void {
    this.#full = cause === null ? null : replicaFull(this.#options.path, cause);
  }

  /** Records why the log cannot be followed, or that it can be again (null). */
  setAway(reason: string | null): void {
    this.#awayReason = reason;
  }

  isCurrent(): boolean {
    return (
      this.#fault === null && this.#deps.clock.monotonic() - this.#heardMs < REPLICA_LIMITS.replicaCurrentMs
    );
  }

  problem(): StoreProblem | null {
    if (this.isCurrent()) return null;
    const kind = this.#fault?.kind ?? (this.#full === null ? 'away' : 'full');
    return {
      kind,
      message: (this.#fault?.error ?? this.#full ?? this.notCurrent()).message,
      ...(kind === 'away' && this.#awayReason !== null ? { reason: this.#awayReason } : {}),
    };
  }

  /** Throws if the replica is not current. */
  requireCurrent(): void {
    if (!this.isCurrent()) throw this.#fault?.error ?? this.#full ?? this.notCurrent();
  }

  /** Throws if the store in Redis cannot be used. */
  requireNoFault(): void {
    if (this.#fault !== null) throw this.#fault.error;
  }

  /** Returns the error for a read before the replica was synchronised. */
  unread(): AssayError {
    return this.#fault?.error ?? this.notCurrent();
  }

  notCurrent(): AssayError {
    return new AssayError(
      'NOT_READY',
      `This node has not heard from Redis for a second, so its data of '${this.#options.name}' may be out of date. Try again.`,
      { retryAfterSeconds: 1 },
    );
  }

  /**
   * Records the fault that a reply of Redis reports.
   *
   * @param version - version of the replica, for the message
   * @returns the error; null if the reply reports no fault
   */
  faultOf(reply: LogReply, version: number): AssayError | null {
    if (reply.kind === 'lost') return this.lost(version);
    if (reply.kind === 'format') return this.#otherFormat(reply.found);
    if (reply.kind === 'other') return this.#otherInstallation(reply.found);
    return null;
  }

  /** Records that Redis no longer has the store. */
  lost(version: number): AssayError {
    return this.#fail(
      'lost',
      new AssayError(
        'NOT_READY',
        `Redis no longer has the store '${this.#options.name}' of this installation; this node keeps its replica of version ${version}. Restore Redis from its backup, or from this node with \`assay redis restore --from-replica\`.`,
      ),
    );
  }

  /** Records that the migration of the store failed. */
  upgradeFailed(cause: unknown): AssayError {
    const reason = messageOf(cause).replace(/\.$/, '');
    return this.#fail(
      'upgrade',
      new AssayError('NOT_READY', `The migration of the store '${this.#options.name}' failed: ${reason}.`),
    );
  }

  #otherInstallation(id: string): AssayError {
    return this.#fail(
      'other',
      new AssayError(
        'NOT_READY',
        `Redis holds the installation ${id}, and this node belongs to ${this.#options.installationId || 'none'}. This node keeps its replicas and follows no other installation: set ASSAY_REDIS_URL to the Redis of its own installation.`,
      ),
    );
  }

  #otherFormat(format: string): AssayError {
    const { name, formatVersion } = this.#options;
    if (format === FILLING)
      return this.#fail(
        FILLING,
        new AssayError('NOT_READY', `Redis is being filled with the store '${name}' of another machine.`),
      );
    return this.#fail(
      'format',
      new AssayError(
        'STORE_VERSION',
        `The store '${name}' in Redis has format version ${format}; this version of Assay reads format version ${formatVersion} only.`,
      ),
    );
  }

  #fail(kind: StoreProblem['kind'], error: AssayError): AssayError {
    const { name } = this.#options;
    const { states, log } = this.#deps;
    if (this.#fault?.kind !== kind) {
      this.#endFault();
      states.enter(kind, name, () => log.error({ store: name, error: error.message }, 'store unavailable'));
    }
    this.#fault = { kind, error };
    return error;
  }

  #endFault(): void {
    if (this.#fault === null) return;
    const { name } = this.#options;
    const { states, log } = this.#deps;
    states.leave(this.#fault.kind, name, () => log.info({ store: name }, 'stores available again'));
    this.#fault = null;
  }
}

/** @param path - file of the replica, on the full disk */
const replicaFull = (path: string, cause: unknown): AssayError =>
  new AssayError(
    'NOT_READY',
    `Writes of other nodes cannot be applied to ${path}: its disk is full. Free space on it; this node then continues by itself.`,
    { cause, retryAfterSeconds: STORAGE_RETRY_SECONDS },
  );

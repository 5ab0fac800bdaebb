/** Follows the log of a replicated store: waits for write sets of other nodes on a connection of its own, and applies them. */
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { backOffMs, sleep } from '../../base/retry.ts';
import type { RedisConnection, RedisStore } from '../redis.ts';
import { firstSentence } from '../redis-connection.ts';
import type { StateLog } from '../state-log.ts';
import { isStorageFull } from '../storage.ts';
import type { AppliedWrites } from './applied-writes.ts';
import type { CatchUp } from './catch-up.ts';
import type { ReplicaHealth } from './health.ts';
import type { Lifecycle } from './lifecycle.ts';
import { REPLICA_LIMITS } from './limits.ts';
import type { Tail, WriteLog } from './write-log.ts';

export interface FollowerOptions {
  /** Name of the store. */
  readonly name: string;
  readonly installationId: string;
}

export interface FollowerDeps {
  readonly redis: RedisStore;
  readonly writeLog: WriteLog;
  readonly applied: AppliedWrites;
  readonly catchUp: CatchUp;
  readonly health: ReplicaHealth;
  readonly lifecycle: Lifecycle;
  readonly states: StateLog;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** The longest pause of a follower without a connection: it reconnects within a second after Redis returns. */
const BACK_OFF = { firstMs: 50, maxMs: 800 } as const;
/** A shorter interruption is not logged: a starting process is busy for a second, and a fail-over takes two. */
const AWAY_LOGGED_MS = 3_000;

/** The loop that follows the log of one store. */
export class Follower {
  readonly #options: FollowerOptions;
  readonly #deps: FollowerDeps;
  #client: RedisConnection;
  /** Time at which following failed first, by the monotonic clock; null while it works. */
  #failingMs: number | null = null;
  #failures = 0;
  /** True once an interruption was logged. */
  #isAway = false;
  /** Time of the last removal of old write sets, by the monotonic clock. */
  #trimmedMs = Number.NEGATIVE_INFINITY;

  constructor(options: FollowerOptions, deps: FollowerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#client = deps.redis.another('following');
  }

  /** Follows the log until the store is closed. Never rejects. */
  async run(): Promise<void> {
    const { health, catchUp, lifecycle, redis } = this.#deps;
    while (!lifecycle.isClosed) {
      try {
        if (health.isUnread) await catchUp.run();
        await this.#waitOnce();
        this.#succeeded();
        this.#trim();
      } catch (error) {
        if (lifecycle.isClosed) break;
        this.#failed(error);
        // The pending read may never return, and it blocks the commands after it: close the connection.
        this.#client.disconnect();
        await this.#pause();
        if (!lifecycle.isClosed) this.#client = redis.another('following');
      }
    }
  }

  /** Closes the connection, which ends a pending wait. */
  disconnect(): void {
    this.#client.disconnect();
  }

  /** Waits for write sets of other nodes, and checks that the store is still the one that this replica follows. */
  async #waitOnce(): Promise<void> {
    const { clock, writeLog, applied, catchUp, health } = this.#deps;
    const askedMs = clock.monotonic();
    const from = applied.position;
    const tail = await writeLog.waitForSets(this.#client, from);
    const isApplied = applied.apply(tail.sets);
    if (!isApplied || health.hasFault || !this.#continues(tail, from)) return catchUp.run();
    // An empty reply means that nothing was written until the end of the wait.
    if (!tail.isFull) health.heard(askedMs + (tail.isTimeout ? REPLICA_LIMITS.replicaListenMs : 0));
  }

  /** Removes old write sets if it is time for that. If it fails, the next time is soon enough. */
  #trim(): void {
    const { clock, writeLog, log } = this.#deps;
    const now = clock.monotonic();
    if (now - this.#trimmedMs < REPLICA_LIMITS.replicaTrimMs) return;
    this.#trimmedMs = now;
    writeLog
      .trim()
      .catch((error: unknown) =>
        log.debug({ store: this.#options.name, reason: messageOf(error) }, 'old write sets not removed'),
      );
  }

  /**
   * Returns true if the store in Redis continues the history up to `from`. A later version without write sets that lead to it is that of a
   * store that was replaced, unless another node wrote at this moment.
   */
  #continues({ head, sets }: Tail, from: { readonly version: number; readonly last: string }): boolean {
    const { installationId } = this.#options;
    return (
      head.installation === installationId &&
      ((head.version > from.version && sets.length > 0) ||
        (head.version === from.version && (head.last ?? installationId) === from.last))
    );
  }

  #succeeded(): void {
    const { states, health, log } = this.#deps;
    const { name } = this.#options;
    if (this.#isAway) states.leave('away', name, () => log.info({ store: name }, 'following stores again'));
    this.#isAway = false;
    health.setFull(null);
    health.setAway(null);
    this.#failures = 0;
    this.#failingMs = null;
  }

  #failed(error: unknown): void {
    const { clock, redis, states, health, log } = this.#deps;
    const { name } = this.#options;
    health.setFull(isStorageFull(error) ? error : null);
    health.setAway(redis.fault ?? (error instanceof Error ? firstSentence(error) : messageOf(error)));
    this.#failingMs ??= clock.monotonic();
    // Store faults and lost connections were logged when they were detected.
    const isLong = clock.monotonic() - this.#failingMs >= AWAY_LOGGED_MS;
    if (health.hasFault || redis.isLost || !isLong || this.#isAway) return;
    this.#isAway = true;
    states.enter('away', name, () =>
      log.warn({ store: name, error: messageOf(error) }, 'stores cannot be followed'),
    );
  }

  /** Pauses with jitter, so that the stores of all nodes do not reconnect at the same time. */
  #pause(): Promise<void> {
    const { random, lifecycle } = this.#deps;
    const jitter = (random.bytes(1)[0] ?? 0) / 256;
    return sleep(backOffMs(this.#failures++, BACK_OFF) * (0.5 + jitter / 2), lifecycle.closed);
  }
}

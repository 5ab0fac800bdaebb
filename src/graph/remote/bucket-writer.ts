/**
 * Writes records into the buckets of a chain. Each bucket counts its write steps. It accepts only the next step, and only from the newest
 * writer. So a replaced writer is detected, and so is a server that lost confirmed writes.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { luaScript } from '../../base/paths.ts';
import { sleep } from '../../base/retry.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { RedisStore, Script } from '../../state/redis.ts';
import { bucketSlot, NAMES } from './layout.ts';
import { REMOTE_LIMITS } from './limits.ts';

/** A server lost confirmed writes: everything written since the last certain place must be written again. */
export class LostWrites extends Error {}

/** Creates the error of a push that a newer one replaced. */
export const takenOver = (chain: ChainId): AssayError =>
  new AssayError('STORE_BUSY', `Another push of ${chain} took over, and this one was aborted.`);

export interface Patience {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly signal: AbortSignal | undefined;
}

/** Retries while no server answers: a fail-over takes seconds. The operation must be repeatable. */
export async function patiently<T>(work: () => Promise<T>, { clock, signal }: Patience): Promise<T> {
  const until = clock.monotonic() + REMOTE_LIMITS.remotePushPatienceMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isAway = error instanceof AssayError && error.code === 'NOT_READY';
      if (!isAway || clock.monotonic() >= until || signal?.aborted) throw error;
      await sleep(REMOTE_LIMITS.remotePushPauseMs);
    }
  }
}

interface Pending {
  readonly keys: string[];
  readonly values: (string | Buffer)[];
  readonly lives: (number | null)[];
}

export interface BucketWriterOptions {
  readonly chain: ChainId;
  readonly generation: number;
  readonly buckets: number;
  /** Greater than the token of any earlier writer. */
  readonly token: number;
  /** Records collected before they are written. */
  readonly recordsAtOnce: number;
  readonly patience: Patience;
}

/** Collects records and writes them to the buckets of one generation. */
export class BucketWriter {
  readonly #options: BucketWriterOptions;
  readonly #redis: RedisStore;
  readonly #write: Script;
  readonly #claim: Script;
  readonly #pending = new Map<number, Pending>();
  #waiting = 0;
  #waitingBytes = 0;
  /** The current step of each bucket. */
  steps: number[] = [];
  /** Number of records written, for reports. `bytes` is their size. */
  records = 0;
  bytes = 0;

  constructor(options: BucketWriterOptions, redis: RedisStore) {
    this.#options = options;
    this.#redis = redis;
    this.#write = redis.script('graph_write', luaScript('graph', 'remote', 'lua', 'bucket-write'));
    this.#claim = redis.script('graph_claim', luaScript('graph', 'remote', 'lua', 'bucket-claim'));
  }

  /** Shuts out all earlier writers. */
  async claim(): Promise<void> {
    const { buckets, token, chain, patience } = this.#options;
    const steps = await Promise.all(
      Array.from({ length: buckets }, (_, bucket) =>
        patiently(() => this.#claim([this.#writerKey(bucket)], [token]), patience),
      ),
    );
    if (steps.includes('TAKEN')) throw takenOver(chain);
    this.steps = steps.map(Number);
  }

  get isFull(): boolean {
    return (
      this.#waiting >= this.#options.recordsAtOnce || this.#waitingBytes >= REMOTE_LIMITS.remotePushBytes
    );
  }

  /**
   * Collects a record. The records of a bucket are written in the order of the calls.
   *
   * @param lifeMs milliseconds after which the server drops it; null: it is kept
   */
  put(bucket: number, name: string, value: string | Buffer, lifeMs: number | null = null): void {
    let pending = this.#pending.get(bucket);
    if (!pending) {
      pending = { keys: [], values: [], lives: [] };
      this.#pending.set(bucket, pending);
    }
    const { chain, generation } = this.#options;
    pending.keys.push(this.#redis.key(bucketSlot(chain, bucket), `${generation}:${name}`));
    pending.values.push(value);
    pending.lives.push(lifeMs);
    this.#waiting++;
    this.#waitingBytes += value.length;
  }

  /** Writes the collected records. Throws LostWrites, STORE_BUSY if another writer took over, NOT_READY if servers stay unavailable. */
  async flush(): Promise<void> {
    const all = [...this.#pending];
    this.#pending.clear();
    this.records += this.#waiting;
    this.bytes += this.#waitingBytes;
    this.#waiting = 0;
    this.#waitingBytes = 0;
    await Promise.all(all.map(([bucket, pending]) => this.#flushBucket(bucket, pending)));
  }

  async #flushBucket(bucket: number, { keys, values, lives }: Pending): Promise<void> {
    const { chain, token, patience } = this.#options;
    for (let from = 0; from < keys.length; ) {
      let until = from;
      let bytes = 0;
      while (
        until < keys.length &&
        until - from < REMOTE_LIMITS.remoteKeysPerCommand &&
        bytes < REMOTE_LIMITS.remoteScriptBytes
      )
        bytes += values[until++]?.length ?? 0;
      const step = (this.steps[bucket] as number) + 1;
      const part = [this.#writerKey(bucket), ...keys.slice(from, until)];
      const records = values.slice(from, until).flatMap((value, at) => [value, lives[from + at] ?? '']);
      const args = [token, step, ...records];
      const answer = await patiently(() => this.#write(part, args), patience);
      if (answer === 'TAKEN') throw takenOver(chain);
      if (answer !== 'OK') throw new LostWrites();
      this.steps[bucket] = step;
      from = until;
    }
  }

  #writerKey(bucket: number): string {
    return this.#redis.key(bucketSlot(this.#options.chain, bucket), NAMES.writer);
  }
}

/**
 * The transactions of this process. Those of one turn of the event loop form a group: they run on trial, are rolled back, and their writes
 * are appended in Redis as one write set. If other nodes wrote meanwhile, the group runs again on the newer data.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import { sleep } from '../../base/retry.ts';
import type { Fence } from '../live-store.ts';
import { encodeWrites, fieldOf, type Write } from '../write-set.ts';
import type { AppliedWrites } from './applied-writes.ts';
import type { CatchUp } from './catch-up.ts';
import type { ReplicaHealth } from './health.ts';
import type { Lifecycle } from './lifecycle.ts';
import { REPLICA_LIMITS } from './limits.ts';
import type { Position, ReplicaFile } from './replica-file.ts';
import type { AppendRequest, LogReply, WriteLog } from './write-log.ts';

/** A transaction that waits in the queue. */
interface QueuedTransaction {
  readonly work: () => unknown;
  readonly fence: Fence | null;
  /** Deadline, by the monotonic clock. */
  readonly untilMs: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The result of a trial run of one transaction. */
type TrialOutcome = { readonly value: unknown } | { readonly error: unknown };

/** Records by their field, as latin1 text. */
type TouchedRecords = Map<string, Pick<Write, 'database' | 'key'>>;

interface Trial {
  readonly from: Position;
  readonly group: readonly { readonly transaction: QueuedTransaction; readonly outcome: TrialOutcome }[];
  readonly writes: readonly Write[];
}

export interface WriteQueueDeps {
  readonly file: ReplicaFile;
  readonly writeLog: WriteLog;
  readonly applied: AppliedWrites;
  readonly catchUp: CatchUp;
  readonly health: ReplicaHealth;
  readonly lifecycle: Lifecycle;
  readonly clock: Clock;
}

/** Pause between two attempts to append. */
const RETRY_MS = 50;

/** The queue of one store. */
export class WriteQueue {
  readonly #name: string;
  readonly #writer: string;
  readonly #deps: WriteQueueDeps;
  readonly #queue: QueuedTransaction[] = [];
  /** Number of write sets of this process, for their ids. */
  #written = 0;
  #draining: Promise<void> | null = null;
  /** Records that the transaction of the trial wrote; null outside of trials. */
  #touched: TouchedRecords | null = null;

  /** @param writer - unique id of this process among all writers, which begins the ids of its write sets */
  constructor({ name, writer }: { readonly name: string; readonly writer: string }, deps: WriteQueueDeps) {
    this.#name = name;
    this.#writer = writer;
    this.#deps = deps;
  }

  /** True while a transaction runs. */
  get isOnTrial(): boolean {
    return this.#touched !== null;
  }

  /**
   * Runs `work` as one atomic step.
   *
   * @throws NOT_READY if the store is closed or Redis does not respond, OVERLOADED if too many transactions wait, STORE_BUSY if another
   * node holds the lease of `fence`
   */
  async run<T>(work: () => T, fence: Fence | null = null): Promise<T> {
    const { lifecycle, clock } = this.#deps;
    if (!lifecycle.isOpen) throw storeClosed(this.#name);
    return this.enqueue(work, fence, clock.monotonic() + REPLICA_LIMITS.replicaWriteMs);
  }

  /**
   * Like `run`, with a deadline, and while the store is closing.
   *
   * @param untilMs - deadline, by the monotonic clock
   */
  enqueue<T>(work: () => T, fence: Fence | null, untilMs: number): Promise<T> {
    if (this.#queue.length >= REPLICA_LIMITS.replicaWaitingMax)
      throw new AssayError(
        'OVERLOADED',
        `Too many writes are queued for the store '${this.#name}'. Try again.`,
        {
          retryAfterSeconds: 1,
        },
      );
    const result = new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, fence, untilMs, resolve: resolve as (value: unknown) => void, reject });
    });
    this.#draining ??= this.#drain();
    return result;
  }

  /** Records that the running transaction writes a record; throws outside of transactions. */
  touch(database: string, key: Buffer): void {
    if (this.#touched === null)
      throw new Error(`The store '${this.#name}' is written outside of a transaction.`);
    this.#touched.set(fieldOf(database, key).toString('latin1'), { database, key });
  }

  /** Resolves when no transaction waits any more. */
  async drained(): Promise<void> {
    await this.#draining;
  }

  /** Empties the queue. Never rejects. */
  async #drain(): Promise<void> {
    // Collect all transactions of this turn of the event loop into one group.
    await sleep(0);
    while (this.#queue.length > 0) {
      try {
        await this.#tryOnce();
      } catch (error) {
        // Redis or the replica rejected the write: reject the waiting transactions; the next transaction tries again.
        for (const { reject } of this.#queue.splice(0, REPLICA_LIMITS.replicaGroupMax)) reject(error);
      }
    }
    this.#draining = null;
  }

  /** Tries the waiting transactions once; those that do not succeed stay in the queue. */
  async #tryOnce(): Promise<void> {
    const { applied, catchUp, health } = this.#deps;
    await catchUp.running;
    const trial = this.#runOnTrial();
    const fences = distinctFences(trial);
    const id = `${this.#writer}-${++this.#written}`;
    const reply = await this.#append(trial, { id, writes: encodeWrites(trial.writes), fences });
    if (reply === null) return;
    if (reply.kind === 'appended') return this.#acknowledge(trial, id);
    applied.removeOwn(id);
    if (reply.kind === 'same') return this.#settle(trial);
    const fault = health.faultOf(reply, applied.position.version);
    if (fault !== null) throw fault;
    if (reply.kind === 'fenced') {
      const passed = fences[reply.at];
      const fenced = trial.group.filter(
        ({ transaction: { fence } }) => fence?.name === passed?.name && fence?.token === passed?.token,
      );
      this.#rejectGroup(fenced, leaseLost(passed?.name ?? ''));
      return;
    }
    if (reply.kind === 'behind' && applied.apply(reply.sets)) return;
    await catchUp.run();
  }

  /** Runs the waiting transactions that fit into one group, rolls the trial back, and returns their writes. */
  #runOnTrial(): Trial {
    const { file } = this.#deps;
    const group: { transaction: QueuedTransaction; outcome: TrialOutcome }[] = [];
    const writes = new Map<string, Write>();
    let from = file.start;
    let bytes = 0;
    file.trial(() => {
      from = file.position();
      for (const transaction of this.#queue) {
        if (group.length >= REPLICA_LIMITS.replicaGroupMax || bytes >= REPLICA_LIMITS.replicaGroupBytesMax)
          break;
        try {
          const { value, wrote } = file.step(() => this.#runOne(transaction));
          for (const [field, write] of wrote) {
            writes.set(field, write);
            bytes += field.length + (write.value?.length ?? 0);
          }
          group.push({ transaction, outcome: { value } });
        } catch (error) {
          group.push({ transaction, outcome: { error } });
        }
      }
    });
    return { from, group, writes: [...writes.values()] };
  }

  /** Must run inside the transaction of a trial. */
  #runOne({ work }: QueuedTransaction): { value: unknown; wrote: Map<string, Write> } {
    const touched: TouchedRecords = new Map();
    this.#touched = touched;
    try {
      const value = work();
      const wrote = new Map<string, Write>();
      let bytes = 0;
      for (const [field, { database, key }] of touched) {
        const stored = this.#deps.file.bytesOf(database).get(key) ?? null;
        wrote.set(field, { database, key, value: stored });
        bytes += field.length + (stored?.length ?? 0);
      }
      if (bytes > REPLICA_LIMITS.replicaWriteBytesMax)
        throw new AssayError(
          'INTERNAL',
          `A transaction of ${bytes} bytes is too large for the store '${this.#name}' (maximum: ${REPLICA_LIMITS.replicaWriteBytesMax} bytes).`,
        );
      return { value, wrote };
    } finally {
      this.#touched = null;
    }
  }

  /**
   * Appends a write set, and retries if no reply came: Redis recognises the write set by its id and writes it once. Returns null if the
   * outcome is still unknown at the earliest deadline of the group; the whole group is then rejected.
   */
  async #append(trial: Trial, set: AppendRequest): Promise<LogReply | null> {
    const { applied, writeLog, lifecycle, clock } = this.#deps;
    const untilMs = Math.min(...trial.group.map(({ transaction }) => transaction.untilMs));
    const own = applied.registerOwn(set.id);
    let error: unknown;
    do {
      try {
        return await writeLog.append(trial.from, set);
      } catch (thrown) {
        if (!(thrown instanceof AssayError) || thrown.code !== 'NOT_READY') {
          applied.removeOwn(set.id);
          throw thrown instanceof AssayError ? thrown : writeRejected(this.#name, thrown);
        }
        error = thrown;
        await sleep(RETRY_MS);
      }
    } while (clock.monotonic() < untilMs && lifecycle.isOpen);
    // The write set may still be on its way, or on too few replicas.
    applied.abandonOwn(set.id, own);
    // Reject the whole group, even transactions with time left: a retry under another id could execute them twice.
    this.#rejectGroup(trial.group, outcomeUnknown(error));
    return null;
  }

  /** Applies an appended write set, unless it is applied already, and resolves the promises of the group. */
  #acknowledge(trial: Trial, id: string): void {
    if (this.#deps.applied.acknowledgeOwn(trial.from, id, trial.writes)) this.#settle(trial);
    else this.#rejectGroup(trial.group, outcomeUnknown(null));
  }

  #settle({ group }: Trial): void {
    this.#dequeue(group);
    for (const { transaction, outcome } of group) {
      if ('error' in outcome) transaction.reject(outcome.error);
      else transaction.resolve(outcome.value);
    }
  }

  #rejectGroup(group: Trial['group'], error: AssayError): void {
    this.#dequeue(group);
    for (const { transaction } of group) transaction.reject(error);
  }

  #dequeue(group: Trial['group']): void {
    const done = new Set(group.map(({ transaction }) => transaction));
    const left = this.#queue.filter((transaction) => !done.has(transaction));
    this.#queue.length = 0;
    this.#queue.push(...left);
  }
}

const distinctFences = ({ group }: Trial): readonly Fence[] => [
  ...new Map(
    group.flatMap(({ transaction: { fence } }) =>
      fence === null ? [] : [[`${fence.name} ${fence.token}`, fence] as const],
    ),
  ).values(),
];

/** Returns the error for an operation on a closed store. */
export const storeClosed = (name: string): AssayError =>
  new AssayError('NOT_READY', `The store '${name}' is closed.`);

const outcomeUnknown = (cause: unknown): AssayError =>
  new AssayError(
    'NOT_READY',
    'Redis did not respond in time: the change may have been made, or may still be made. Check before you retry.',
    { cause, retryAfterSeconds: 1 },
  );

/** A server without free memory or disk rejects writes; it accepts them again when it has space. */
const writeRejected = (name: string, cause: unknown): AssayError =>
  new AssayError('NOT_READY', `Redis rejects writes to the store '${name}': ${messageOf(cause)}`, { cause });

const leaseLost = (lease: string): AssayError =>
  new AssayError('STORE_BUSY', `The lease '${lease}' was taken by another node: nothing was written.`);

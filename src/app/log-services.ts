/** Opens the transparency log of receipts, publishes it as static files, and asks its witnesses. */
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { sleep } from '../base/retry.ts';
import type { Config } from '../config/config.ts';
import { SETTINGS } from '../config/settings.ts';
import type { Degradation } from '../http/ports.ts';
import { LOG_LIMITS } from '../receipts/log/limits.ts';
import { openReceiptLog, type ReceiptLog } from '../receipts/log/log.ts';
import { parseVkey } from '../receipts/log/note.ts';
import { folderTarget, type LogTarget, s3Target } from '../receipts/log/places.ts';
import { LogPublisher } from '../receipts/log/publish.ts';
import { Witnesses, type WitnessPlace } from '../receipts/log/witness.ts';
import { openS3 } from '../replication/s3/client.ts';
import { underLease } from '../state/leases.ts';
import type { AccountServices } from './account-services.ts';

export interface LogServicesDeps {
  readonly accounts: Pick<AccountServices, 'logStore' | 'openEncryption' | 'shared'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Bytes of the random name of a log of an installation without a public host. */
const NAME_BYTES = 8;

/**
 * Opens the transparency log, and creates it at the first start.
 *
 * @throws INVALID_CONFIG if the settings name another origin
 */
export function receiptLogOf(
  { receiptLog: { origin, witnesses }, publicHost }: Config,
  { accounts, clock, random, log }: LogServicesDeps,
): Promise<ReceiptLog> {
  const name = publicHost ?? `assay.invalid/${Buffer.from(random.bytes(NAME_BYTES)).toString('hex')}`;
  return openReceiptLog(
    { origin, fallbackOrigin: `${name}/log`, isWitnessed: witnesses.length > 0 },
    { store: accounts.logStore(), encryption: () => accounts.openEncryption(), clock, random, log },
  );
}

/** Returns what the log does not do, although the node is ready. */
export function logDegradations(log: Pick<ReceiptLog, 'problem'> | null): readonly Degradation[] {
  const problem = log?.problem() ?? null;
  return problem === null ? [] : [{ kind: 'TRANSPARENCY_LOG', path: null, ...problem }];
}

/** Returns the witnesses of the settings. Throws INVALID_CONFIG if a key is not that of a witness. */
export const witnessesOf = ({ receiptLog }: Pick<Config, 'receiptLog'>): readonly WitnessPlace[] =>
  receiptLog.witnesses.map(({ url, vkey }) => ({
    url,
    verifier: parseVkey(vkey, SETTINGS.logWitnesses.variable, 'witness'),
  }));

/** Publishes new checkpoints until it is stopped. Of many nodes, the one that holds the lease does. */
export class LogPublishing {
  readonly #witnesses: Witnesses | null;
  readonly #target: LogTarget | null;
  readonly #publisher: LogPublisher | null;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #stopped = new AbortController();
  readonly #run: () => Promise<void>;
  #running: Promise<void> = Promise.resolve();
  #auditing: Promise<void> = Promise.resolve();
  /** The problem of the place that was logged last, so that it is logged once. */
  #problem: string | null = null;
  /** When witnesses that did not sign are asked again, by the monotonic clock. */
  #askAgainMs = 0;
  #lastAsked = '';

  private constructor(
    target: LogTarget | null,
    witnesses: Witnesses | null,
    { accounts, clock, log, receiptLog }: LogServicesDeps & { readonly receiptLog: ReceiptLog },
  ) {
    this.#target = target;
    this.#publisher = target === null ? null : new LogPublisher(receiptLog, target, clock);
    this.#witnesses = witnesses;
    this.#clock = clock;
    this.#log = log;
    const store = accounts.logStore();
    const { leases } = accounts.shared();
    // A witness that has signed more would halt the log.
    const checkpoint = (): string | null => (receiptLog.isRestoring() ? null : (store.checkpoint() ?? ''));
    this.#run = () =>
      underLease(
        {
          store: 'log',
          name: 'publish',
          work: (_, signal) => this.#work(checkpoint, signal),
        },
        this.#stopped.signal,
        { leases, log },
      );
  }

  /** Returns null if the settings name neither a place nor a witness. */
  static open(
    config: Config,
    deps: LogServicesDeps & { readonly receiptLog: ReceiptLog },
  ): LogPublishing | null {
    const { accounts, clock, log, receiptLog } = deps;
    const { publish } = config.receiptLog;
    const places = witnessesOf(config);
    if (publish === null && places.length === 0) return null;
    const store = accounts.logStore();
    const target =
      publish === null
        ? null
        : 'folder' in publish
          ? folderTarget(publish.folder)
          : s3Target(openS3(publish.s3, { clock }));
    const halt = (reason: string): void => receiptLog.halt(reason);
    const witnesses = places.length === 0 ? null : new Witnesses(places, { store, log, halt });
    return new LogPublishing(target, witnesses, deps);
  }

  /**
   * Compares the log with what is published, before the server serves it: a log that does not continue that is halted. Waits for a few
   * seconds at most, and never rejects: if the place does not answer, it is compared when it does.
   */
  async audit(): Promise<void> {
    const { signal } = this.#stopped;
    this.#auditing = (this.#publisher?.audit(signal) ?? Promise.resolve()).catch((error: unknown) =>
      this.#report(error, signal),
    );
    await Promise.race([this.#auditing, sleep(LOG_LIMITS.auditStartMs, signal, { unref: true })]);
  }

  /** Starts publishing. */
  start(): void {
    this.#running = this.#run();
  }

  async #work(checkpoint: () => string | null, signal: AbortSignal): Promise<void> {
    await this.#auditing;
    while (!signal.aborted) {
      try {
        await this.#ask(checkpoint());
        await this.#publisher?.publish(signal);
        if (this.#problem !== null) this.#log.info('transparency log is published again');
        this.#problem = null;
      } catch (error) {
        this.#report(error, signal);
      }
      await sleep(LOG_LIMITS.publishMs, signal);
    }
  }

  /** Logs a problem of the place, unless it is the one that was logged last. */
  #report(error: unknown, signal: AbortSignal): void {
    const problem = messageOf(error);
    if (signal.aborted || problem === this.#problem) return;
    this.#log.error({ error: problem }, 'transparency log not published');
    this.#problem = problem;
  }

  async #ask(checkpoint: string | null): Promise<void> {
    if (checkpoint === null) return;
    const isNew = checkpoint !== this.#lastAsked;
    if (this.#witnesses === null || (!isNew && this.#clock.monotonic() < this.#askAgainMs)) return;
    const isComplete = await this.#witnesses.ask();
    this.#lastAsked = checkpoint;
    this.#askAgainMs = isComplete
      ? Number.POSITIVE_INFINITY
      : this.#clock.monotonic() + LOG_LIMITS.witnessRetryMs;
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#auditing;
    await this.#running;
    await this.#witnesses?.close();
    await this.#target?.close();
  }
}

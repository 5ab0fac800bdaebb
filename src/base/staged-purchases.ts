/**
 * Buys records that are in another store than their charge: stage → charge → activate. After a failure or a crash between the steps,
 * `finish` completes the purchase or undoes it, so that no record is without its charge and no charge without its record
 * (docs/decisions/wallet-charges.md).
 */
import type { Clock } from './clock.ts';
import { AssayError, messageOf } from './errors.ts';
import type { Logger } from './log.ts';
import { sleep } from './retry.ts';

/** The response of a charged request. */
export interface PaidAnswer {
  readonly body: Uint8Array;
  /** True if an earlier request with the same Idempotency-Key has stored it. */
  readonly replayed: boolean;
}

/** The charge of a staged record, with all that another process needs to book it and to store its response. */
export interface StagedCharge {
  readonly type: 'SCREENING' | 'DEDUCTION';
  readonly amount: number;
  /** The balance of the account that pays; absent for `api`, and in rows of earlier versions. */
  readonly pool?: 'api' | 'dashboard';
  readonly reference: string | null;
  /** Slot of the request's Idempotency-Key and hash of its body, in hexadecimal; null without a key. */
  readonly keep: { readonly slot: string; readonly bodyHash: string } | null;
  /** Unknown fields of the request, which its response lists. */
  readonly ignored: readonly string[] | null;
}

/** A staged record, as the steps need it. */
export interface StagedRow {
  /** Unique among all rows. */
  readonly id: string;
  readonly stagedAtMs: number;
  /** Whether the client can repeat the request and get its response: it has an Idempotency-Key. */
  readonly isRepeatable: boolean;
  /** True if the purchase failed: a charge is refunded, then the row is removed. */
  readonly isAbandoned: boolean;
}

/** The store of staged rows. Each step is one durable transaction, and may be repeated. */
export interface StagedRows<Row> {
  /** Makes the record of a charged row visible. Returns false if the purchase was abandoned; then the charge must be refunded. */
  activate(row: Row): Promise<boolean>;
  /** Marks a row that will not be charged. Returns false if there is no row: the record is active, or nothing was staged. */
  abandon(row: Row): Promise<boolean>;
  /** Removes an abandoned row. */
  remove(row: Row): Promise<void>;
  /** Returns up to `limit` rows. */
  list(limit: number): readonly Row[];
}

/** Charges rows. Both operations may be repeated, and have their effect once. */
export interface RowBilling<Row> {
  /**
   * Charges a row and stores the response of its request.
   *
   * @throws CREDITS_EXHAUSTED; NOT_READY if the outcome is unknown
   */
  charge(row: Row): Promise<PaidAnswer>;
  /** Refunds the charge of a row, if there is one. */
  refund(row: Row): Promise<void>;
}

export interface StagedPurchasesOptions<Row> {
  /** Noun for logs and errors, such as `wallet`. */
  readonly what: string;
  /** Age from which a row is completed. 0 if no other process can work on it. */
  readonly graceMs: number;
  /** Rows that are completed in one look. */
  readonly lookRows: number;
  describe(row: Row): StagedRow;
}

export interface StagedPurchasesDeps<Row> {
  readonly rows: StagedRows<Row>;
  readonly billing: RowBilling<Row>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called when a bought record is active. */
  readonly onActive: () => void;
}

/** Pause between two looks at the staged rows. A look at an empty table is one read. */
const LOOK_MS = 1_000;

const hasCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof AssayError && codes.includes(error.code);

/** The purchases of one process. */
export class StagedPurchases<Row> {
  readonly #options: StagedPurchasesOptions<Row>;
  readonly #deps: StagedPurchasesDeps<Row>;
  /** Ids of the rows on which requests of this process work. */
  readonly #running = new Set<string>();
  /** Failed purchases that could not be undone yet, for example because the disk is full. */
  readonly #failed = new Map<string, Row>();

  constructor(options: StagedPurchasesOptions<Row>, deps: StagedPurchasesDeps<Row>) {
    this.#options = options;
    this.#deps = deps;
  }

  /**
   * Stages, charges and activates a row.
   *
   * @param stage - stores the row, and returns the stored one: that of an earlier request with the same Idempotency-Key, if there is one
   * @throws CREDITS_EXHAUSTED, NOT_READY, the errors of `stage` and of the stores
   */
  async buy(row: Row, stage: () => Promise<Row>): Promise<PaidAnswer> {
    const stored = await this.#guarded(row, stage);
    return this.resume(stored);
  }

  /**
   * Completes a purchase that an earlier request with the same Idempotency-Key has staged.
   *
   * @throws like `buy`
   */
  resume(row: Row): Promise<PaidAnswer> {
    return this.#guarded(row, () => this.#complete(row));
  }

  /** Refunds and removes an abandoned purchase. */
  async discard(row: Row): Promise<void> {
    await this.#deps.billing.refund(row);
    await this.#deps.rows.remove(row);
  }

  /** Completes or undoes purchases that no request works on any more, until `signal` is aborted. Never rejects. */
  async finish(signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    let isReported = false;
    while (!signal.aborted) {
      try {
        await this.#look();
        isReported = false;
      } catch (error) {
        if (!isReported && !signal.aborted)
          log.warn(
            { error: messageOf(error) },
            `interrupted purchases of ${this.#options.what}s not completed yet`,
          );
        isReported = true;
      }
      await sleep(LOOK_MS, signal);
    }
  }

  /** Charges and activates a stored row. */
  async #complete(row: Row): Promise<PaidAnswer> {
    const { rows, billing, log, onActive } = this.#deps;
    const { what, describe } = this.#options;
    const answer = await billing.charge(row);
    let isActive: boolean;
    try {
      isActive = await rows.activate(row);
    } catch (error) {
      // The row is stored and paid: `finish` activates it as soon as the store can be written.
      log.warn({ [what]: describe(row).id, error: messageOf(error) }, `charged ${what} not active yet`);
      return answer;
    }
    if (!isActive) {
      await billing.refund(row);
      throw new AssayError(
        'NOT_READY',
        `The ${what} was not added, and nothing was charged. Retry the request.`,
        { retryAfterSeconds: 1 },
      );
    }
    onActive();
    return answer;
  }

  /** Undoes a failed purchase, now or later. Never rejects. */
  async #undo(row: Row): Promise<void> {
    const { what, describe } = this.#options;
    const { id } = describe(row);
    this.#failed.set(id, row);
    try {
      // If there is no row, the record is active, and its charge stays.
      if (await this.#deps.rows.abandon(row)) await this.discard(row);
      this.#failed.delete(id);
    } catch (error) {
      this.#deps.log.warn(
        { [what]: id, error: messageOf(error) },
        `failed purchase of a ${what} not undone yet`,
      );
    }
  }

  /** Runs a step of a request. If it fails, the purchase is undone, unless a repeated request can complete it. */
  async #guarded<T>(row: Row, step: () => Promise<T>): Promise<T> {
    const { id, isRepeatable } = this.#options.describe(row);
    this.#running.add(id);
    try {
      return await step();
    } catch (error) {
      const isUnknown = hasCode(error, 'NOT_READY');
      if (!isUnknown || !isRepeatable) await this.#undo(row);
      throw error;
    } finally {
      this.#running.delete(id);
    }
  }

  /** Completes or undoes one row that no request works on. */
  async #settle(row: Row): Promise<void> {
    const { what, describe } = this.#options;
    const { id, isAbandoned } = describe(row);
    const { log } = this.#deps;
    if (isAbandoned) return this.discard(row);
    try {
      await this.#complete(row);
      log.info({ [what]: id }, `interrupted purchase of a ${what} completed`);
    } catch (error) {
      if (!hasCode(error, 'CREDITS_EXHAUSTED', 'INVALID_REQUEST')) throw error;
      // The credits were spent since; its request was never answered.
      log.warn({ [what]: id, reason: messageOf(error) }, `interrupted purchase of a ${what} undone`);
      await this.#undo(row);
    }
  }

  async #look(): Promise<void> {
    const { rows, clock } = this.#deps;
    const { graceMs, lookRows, describe } = this.#options;
    for (const [id, row] of [...this.#failed]) if (!this.#running.has(id)) await this.#undo(row);
    const before = clock.now() - graceMs;
    const errors: unknown[] = [];
    for (const row of rows.list(lookRows)) {
      const { id, stagedAtMs } = describe(row);
      // A clock that was set back must not delay a row for long.
      const isOld = graceMs === 0 || stagedAtMs <= before || stagedAtMs > clock.now() + graceMs;
      if (!isOld || this.#running.has(id) || this.#failed.has(id)) continue;
      // A row that cannot be completed must not hold up the others.
      await this.#settle(row).catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0) throw errors[0];
  }
}

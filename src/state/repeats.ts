/**
 * Responses of requests with an Idempotency-Key that change a store without a charge. They are stored in the transaction of the change, so a
 * repeated request gets the first response exactly if the change exists. Charged requests have theirs in the ledger.
 */
import { AssayError } from '../base/errors.ts';
import { STATE_LIMITS } from './limits.ts';
import type { LiveDatabase, LiveRoot } from './live-store.ts';

/** The Idempotency-Key of a request, in a form that contains neither the key nor the body. */
export interface RepeatKey {
  /** Hash of account, operation and key, hex. */
  readonly slot: string;
  /** Hash of the body, hex. */
  readonly bodyHash: string;
}

interface Kept {
  readonly bodyHash: string;
  readonly untilMs: number;
}

/** Value of index entries: the key says everything. */
const PRESENT = '1';

/** The kept responses of one store, in two of its databases. `Row` is what the store needs to respond again. */
export class Repeats<Row extends object> {
  readonly #rows: LiveDatabase<Row & Kept, string>;
  readonly #ends: LiveDatabase<string, [untilMs: number, slot: string]>;

  constructor(root: LiveRoot) {
    this.#rows = root.openDB({ name: 'repeats', encoding: 'json' });
    this.#ends = root.openDB({ name: 'repeatEnds', encoding: 'string' });
  }

  /**
   * Returns the row of an earlier request with this key; null if there is none in the last 24 hours.
   *
   * @throws INVALID_REQUEST if its body was another one
   */
  find(key: RepeatKey | null, nowMs: number): Row | null {
    const known = key === null ? undefined : this.#rows.get(key.slot);
    if (known === undefined || known.untilMs <= nowMs) return null;
    if (known.bodyHash === key?.bodyHash) return known;
    throw new AssayError(
      'INVALID_REQUEST',
      'Idempotency-Key: was already used with a different request body within the last 24 hours.',
      { field: 'Idempotency-Key' },
    );
  }

  /** Keeps the row of a request; without a key, does nothing. Call it inside the transaction of the change. */
  keep(key: RepeatKey | null, row: Row, nowMs: number): void {
    if (key === null) return;
    const range = { start: [0, ''] as [number, string], end: [nowMs, ''] as [number, string] };
    for (const end of [...this.#ends.getKeys({ ...range, limit: STATE_LIMITS.repeatsSwept })]) {
      this.#ends.removeSync(end);
      const [untilMs, ended] = end;
      if (this.#rows.get(ended)?.untilMs === untilMs) this.#rows.removeSync(ended);
    }
    const untilMs = nowMs + STATE_LIMITS.repeatMs;
    this.#rows.putSync(key.slot, { ...row, bodyHash: key.bodyHash, untilMs });
    this.#ends.putSync([untilMs, key.slot], PRESENT);
  }
}

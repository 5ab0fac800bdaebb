/** Idempotency keys of charged requests: a reload of the page, or another attempt, is the same request. */
import { readTab, removeTab, writeTab } from './tab-storage.ts';

/** Random bytes of a key. */
const KEY_BYTES = 16;
/** The server keeps responses for 24 hours from the request; an hour less leaves room for slow requests and clocks. */
const KEPT_MS = 23 * 3_600_000;

const placeOf = (page: string, body: object): string => `key.${page}.${JSON.stringify(body)}`;

/** Returns the key that is kept for a request; null if missing, or the server has forgotten its response. */
function keptKey(page: string, body: object): string | null {
  const [madeAt = '', key] = (readTab(placeOf(page, body)) ?? '').split(' ');
  return key !== undefined && Date.now() - Number(madeAt) < KEPT_MS ? key : null;
}

/** Whether the request was made in this tab, so that making it again is not charged. */
export const hasKey = (page: string, body: object): boolean => keptKey(page, body) !== null;

/** Returns a new Idempotency-Key. `crypto.randomUUID` exists only over TLS. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The Idempotency-Key of an action: the same while a person repeats the same request after an error, which may have been done already. */
export class AttemptKey {
  #request = '';
  #key = '';

  /** Returns the key of a request. */
  of(request: object): string {
    const text = JSON.stringify(request);
    if (text !== this.#request) this.#key = newKey();
    this.#request = text;
    return this.#key;
  }

  /** Notes that the request was answered: the next one is another action, even if it is equal. */
  end(): void {
    this.#request = '';
  }
}

/** Replaces the key of a request: the person wants a new answer. Call it where the person presses, never where the request is sent. */
export function renewKey(page: string, body: object): string {
  const key = newKey();
  writeTab(placeOf(page, body), `${Date.now()} ${key}`);
  return key;
}

/** Forgets the key of a request that was answered, if the next one is a new question: made by a press, and by no reload. */
export const forgetKey = (page: string, body: object): void => removeTab(placeOf(page, body));

/**
 * Returns the Idempotency-Key of a request: the same for the same request in this tab, so that the server answers a reload or another
 * attempt with the stored response and charges nothing.
 *
 * @param page - requests of different pages have different keys
 */
export const keyFor = (page: string, body: object): string => keptKey(page, body) ?? renewKey(page, body);

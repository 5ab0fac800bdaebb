/**
 * The one call to Assay that the examples make. It is a seam, not an SDK: no retries, no paging, one operation. To use an SDK instead, return
 * an object with the same `oracle` method, and throw the same two errors.
 */

/** Assay gave no answer in time: connection error, timeout, 408, 429 or 5xx. The same request may succeed later. */
export class AssayUnavailable extends Error {
  name = 'AssayUnavailable';
}

/**
 * Assay answered, but with no verdict, and will do so again: an invalid address, a revoked key, a used-up quota, or a response that is not one
 * of this API.
 */
export class AssayRefused extends Error {
  name = 'AssayRefused';

  /**
   * @param {string} message
   * @param {{ status: number, code: string }} details - `code` is the error code of docs/reference/errors.md
   */
  constructor(message, { status, code }) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const VERDICTS = new Set(['safe', 'warning', 'danger']);

/** Printable ASCII without spaces. */
const KEY = /^[\x21-\x7e]+$/;

/** Statuses that another attempt may change. */
const isTemporary = (status) => status === 408 || status === 429 || status >= 500;

/**
 * Creates the client.
 *
 * @param {{ url: string, apiKey: string, timeoutMs?: number }} options - `timeoutMs` bounds the whole call, its body included
 */
export function createAssayClient({ url, apiKey, timeoutMs = 2_000 }) {
  // Files of keys end with a line break. A key that no header can hold would look like a server that does not answer.
  const key = apiKey?.trim();
  if (!key || !KEY.test(key))
    throw new TypeError('apiKey: must be a whole API key. It needs the permission "oracle".');
  const base = new URL(url.endsWith('/') ? url : `${url}/`);

  return {
    /**
     * Returns the verdict on an address: `{ verdict, score, reasons, assessed, ttlSeconds, … }`.
     *
     * @param {string} chain - chain id of Assay, such as `ETH`
     * @param {string} address
     * @throws {AssayUnavailable | AssayRefused}
     */
    async oracle(chain, address) {
      const path = `api/v1/oracle/address/${encodeURIComponent(chain)}/${encodeURIComponent(address)}`;
      let status;
      let text;
      let code;
      try {
        const response = await fetch(new URL(path, base), {
          headers: { authorization: `Bearer ${key}`, accept: 'application/json' },
          // The key is for this server alone. A redirect is an answer without a verdict, not an outage.
          redirect: 'manual',
          signal: AbortSignal.timeout(timeoutMs),
        });
        status = response.status;
        code = response.headers.get('x-error-code') ?? 'UNKNOWN';
        text = await response.text();
      } catch (cause) {
        throw new AssayUnavailable(
          `Assay did not answer: ${cause.name === 'TimeoutError' ? 'timeout' : 'connection failed'}.`,
          { cause },
        );
      }
      if (isTemporary(status)) throw new AssayUnavailable(`Assay answered ${status} (${code}).`);
      let body;
      try {
        body = JSON.parse(text);
      } catch {
        body = null;
      }
      if (status !== 200)
        throw new AssayRefused(body?.error ?? `Assay answered ${status}.`, { status, code });
      const result = body?.data;
      // A response that cannot be read is never taken for an outage: fail-open would let everything pass behind a broken proxy.
      if (!VERDICTS.has(result?.verdict) || !Array.isArray(result.reasons))
        throw new AssayRefused('The response is not a verdict of Assay.', {
          status,
          code: 'INVALID_RESPONSE',
        });
      return result;
    },
  };
}

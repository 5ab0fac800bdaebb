/**
 * The check of a wallet before it signs: asks the oracle, keeps each verdict for as long as Assay says, and decides what to do while Assay does
 * not answer.
 *
 * The order without an answer: a `danger` that was ever seen still blocks; a verdict that is at most `staleSeconds` too old is used; otherwise
 * `failOpen` decides. A request that Assay refuses (key, quota, invalid address) never opens.
 */
import { AssayUnavailable } from '../shared/assay-client.js';

/** Verdicts that are kept: about 1 MB. The one that was used least recently goes first. */
const CACHE_MAX = 1_000;

/**
 * Creates the check.
 *
 * @param {object} options
 * @param {{ oracle(chain: string, address: string): Promise<object> }} options.client
 * @param {boolean} [options.failOpen] - allows addresses without a verdict while Assay does not answer
 * @param {number} [options.staleSeconds] - how much longer than `ttlSeconds` a verdict may be used while Assay does not answer; default 0
 * @param {() => number} [options.now] - milliseconds of a clock that is never set back
 * @param {(level: string, message: string, fields: object) => void} options.log
 */
export function createPreTransactionCheck({
  client,
  failOpen = false,
  staleSeconds = 0,
  now = () => performance.now(),
  log,
}) {
  /** Verdicts by chain and address, the one used last at the end. */
  const cache = new Map();
  /** Requests in flight, so that two checks of one address ask once. */
  const asking = new Map();

  async function askOnce(key, chain, address) {
    // A verdict ages from the request on, not from its arrival.
    const askedAt = now();
    const screening = await client.oracle(chain, address);
    cache.delete(key);
    cache.set(key, { screening, freshUntil: askedAt + screening.ttlSeconds * 1_000 });
    if (cache.size > CACHE_MAX) cache.delete(cache.keys().next().value);
    return screening;
  }

  function ask(key, chain, address) {
    const current = asking.get(key);
    if (current !== undefined) return current;
    const request = askOnce(key, chain, address).finally(() => asking.delete(key));
    asking.set(key, request);
    return request;
  }

  const decide = (screening, source) => ({
    decision: { safe: 'allow', warning: 'confirm', danger: 'block' }[screening.verdict],
    source,
    screening,
  });

  function withoutAnswer(kept, about) {
    if (kept?.screening.verdict === 'danger') return decide(kept.screening, 'stale');
    if (kept !== undefined && now() < kept.freshUntil + staleSeconds * 1_000)
      return decide(kept.screening, 'stale');
    const decision = failOpen ? 'allow' : 'block';
    log(
      'warn',
      `Assay does not answer: ${decision === 'allow' ? 'allowed' : 'blocked'} without a verdict`,
      about,
    );
    return { decision, source: 'none', screening: null };
  }

  /**
   * Checks one address.
   *
   * @param {string} chain - chain id of Assay, such as `ETH`
   * @param {string} address
   * @returns {Promise<{ decision: 'allow' | 'confirm' | 'block', source: 'live' | 'cache' | 'stale' | 'none', screening: object | null }>}
   *   `confirm`: show the reasons and let the person decide
   * @throws {import('../shared/assay-client.js').AssayRefused}
   */
  return async function check(chain, address) {
    // Other chains have addresses in which the case of a letter matters.
    const key = `${chain} ${/^0x/i.test(address) ? address.toLowerCase() : address}`;
    const kept = cache.get(key);
    if (kept !== undefined && now() < kept.freshUntil) {
      cache.delete(key);
      cache.set(key, kept);
      return decide(kept.screening, 'cache');
    }
    try {
      return decide(await ask(key, chain, address), 'live');
    } catch (error) {
      if (!(error instanceof AssayUnavailable)) throw error;
      return withoutAnswer(kept, { chain, address, error: error.message });
    }
  };
}

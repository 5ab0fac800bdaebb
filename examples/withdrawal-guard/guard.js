/**
 * Decides whether a withdrawal may go on. It knows no web framework: express.js and fastify.js adapt it.
 *
 * | Verdict, or failure | Decision |
 * |---|---|
 * | `danger` | 403 with the reasons |
 * | `warning` | 202, held for review |
 * | `safe` | the withdrawal goes on (`holdNotAssessed`: held if nothing is known about the address) |
 * | no answer in time | 503; with `failOpen` the withdrawal goes on |
 * | Assay refuses the request (key, quota) | 503, also with `failOpen`: an expired key must not open the gate |
 * | invalid address or chain | 400 |
 */
import { AssayRefused, AssayUnavailable } from '../shared/assay-client.js';

/** Longer than the longest address of any chain, and than most names. */
const ADDRESS_CHARS_MAX = 200;
/** Begins with a letter or digit, so that no address is a path segment such as `..`. Assay validates the rest, with its checksum. */
const ADDRESS = /^[A-Za-z0-9][A-Za-z0-9._:+/=-]*$/;

/** Seconds after which a client may try again if no verdict was available. */
const RETRY_AFTER_SECONDS = 5;

const respond = (status, body, headers = {}) => ({ allow: false, status, body, headers });

/** Returns the error of an invalid withdrawal, or null. */
function invalid({ chain, address }, chains) {
  if (typeof chain !== 'string' || !chains.includes(chain))
    return `chain: must be one of ${chains.join(', ')}.`;
  if (typeof address !== 'string' || address === '') return 'address: must be a string that is not empty.';
  if (address.length > ADDRESS_CHARS_MAX)
    return `address: must have at most ${ADDRESS_CHARS_MAX} characters.`;
  return ADDRESS.test(address) ? null : 'address: must have letters, digits and . _ : + / = - only.';
}

/**
 * Creates the guard.
 *
 * @param {object} options
 * @param {{ oracle(chain: string, address: string): Promise<object> }} options.client
 * @param {readonly string[]} options.chains - chains that you pay out on; others are a 400
 * @param {(withdrawal: object, screening: object) => Promise<string>} options.hold - stores a withdrawal for review and returns the id of the
 *   review; if it throws, the withdrawal does not go on
 * @param {boolean} [options.failOpen] - lets withdrawals go on while Assay does not answer
 * @param {boolean} [options.holdNotAssessed] - holds withdrawals to addresses about which nothing is known
 * @param {(level: string, message: string, fields: object) => void} options.log
 * @returns a function of the request body: `{ allow: true, screening }` or `{ allow: false, status, headers, body }`. It does not throw.
 */
export function createWithdrawalGuard({
  client,
  chains,
  hold,
  failOpen = false,
  holdNotAssessed = false,
  log,
}) {
  const unavailable = (message) =>
    respond(503, { error: message }, { 'retry-after': String(RETRY_AFTER_SECONDS) });

  async function review(withdrawal, screening, about) {
    try {
      const reviewId = await hold(withdrawal, screening);
      log('info', 'withdrawal held for review', { ...about, reviewId });
      return respond(202, { status: 'HELD_FOR_REVIEW', reviewId });
    } catch (error) {
      log('error', 'withdrawal could not be held, and was refused', { ...about, error: error.message });
      return unavailable('The withdrawal cannot be processed at the moment.');
    }
  }

  /** Decides without a verdict. */
  function withoutVerdict(error, about) {
    if (error instanceof AssayRefused && error.status === 400) {
      log('info', 'withdrawal refused: invalid destination', { ...about, code: error.code });
      return respond(400, { error: error.message });
    }
    if (error instanceof AssayUnavailable && failOpen) {
      log('warn', 'withdrawal allowed without a verdict', { ...about, error: error.message });
      return { allow: true, screening: null };
    }
    const level = error instanceof AssayUnavailable ? 'warn' : 'error';
    log(level, 'withdrawal refused without a verdict', { ...about, code: error.code, error: error.message });
    return unavailable('The destination cannot be screened at the moment.');
  }

  return async function guard(body) {
    const withdrawal = body !== null && typeof body === 'object' ? body : {};
    const error = invalid(withdrawal, chains);
    if (error !== null) return respond(400, { error });
    const { chain, address } = withdrawal;
    let screening;
    try {
      screening = await client.oracle(chain, address);
    } catch (failure) {
      return withoutVerdict(failure, { chain, address });
    }
    const { verdict, score, reasons, assessed, dataVersion } = screening;
    const about = { chain, address, verdict, score, dataVersion };
    if (verdict === 'danger') {
      log('warn', 'withdrawal blocked', { ...about, reasons: reasons.map(({ code }) => code) });
      return respond(403, { error: 'The destination is not accepted.', verdict, reasons });
    }
    if (verdict === 'warning' || (holdNotAssessed && !assessed)) return review(withdrawal, screening, about);
    log('info', 'withdrawal allowed', about);
    return { allow: true, screening };
  };
}

/** Verifies a delivery of Assay, by Standard Webhooks (https://www.standardwebhooks.com). No packages. */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Accepted difference between the clock of Assay and this one: the value that Standard Webhooks recommends. */
const TOLERANCE_SECONDS = 5 * 60;

/** The delivery is not of Assay, or is too old. */
export class InvalidDelivery extends Error {
  name = 'InvalidDelivery';
}

function sameBytes(a, b) {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Returns the key of a secret such as `whsec_…`. */
function keyOf(secret) {
  if (!/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(secret))
    throw new TypeError('secret: must be the text that POST /monitoring/webhook-secret returned (whsec_…).');
  return Buffer.from(secret.slice('whsec_'.length), 'base64');
}

/**
 * Creates the verification.
 *
 * @param {string} secret - after a rotation, Assay signs with the old and the new secret for 24 hours, so one is enough here
 * @returns a function of the headers and the body as received. It returns `{ id, message }`, and throws {@link InvalidDelivery}.
 */
export function createVerify(secret, now = Date.now) {
  const key = keyOf(secret);

  /**
   * @param {Readonly<Record<string, string | string[] | undefined>>} headers - with names in lower case
   * @param {Buffer} body
   */
  return function verify(headers, body) {
    const id = headers['webhook-id'];
    const timestamp = headers['webhook-timestamp'];
    const signatures = headers['webhook-signature'];
    if (typeof id !== 'string' || !/^[\w.-]{1,200}$/.test(id))
      throw new InvalidDelivery('webhook-id: missing or invalid.');
    if (typeof timestamp !== 'string' || !/^\d{1,12}$/.test(timestamp))
      throw new InvalidDelivery('webhook-timestamp: missing or invalid.');
    if (typeof signatures !== 'string') throw new InvalidDelivery('webhook-signature: missing.');
    if (Math.abs(now() / 1_000 - Number(timestamp)) > TOLERANCE_SECONDS)
      throw new InvalidDelivery('webhook-timestamp: too far from the time of this machine.');
    const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
    const isGenuine = signatures
      .split(' ')
      .filter((each) => each.startsWith('v1,'))
      .some((each) => sameBytes(Buffer.from(each.slice(3), 'base64'), expected));
    if (!isGenuine) throw new InvalidDelivery('webhook-signature: does not match.');
    return { id, message: JSON.parse(body.toString('utf8')) };
  };
}

/** One-time passwords by time: TOTP (RFC 6238) over HOTP (RFC 4226), with the parameters that authenticator apps assume. */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** RFC 6238, section 4.1, and the only values that all authenticator apps support. */
export const TOTP = { stepSeconds: 30, digits: 6, algorithm: 'sha1' } as const;

/** RFC 4226, section 4: at least 128 bits, 160 recommended, the length of the hash. */
export const TOTP_SECRET_BYTES = 20;

/** RFC 6238, section 5.2: one step for the delay of the network and of a clock that differs, in both directions. */
const DRIFT_STEPS = 1;

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Encodes bytes as base32 (RFC 4648) without padding, as authenticator apps read it. */
export function base32(bytes: Uint8Array): string {
  let bits = 0;
  let held = 0;
  let text = '';
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      text += BASE32[(held >>> (bits - 5)) & 31];
      bits -= 5;
    }
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + BASE32[(held << (5 - bits)) & 31];
}

/** Returns the number of the time step of a time in milliseconds since the epoch. */
export const stepOf = (epochMs: number): number => Math.floor(epochMs / 1_000 / TOTP.stepSeconds);

/**
 * Returns the code of a counter (RFC 4226, section 5.3).
 *
 * @param counter - for TOTP, the number of the time step
 * @param digits - 6 to 8
 */
export function hotp(secret: Uint8Array, counter: number, digits: number = TOTP.digits): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(counter));
  const hash = createHmac(TOTP.algorithm, secret).update(bytes).digest();
  const offset = (hash[hash.length - 1] as number) & 0xf;
  const number = hash.readUInt32BE(offset) & 0x7fffffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

/**
 * Finds the time step of a code.
 *
 * @param lastStep - newest step with a used code: it and all earlier ones are not accepted. If it is later than any step that can be
 * valid now, the clock was set back since, and it does not count
 * @returns the step, or null if the code is wrong or was used
 */
export function acceptedStep(
  secret: Uint8Array,
  code: string,
  epochMs: number,
  lastStep: number,
): number | null {
  const now = stepOf(epochMs);
  const used = lastStep > now + DRIFT_STEPS ? -1 : lastStep;
  const given = Buffer.from(code);
  let accepted: number | null = null;
  for (let step = Math.max(0, now - DRIFT_STEPS); step <= now + DRIFT_STEPS; step++) {
    const expected = Buffer.from(hotp(secret, step));
    const isEqual = given.length === expected.length && timingSafeEqual(given, expected);
    if (isEqual && step > used) accepted ??= step;
  }
  return accepted;
}

/** Returns the URI that an authenticator app reads from a QR code (Key URI Format of Google Authenticator). */
export function totpUri(secret: Uint8Array, issuer: string, person: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(person)}`;
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=${TOTP.digits}&period=${TOTP.stepSeconds}`;
}

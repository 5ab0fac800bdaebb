/**
 * Creditor references of ISO 11649 (`RF`, two check digits, up to 21 characters). A bank passes them on unchanged if the customer gives them
 * in their own field; otherwise they are found in the free text of a payment.
 */
import { hasCheckDigits, withCheckDigits } from '../../base/iban.ts';
import { type Random, systemRandom } from '../../base/random.ts';

/** Digits of the number of a reference. */
const NUMBER_DIGITS = 10;
/**
 * Random digits after the number. After a restore from a backup the numbers continue from those of the backup: without the random digits a
 * new invoice would have the reference of a lost one, and the payment of that customer would be booked to it.
 */
const RANDOM_DIGITS = 6;
const RANDOM_BYTES = 6;
const CHARS_MAX = 25;
const CHARS_MIN = 5;
/** Characters of a free text in which a reference is looked for from its start, with spaces and hyphens: a text may be long. */
const SPACED_CHARS_MAX = 4 * CHARS_MAX;
/** Invoices are numbered from here, so that references do not look like those of receipts. */
const FIRST_NUMBER = 1_000_000;

/** Returns a reference for the invoice with this number. */
export function newReference(number: number, random: Random = systemRandom): string {
  const drawn = Buffer.from(random.bytes(RANDOM_BYTES)).readUIntBE(0, RANDOM_BYTES) % 10 ** RANDOM_DIGITS;
  const digits =
    String(FIRST_NUMBER + number).padStart(NUMBER_DIGITS, '0') + String(drawn).padStart(RANDOM_DIGITS, '0');
  return withCheckDigits('RF', digits);
}

/** Returns a reference without spaces and in capital letters; null if it is not one. */
export function parseReference(text: string): string | null {
  const reference = text.replace(/[\s-]/g, '').toUpperCase();
  const isShaped = /^RF\d{2}[A-Z0-9]{1,21}$/.test(reference);
  return isShaped && hasCheckDigits(reference) ? reference : null;
}

/**
 * Returns the references that a free text may contain, in order, longest first: customers add words before and after, and spaces within.
 * The check digits exclude most accidental matches; the caller looks each up.
 */
export function referencesIn(text: string): readonly string[] {
  const upper = text.toUpperCase();
  const found = new Set<string>();
  for (const { index } of upper.matchAll(/RF\s?-?\d/g)) {
    const compact = upper.slice(index, index + SPACED_CHARS_MAX).replace(/[\s-]/g, '');
    const run = /^[A-Z0-9]*/.exec(compact)?.[0].slice(0, CHARS_MAX) ?? '';
    for (let length = run.length; length >= CHARS_MIN; length--) {
      const reference = parseReference(run.slice(0, length));
      if (reference !== null) found.add(reference);
    }
  }
  return [...found];
}

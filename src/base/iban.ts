/** International bank account numbers (ISO 13616), and the check digits that they share with creditor references (ISO 7064, MOD 97-10). */

/** Returns the remainder of a text by 97, with letters as numbers from 10. */
function mod97(text: string): number {
  let remainder = 0;
  for (const char of text) {
    const value = Number.parseInt(char, 36);
    remainder = (remainder * (value < 10 ? 10 : 100) + value) % 97;
  }
  return remainder;
}

/** Characters of the country or of `RF`, and of the check digits, which are moved to the end. */
const HEAD_CHARS = 4;

/** Whether the check digits of an IBAN or a creditor reference fit. The text must have capital letters and digits only. */
export const hasCheckDigits = (text: string): boolean =>
  mod97(text.slice(HEAD_CHARS) + text.slice(0, HEAD_CHARS)) === 1;

/** Returns a text with its head, for example `RF`, and check digits. */
export const withCheckDigits = (head: string, text: string): string =>
  `${head}${String(98 - mod97(`${text}${head}00`)).padStart(2, '0')}${text}`;

/** Returns an IBAN without spaces and in capital letters; null if it is not one. */
export function parseIban(text: string): string | null {
  const iban = text.replaceAll(' ', '').toUpperCase();
  // A creditor reference has the same form, and there is no country RF.
  const isShaped = /^(?!RF)[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(iban);
  return isShaped && hasCheckDigits(iban) ? iban : null;
}

/** Returns a text in groups of four, as IBANs and references are printed. */
export const inGroups = (text: string): string => text.replace(/(.{4})(?=.)/g, '$1 ');

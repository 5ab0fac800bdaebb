/** Determines which address texts are already canonical, so that they need not be formatted again: a checksum costs two hashes. */
import type { AddressCodec } from './codec.ts';

const ASCII = 128;
/** For the first character of a canonical text. Otherwise the form has the second character that makes it one to format again, or 0. */
const ALWAYS = 1;

/** How the canonical texts of a chain begin: an entry for each ASCII code. */
export type CanonicalForm = Uint8Array;

/** Returns how the canonical texts of a codec begin. */
export function canonicalFormOf({
  canonicalFirst = '',
  notCanonical = '',
}: Pick<AddressCodec, 'canonicalFirst' | 'notCanonical'>): CanonicalForm {
  const form = new Uint8Array(ASCII);
  for (const character of canonicalFirst) form[character.charCodeAt(0)] = ALWAYS;
  if (notCanonical !== '') form[notCanonical.charCodeAt(0)] = notCanonical.charCodeAt(1);
  return form;
}

/**
 * Returns whether a valid address text is already canonical.
 *
 * @param firstCode - ASCII code of the first character
 * @param secondCode - that of the second one
 */
export function isOfForm(form: CanonicalForm, firstCode: number, secondCode: number): boolean {
  const found = form[firstCode] as number;
  return found === ALWAYS || (found > ALWAYS && found !== secondCode);
}

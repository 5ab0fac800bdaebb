/**
 * Tests whether the encryption key of a node is that of a store: the first node stores a known text, encrypted, and every other node
 * decrypts it. Secrets that one node encrypts with another key could not be read by the others.
 */
import { AssayError } from '../base/errors.ts';
import type { Encryption } from './encryption.ts';

/** The text, and its context of encryption. */
const TRIAL = 'installation';

/**
 * Whether a text was encrypted with this key, in this context.
 *
 * @returns false also if the text is damaged
 */
export function decrypts(encryption: Encryption, encrypted: string, context: string): boolean {
  try {
    encryption.decrypt(encrypted, context);
    return true;
  } catch (error) {
    if (!(error instanceof AssayError) || error.code !== 'STORE_CORRUPT') throw error;
    return false;
  }
}

/** Returns the encrypted text that a store keeps. */
export const newTrial = (encryption: Encryption): string => encryption.encrypt(TRIAL, TRIAL);

/** Tests the key of a node on the stored text. */
export class KeyTrial {
  readonly #encryption: () => Encryption;
  /** The last result: it is asked for several times a second. */
  #last: { readonly encrypted: string; readonly opens: boolean } | null = null;

  /** @param encryption - called at the first test */
  constructor(encryption: () => Encryption) {
    this.#encryption = encryption;
  }

  /** Whether the key of this node decrypts the stored text. */
  opens(encrypted: string): boolean {
    if (this.#last?.encrypted === encrypted) return this.#last.opens;
    const opens = decrypts(this.#encryption(), encrypted, TRIAL);
    this.#last = { encrypted, opens };
    return opens;
  }
}

/**
 * Encryption of secrets that must be read back (webhook secrets, chat tokens): AES-256-GCM under the installation's key, a file that
 * is made at the first use and readable by its owner alone. Who copies a store without that file copies nothing of use.
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { PRIVATE_FOLDER } from './data-folder.ts';
import { AssayError, messageOf } from './errors.ts';
import type { Random } from './random.ts';
import { scoped } from './redis-installation.ts';

const KEY_BYTES = 32;
/** NIST SP 800-38D: 96-bit nonces, drawn at random, are safe for 2^32 messages of one key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface Seal {
  /** `context` says what the secret is for: a sealed text moved to another place does not open. */
  seal(secret: string, context: string): string;
  /** Throws STORE_CORRUPT where the text was changed, or sealed with another key or for another context. */
  open(sealed: string, context: string): string;
}

export function createSeal(key: Uint8Array, random: Random): Seal {
  return {
    seal(secret, context) {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context, 'utf8'));
      const body = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64');
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed, 'base64');
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
          authTagLength: TAG_BYTES,
        })
          .setAAD(Buffer.from(context, 'utf8'))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        const body = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
        return Buffer.concat([body, decipher.final()]).toString('utf8');
      } catch (cause) {
        throw new AssayError(
          'STORE_CORRUPT',
          'A stored secret does not open with the key of this installation.',
          {
            cause,
          },
        );
      }
    },
  };
}

export interface SealPlace {
  readonly path: string;
  /**
   * Secret of all nodes that share a store: the key is made from it, so that what one of them sealed opens at the others. A key that
   * is there already stays, whatever it was made from. Default: at random.
   */
  readonly clusterSecret?: string | null;
  /** Of the installation that the nodes share: with one secret, another installation has another key. Default: empty. */
  readonly scope?: string;
}

/**
 * Reads the installation's key, or makes it: whole or absent, and the first of two processes that start at once wins. Throws
 * STORE_CORRUPT where the file is not a key: what it sealed would be lost with a new one.
 */
export function openSeal(options: SealPlace, deps: { readonly random: Random }): Seal {
  const { path, clusterSecret = null, scope = '' } = options;
  const read = (): Buffer | null => {
    try {
      return readFileSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw new AssayError('STORE_CORRUPT', `${path} cannot be read: ${messageOf(error)}.`, { cause: error });
    }
  };
  const fresh = (): Uint8Array =>
    clusterSecret === null
      ? deps.random.bytes(KEY_BYTES)
      : createHmac('sha256', clusterSecret).update(scoped(scope, 'assay installation key')).digest();
  const key = read() ?? makeKey(path, fresh(), read);
  if (key.length !== KEY_BYTES)
    throw new AssayError(
      'STORE_CORRUPT',
      `${path} is not a key of ${KEY_BYTES} bytes. It was left as it is.`,
    );
  return createSeal(key, deps.random);
}

function makeKey(path: string, fresh: Uint8Array, read: () => Buffer | null): Buffer {
  mkdirSync(dirname(path), PRIVATE_FOLDER);
  const key = Buffer.from(fresh);
  const draft = `${path}.${process.pid}`;
  const file = openSync(draft, 'wx', 0o600);
  try {
    writeSync(file, key);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    // Unlike a rename, a link fails where another process was first.
    linkSync(draft, path);
    return key;
  } catch (error) {
    const other = (error as NodeJS.ErrnoException).code === 'EEXIST' ? read() : null;
    if (other === null) throw error;
    return other;
  } finally {
    rmSync(draft);
  }
}

/**
 * Encrypts secrets that must be read back (webhook secrets, chat tokens) at rest: AES-256-GCM with the installation's key. The key file is
 * created at the first use and readable only by its owner. Without it, the secrets in a copy of a store cannot be decrypted.
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
import { dirname, join } from 'node:path';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { syncFolder } from './atomic-file.ts';
import { PRIVATE_FOLDER } from './data-folder.ts';
import { scoped } from './redis-installation.ts';

const KEY_BYTES = 32;
/** NIST SP 800-38D: random 96-bit nonces are safe for 2^32 messages with one key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface Encryption {
  /**
   * Encrypts a secret.
   *
   * @param context - purpose of the secret, authenticated with it: a text moved to another place cannot be decrypted
   */
  encrypt(secret: string, context: string): string;
  /** Decrypts a secret. Throws STORE_CORRUPT if the text was changed, or was encrypted with another key or context. */
  decrypt(encrypted: string, context: string): string;
}

const created = new Set<(path: string) => void>();

/**
 * Calls `listener` with the path of each key file that this thread creates from now on.
 *
 * @returns the function that unsubscribes
 */
export function onKeyCreated(listener: (path: string) => void): () => void {
  created.add(listener);
  return () => created.delete(listener);
}

/** Returns the file of the installation's key. */
export const installationKeyPath = (dataDir: string): string => join(dataDir, 'installation.key');

/** Creates a `Encryption` with a key of 32 bytes. */
export function createEncryption(key: Uint8Array, random: Random): Encryption {
  return {
    encrypt(secret, context) {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context, 'utf8'));
      const body = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64');
    },
    decrypt(encrypted, context) {
      const bytes = Buffer.from(encrypted, 'base64');
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
          'A stored secret cannot be decrypted with the key of this installation.',
          {
            cause,
          },
        );
      }
    },
  };
}

export interface EncryptionOptions {
  readonly path: string;
  /**
   * Secret that all nodes of a cluster share: the key is derived from it, so that each node can decrypt the secrets of the others. An
   * existing key file is kept, whatever its origin. Default: a random key.
   */
  readonly clusterSecret?: string | null;
  /** Scope of the installation: with the same secret, another installation has another key. Default: empty. */
  readonly scope?: string;
}

/**
 * Reads the installation's key, or creates it atomically: if two processes start at once, the first one wins.
 *
 * @throws STORE_CORRUPT if the file is not a key: a new key could not decrypt the existing secrets
 */
export function openEncryption(options: EncryptionOptions, deps: { readonly random: Random }): Encryption {
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
      `${path} is not a key of ${KEY_BYTES} bytes. The file was not changed: restore it from a backup (docs/OPERATIONS.md, Damaged files).`,
    );
  return createEncryption(key, deps.random);
}

function makeKey(path: string, fresh: Uint8Array, read: () => Buffer | null): Buffer {
  mkdirSync(dirname(path), PRIVATE_FOLDER);
  const key = Buffer.from(fresh);
  const draft = `${path}.${process.pid}`;
  // Of a process that was killed here: in a container, the next one has the same id.
  rmSync(draft, { force: true });
  const file = openSync(draft, 'wx', 0o600);
  try {
    writeSync(file, key);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    // Unlike a rename, a link fails if another process was first.
    linkSync(draft, path);
    syncFolder(dirname(path));
    for (const listener of created) listener(path);
    return key;
  } catch (error) {
    const other = (error as NodeJS.ErrnoException).code === 'EEXIST' ? read() : null;
    if (other === null) throw error;
    return other;
  } finally {
    rmSync(draft);
  }
}

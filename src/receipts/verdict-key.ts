/**
 * The key that signs verdicts for contracts: a file of the data folder, `receipts/verdict-key.json`. The private key is encrypted with the
 * key of the installation, and every key has an end.
 */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { readJson, writeJsonAtomically } from '../state/atomic-file.ts';
import type { Encryption } from '../state/encryption.ts';
import { wrongFormat } from '../state/format-version.ts';
import type { VerdictKey } from './eip712.ts';
import { ORACLE_LIMITS } from './oracle/limits.ts';

const FORMAT = 1;
/** Authenticated with the private key: the text of another secret cannot take its place. */
const CONTEXT = 'assay verdict key';
const DAY_S = 86_400;

/** Public facts of a key. Times are seconds since 1970. */
export interface VerdictKeyFacts {
  readonly address: string;
  readonly createdAt: number;
  readonly endsAt: number;
}

interface StoredKey extends VerdictKeyFacts {
  readonly format: number;
  /** The encrypted private key. */
  readonly encrypted: string;
  /** Keys that were replaced, the newest first. Their private keys are gone. */
  readonly earlier: readonly VerdictKeyFacts[];
}

export interface VerdictKeyStore {
  /** The present key and the replaced ones, the newest first; empty if there was none. */
  list(): readonly VerdictKeyFacts[];
  /**
   * Returns the present key.
   *
   * @throws NOT_READY if the file is absent, STORE_CORRUPT if it cannot be decrypted
   */
  open(): Promise<VerdictKey>;
  /**
   * Creates a key in place of the present one.
   *
   * @param days - days until its end
   * @throws INVALID_REQUEST if the number of days is not allowed
   */
  create(days: number): Promise<VerdictKeyFacts>;
}

export interface VerdictKeyDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Opened at its first use. */
  readonly encryption: () => Encryption;
}

/** Returns the file of the key. */
export const verdictKeyPath = (dataDir: string): string => join(dataDir, 'receipts', 'verdict-key.json');

const isFacts = (value: unknown): value is VerdictKeyFacts => {
  const facts = (value ?? {}) as Partial<VerdictKeyFacts>;
  return (
    typeof facts.address === 'string' &&
    Number.isSafeInteger(facts.createdAt) &&
    Number.isSafeInteger(facts.endsAt)
  );
};

const isStored = (value: unknown): value is StoredKey => {
  const stored = (value ?? {}) as Partial<StoredKey>;
  return (
    isFacts(value) &&
    typeof stored.encrypted === 'string' &&
    Array.isArray(stored.earlier) &&
    stored.earlier.every(isFacts)
  );
};

/** Reads the file; null if absent. */
function read(path: string): StoredKey | null {
  let value: unknown;
  try {
    value = readJson(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const { format } = (value ?? {}) as { readonly format?: unknown };
  if (typeof format === 'number' && format !== FORMAT) throw wrongFormat(path, format, FORMAT);
  if (isStored(value)) return value;
  throw new AssayError(
    'STORE_CORRUPT',
    `${path} is damaged: it is not a key of verdicts. Restore it from a backup.`,
  );
}

/**
 * Returns the present key; null if there is none.
 *
 * @param path - file of the key
 * @throws STORE_CORRUPT, STORE_VERSION
 */
export function presentVerdictKey(path: string): VerdictKeyFacts | null {
  const stored = read(path);
  return stored === null ? null : factsOf(stored);
}

const factsOf = ({ address, createdAt, endsAt }: VerdictKeyFacts): VerdictKeyFacts => ({
  address,
  createdAt,
  endsAt,
});

/** Opens the store of the key. It reads the file at each call, so a server uses a new key from its next signature on. */
export function openVerdictKeys(
  path: string,
  { clock, random, encryption }: VerdictKeyDeps,
): VerdictKeyStore {
  /** The key that was opened last, by its encrypted text: decrypting it and computing its address takes as long as a signature. */
  let opened: { readonly encrypted: string; readonly key: VerdictKey } | null = null;
  return {
    list() {
      const stored = read(path);
      return stored === null ? [] : [factsOf(stored), ...stored.earlier];
    },
    async open() {
      const stored = read(path);
      if (stored === null)
        throw new AssayError(
          'NOT_READY',
          "There is no key that signs verdicts for contracts. Create one with 'assay oracle signer --new'.",
        );
      if (opened?.encrypted === stored.encrypted) return opened.key;
      const { SigningKey, computeAddress } = await import('ethers');
      const signing = new SigningKey(encryption().decrypt(stored.encrypted, CONTEXT));
      if (computeAddress(signing.publicKey) !== stored.address)
        throw new AssayError(
          'STORE_CORRUPT',
          `${path} is damaged: its key has another address. Restore it from a backup.`,
        );
      const key: VerdictKey = {
        address: stored.address,
        endsAt: stored.endsAt,
        // RFC 6979, s in the lower half.
        sign: async (digest) => signing.sign(digest).serialized,
      };
      opened = { encrypted: stored.encrypted, key };
      return key;
    },
    async create(days) {
      if (!Number.isInteger(days) || days < 1 || days > ORACLE_LIMITS.signerDaysMax)
        throw new AssayError(
          'INVALID_REQUEST',
          `days: must be a whole number from 1 to ${ORACLE_LIMITS.signerDaysMax} (got ${days}).`,
          { field: 'days' },
        );
      const { computeAddress } = await import('ethers');
      const privateKey = `0x${Buffer.from(random.bytes(32)).toString('hex')}`;
      const createdAt = Math.floor(clock.now() / 1_000);
      const facts = {
        // Throws for the 2^-128 of all texts that are not a key.
        address: computeAddress(privateKey),
        createdAt,
        endsAt: createdAt + days * DAY_S,
      };
      const earlier = this.list();
      writeJsonAtomically(path, {
        format: FORMAT,
        ...facts,
        encrypted: encryption().encrypt(privateKey, CONTEXT),
        earlier,
      });
      return facts;
    },
  };
}

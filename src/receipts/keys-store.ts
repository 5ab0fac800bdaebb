/** Signing keys in the store of receipts, encrypted at rest with the key of the installation: on one machine, or on many nodes. */
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { systemRandom } from '../base/random.ts';
import type { Encryption } from '../state/encryption.ts';
import { decrypts } from '../state/key-trial.ts';
import type { LiveDatabase, LiveRoot } from '../state/live-store.ts';
import { privateKeyOf, SEED_BYTES } from './ed25519.ts';
import type { ReceiptSigner } from './jws.ts';
import { type SigningKey, type SigningKeys, thumbprintOf } from './keys.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import { Signatures } from './signatures.ts';

/** A stored key. Keys are ordered by their number. */
export interface KeyRow extends SigningKey {
  readonly number: number;
  /** The private key as a JWK, encrypted. */
  readonly encrypted: string;
}

/** Purpose of an encrypted key, which is authenticated with it. */
const contextOf = (kid: string): string => `receipt key ${kid}`;

const viewOf = ({ number: _, encrypted: __, ...key }: KeyRow): SigningKey => key;

export interface KeyRingDeps {
  readonly root: LiveRoot;
  readonly rows: LiveDatabase<KeyRow, number>;
  /** Opened at the first use. */
  readonly encryption: () => Encryption;
  readonly clock: Clock;
}

/** The keys of an installation. */
export class KeyRing implements SigningKeys {
  readonly #deps: KeyRingDeps;
  /** Decrypted private keys by their ids: decrypting one takes longer than signing. */
  readonly #opened = new Map<string, Signatures>();
  /** The active key in this turn of the event loop, in which many receipts may be signed; null at its begin. */
  #ofTurn: Promise<ReceiptSigner> | null = null;

  constructor(deps: KeyRingDeps) {
    this.#deps = deps;
  }

  active(): Promise<ReceiptSigner> {
    return this.#ofTurn ?? this.#find();
  }

  async #find(): Promise<ReceiptSigner> {
    const row = await this.#valid(this.#activeRow() ?? (await this.#add(true)));
    const signatures = this.#opened.get(row.kid) ?? this.#open(row);
    const signer = { kid: row.kid, sign: (bytes: Uint8Array) => signatures.sign(bytes) };
    this.#ofTurn = Promise.resolve(signer);
    setImmediate(() => {
      this.#ofTurn = null;
    });
    return signer;
  }

  async rotate(): Promise<SigningKey> {
    const added = viewOf(await this.#add(false));
    this.#ofTurn = null;
    return added;
  }

  list(): readonly SigningKey[] {
    this.#deps.root.resetReadTxn();
    return [...this.#deps.rows.getRange()].map(({ value }) => viewOf(value));
  }

  #activeRow(): KeyRow | null {
    this.#deps.root.resetReadTxn();
    return this.#lastRow();
  }

  #lastRow(): KeyRow | null {
    for (const { value } of this.#deps.rows.getRange({ reverse: true, limit: 1 })) return value;
    return null;
  }

  #open({ kid, encrypted }: KeyRow): Signatures {
    const encryption = this.#deps.encryption();
    // A damaged text looks like one of another key.
    if (!decrypts(encryption, encrypted, contextOf(kid)))
      throw new AssayError(
        'NOT_READY',
        'The installation.key of this node differs from the one with which the key of receipts is encrypted. Copy it from another node or a backup, and restart.',
      );
    const signatures = new Signatures(JSON.parse(encryption.decrypt(encrypted, contextOf(kid))));
    // The thread of a key that was retired ends behind its last signatures.
    for (const [before, retired] of this.#opened) {
      this.#opened.delete(before);
      void retired.close();
    }
    this.#opened.set(kid, signatures);
    return signatures;
  }

  /**
   * Returns the active key, valid from now on at the latest. If the clock was set back since the key was created, each receipt would be of a time
   * before its key.
   */
  async #valid(row: KeyRow): Promise<KeyRow> {
    const { root, rows, clock } = this.#deps;
    if (clock.now() >= row.jwk.iat * 1000) return row;
    return root.childTransaction(() => {
      const last = this.#lastRow() ?? row;
      const iat = validFrom(clock.now());
      if (iat >= last.jwk.iat) return last;
      const earlier: KeyRow = { ...last, jwk: { ...last.jwk, iat } };
      rows.putSync(earlier.number, earlier);
      return earlier;
    });
  }

  /** Ends the threads that sign. */
  async close(): Promise<void> {
    await Promise.all([...this.#opened.values()].map((signatures) => signatures.close()));
  }

  /** Adds a key, and retires the one before it. If `isFirst`, a key that another process has added meanwhile is returned instead. */
  async #add(isFirst: boolean): Promise<KeyRow> {
    const { root, rows, encryption, clock } = this.#deps;
    const jwk = privateKeyOf(systemRandom.bytes(SEED_BYTES)).export({ format: 'jwk' });
    const x = String(jwk.x);
    const kid = thumbprintOf(x);
    const encrypted = encryption().encrypt(JSON.stringify(jwk), contextOf(kid));
    return root.childTransaction(() => {
      const last = this.#lastRow();
      if (isFirst && last !== null) return last;
      if (last !== null && last.number + 1 >= RECEIPT_LIMITS.signingKeysMax)
        throw new AssayError(
          'INVALID_REQUEST',
          `The installation has ${last.number + 1} signing keys, the maximum.`,
        );
      const nowMs = clock.now();
      const iat = validFrom(nowMs);
      if (last !== null) rows.putSync(last.number, retired(last, nowMs));
      const row: KeyRow = {
        number: (last?.number ?? -1) + 1,
        kid,
        status: 'ACTIVE',
        createdAtMs: nowMs,
        endsAtMs: null,
        jwk: { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'Ed25519', use: 'sig', iat },
        encrypted,
      };
      rows.putSync(row.number, row);
      return row;
    });
  }
}

/**
 * Returns from when on receipts of a key are valid that exists now, in seconds. Another node with a clock that is behind signs with the key as
 * soon as it sees the record, so the key is valid from as much earlier as a retired one is valid later.
 */
const validFrom = (nowMs: number): number => Math.floor(nowMs / 1000) - RECEIPT_LIMITS.retireGraceSeconds;

function retired(row: KeyRow, nowMs: number): KeyRow {
  const exp = Math.floor(nowMs / 1000) + RECEIPT_LIMITS.retireGraceSeconds;
  return { ...row, status: 'RETIRED', endsAtMs: exp * 1000, jwk: { ...row.jwk, exp } };
}

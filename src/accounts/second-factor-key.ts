/**
 * Whether this node has the key with which the secrets of second factors are encrypted. With another key, a right code would look wrong,
 * and a secret that this node encrypts would lock its person out on all other nodes.
 */
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Encryption } from '../state/encryption.ts';
import { decrypts, KeyTrial, newTrial } from '../state/key-trial.ts';
import type { Person } from './people-records.ts';
import type { PeopleStore } from './people-store.ts';

/** Context of the encryption: a secret of one person cannot be used for another. */
export const contextOf = (personId: string): string => `second factor ${personId}`;

/** Why codes cannot be checked on this node. */
export interface KeyProblem {
  /** One sentence, for operators. */
  readonly reason: string;
  /** ISO 8601 time at which it was first seen. */
  readonly since: string;
}

export interface SecondFactorKeyDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: Pick<PeopleStore, 'keyTrial' | 'setKeyTrial'>;
  /** Opened at the first use. */
  readonly encryption: () => Encryption;
  /** True if other nodes use the same store. */
  readonly isShared: boolean;
}

const ofAnotherNode =
  'The installation.key of this node differs from the key with which second factors are encrypted: this node enables none and accepts no codes of authenticator apps. Copy installation.key of a node that accepts them, and restart this one.';
const ofEarlierKey =
  'The installation.key of this installation is not the one with which second factors are encrypted: none is enabled and no code of an authenticator app is accepted. Restore installation.key from a backup, or disable the second factors on the command line (accounts disable-totp), and restart.';

/** Tests the key of this node, and remembers since when it differs. */
export class SecondFactorKey {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #store: SecondFactorKeyDeps['store'];
  readonly #encryption: () => Encryption;
  readonly #isShared: boolean;
  readonly #trial: KeyTrial;
  /** True if the store has no trial, but secrets of an earlier version that this key does not decrypt. */
  #areSecretsForeign = false;
  #problem: KeyProblem | null = null;

  constructor({ clock, log, store, encryption, isShared }: SecondFactorKeyDeps) {
    this.#clock = clock;
    this.#log = log;
    this.#store = store;
    this.#encryption = encryption;
    this.#isShared = isShared;
    this.#trial = new KeyTrial(encryption);
  }

  /**
   * Tests the key when the process starts: on the stored text, or on the secrets of an earlier version, which stored no text.
   *
   * @throws NOT_READY if the store does not have the data of other nodes yet
   */
  async check(): Promise<void> {
    try {
      await this.#establish(false);
    } catch (error) {
      if (error instanceof AssayError && error.code === 'NOT_READY') throw error;
      // A process with a full disk or a damaged key serves everything else.
      this.#log.warn({ err: error }, 'encryption key of second factors not tested');
    }
    this.problem();
  }

  /**
   * Requires the key before a secret is encrypted, and stores the text of the test if this secret is the first.
   *
   * @throws NOT_READY
   */
  async requireForSecret(): Promise<void> {
    await this.#establish(true);
    this.require();
  }

  /**
   * Requires the key before a code is checked.
   *
   * @throws NOT_READY
   */
  require(): void {
    if (this.problem() === null) return;
    throw new AssayError(
      'NOT_READY',
      'code: the second factor cannot be checked here, because the encryption key of this server is not the one with which it was stored. Log in with a recovery code, or ask the operator of this service.',
      { field: 'code' },
    );
  }

  /** Returns why codes cannot be checked on this node; null if they can. A change is logged. */
  problem(): KeyProblem | null {
    const reason = this.#reason();
    if (reason === (this.#problem?.reason ?? null)) return this.#problem;
    this.#problem = reason === null ? null : { reason, since: isoTime(this.#clock.now()) };
    if (reason === null) this.#log.info('second factors can be checked again');
    else this.#log.error({ reason }, 'second factors cannot be checked');
    return this.#problem;
  }

  #reason(): string | null {
    try {
      const stored = this.#store.keyTrial();
      const isForeign = stored === null ? this.#areSecretsForeign : !this.#trial.opens(stored);
      if (!isForeign) return null;
      return this.#isShared ? ofAnotherNode : ofEarlierKey;
    } catch (error) {
      // While the store is not current, nothing is known that is newer.
      if (error instanceof AssayError && error.code === 'NOT_READY') return this.#problem?.reason ?? null;
      // The file of the key is damaged.
      return messageOf(error);
    }
  }

  /** Stores the text of the test if none is stored and this key is the right one. */
  async #establish(isFirstSecret: boolean): Promise<void> {
    const stored = this.#store.keyTrial();
    if (stored !== null && this.#trial.opens(stored)) return;
    await this.#store.setKeyTrial((present, people) => this.#chosen(present, people, isFirstSecret));
  }

  /** Returns the text to store; null to leave the present one. */
  #chosen(present: string | null, people: readonly Person[], isFirstSecret: boolean): string | null {
    if (present !== null) {
      // Another node may have stored the text meanwhile. A key of which nobody has a second factor protects nothing; with a shared
      // store, a node that merely starts leaves the text, because another node may be between the text and its first secret.
      const mayReplace = isFirstSecret || !this.#isShared;
      const isLost = mayReplace && people.length === 0 && !this.#trial.opens(present);
      return isLost ? newTrial(this.#encryption()) : null;
    }
    if (people.length === 0) return isFirstSecret ? newTrial(this.#encryption()) : null;
    this.#areSecretsForeign = !people.some((person) => this.decryptsSecretOf(person));
    return this.#areSecretsForeign ? null : newTrial(this.#encryption());
  }

  /** Whether the secret of a person is encrypted with the key of this node. */
  decryptsSecretOf({ id, secondFactor }: Person): boolean {
    return secondFactor !== undefined && decrypts(this.#encryption(), secondFactor.secret, contextOf(id));
  }
}

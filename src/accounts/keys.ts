/** API keys: their record and the port of their store. A key's text is key-token.ts, the store is keys-lmdb.ts. */
import type { PlanName, RateOverrides } from './plans.ts';

export const PERMISSIONS = ['screening', 'entity', 'kyt', 'monitoring', 'intel', 'oracle'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** What is known of a key. The key itself is known to its owner alone. */
export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  /** First characters of the key, for recognising it. */
  readonly prefix: string;
  readonly last4: string;
  readonly permissions: readonly Permission[];
  readonly status: 'ACTIVE' | 'REVOKED';
  /** ISO 8601 UTC with milliseconds, as all three. */
  readonly createdAt: string;
  /** Written in batches: up to a minute old, and up to a minute is lost in a crash. */
  readonly lastUsedAt: string | null;
  readonly revokedAt: string | null;
  readonly accountId: string;
  /** The plan of the account. */
  readonly plan: PlanName;
  /** Limits a minute of this key alone, in place of its plan's. */
  readonly rateLimits: RateOverrides;
}

/** The account of keys that were made without naming one. */
export const LOCAL_ACCOUNT = 'local';

export interface NewKey {
  readonly name: string;
  /** LOCAL_ACCOUNT where left out. */
  readonly accountId?: string;
  /** Plan of the account, set when this key is its first; later keys take the account's. FREE where left out. */
  readonly plan?: PlanName;
  /** All six where left out. */
  readonly permissions?: readonly Permission[];
  readonly rateLimits?: RateOverrides;
  /** Only where there is no key at all; else it is refused, with the field `isFirst`. */
  readonly isFirst?: true;
}

export interface CreatedKey {
  readonly record: KeyRecord;
  /** The full key, shown this once. */
  readonly apiKey: string;
}

/** The store of keys. Every implementation passes test/conformance/keys.ts. */
export interface KeyStore {
  /**
   * The active key that a text is, or null. Synchronous and without a write; a key that another process created or revoked
   * is known from the next turn of the event loop on.
   */
  verify(token: string): KeyRecord | null;
  /** Changes whenever a key or an account changed, here or in another process, as of this turn of the event loop. */
  generation(): number;
  /** The record of an id, revoked or not. */
  get(id: string): KeyRecord | null;
  /** All keys, of one account where given, oldest first. */
  list(accountId?: string): readonly KeyRecord[];
  /** Plan of an account; null where there is no such account. */
  planOf(accountId: string): PlanName | null;
  /** Whether an account is disabled: none of its keys is verified. */
  isDisabled(accountId: string): boolean;
  /** Makes an account without a key; one that exists stays as it is. */
  addAccount(accountId: string, plan: PlanName): Promise<void>;
  /** Throws NOT_FOUND where there is no such account. */
  setDisabled(accountId: string, disabled: boolean): Promise<void>;
  /** Throws INVALID_REQUEST naming the field. Durable when it resolves, as all changes. */
  create(key: NewKey): Promise<CreatedKey>;
  /** For good. Revoking a revoked key changes nothing. Throws NOT_FOUND. */
  revoke(id: string): Promise<KeyRecord>;
  /** Throws NOT_FOUND; INVALID_REQUEST for a revoked key. */
  setPermission(id: string, permission: Permission, enabled: boolean): Promise<KeyRecord>;
  /** Throws NOT_FOUND where the account has no key. */
  setPlan(accountId: string, plan: PlanName): Promise<void>;
  /** Writes what is batched and closes. */
  close(): Promise<void>;
}

/** API keys: their record and the interface of their store. key-token.ts has the text of a key, keys-lmdb.ts the store. */
import type { CounterMemo } from './counter-memo.ts';
import type { PlanName, RateOverrides } from './plans.ts';

export const PERMISSIONS = ['screening', 'entity', 'kyt', 'monitoring', 'intel', 'oracle'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** The stored data of a key. The key itself is known only to its owner. */
export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  /** First characters of the key, to recognise it. */
  readonly prefix: string;
  readonly last4: string;
  readonly permissions: readonly Permission[];
  readonly status: 'ACTIVE' | 'REVOKED';
  /** ISO 8601 UTC with milliseconds, like the other two times. */
  readonly createdAt: string;
  /** Written in batches: up to a minute old, and up to a minute is lost in a crash. */
  readonly lastUsedAt: string | null;
  readonly revokedAt: string | null;
  /**
   * Id of the key or the person that created this key; `session` for the first person of the account; `operator` for the command line; null
   * for a key of an earlier release.
   */
  readonly createdBy: string | null;
  readonly accountId: string;
  /** The plan of the account. */
  readonly plan: PlanName;
  /** Limits per minute of this key, which replace those of its plan. */
  readonly rateLimits: RateOverrides;
  /** Form of the receipts in its responses, if a request names none. */
  readonly receipts: KeyReceipts;
  /** Of the records that `verify` returns. It is not enumerable, so that no copy of a record has it. */
  readonly memo?: CounterMemo;
}

export const KEY_RECEIPTS = ['none', 'jws'] as const;
export type KeyReceipts = (typeof KEY_RECEIPTS)[number];

/** The account of the operator: keys that were created without an account belong to it. */
export const LOCAL_ACCOUNT = 'local';

/** The account of payments for single calls. It has no keys and no free credits: its balance is what was paid and not answered yet. */
export const PAY_PER_CALL_ACCOUNT = 'pay-per-call';

export interface NewKey {
  readonly name: string;
  /** Default: LOCAL_ACCOUNT. */
  readonly accountId?: string;
  /** Plan of the account, set with its first key; later keys have the account's plan. Default: FREE, or the store's option for LOCAL_ACCOUNT. */
  readonly plan?: PlanName;
  /** Default: all six. */
  readonly permissions?: readonly Permission[];
  readonly rateLimits?: RateOverrides;
  /** Default: none. */
  readonly receipts?: KeyReceipts;
  /** As in the record. If it is a key, that key must be active. Default: null. */
  readonly createdBy?: string;
  /** Creates the key only if the store has no key at all; otherwise it is rejected, with the field `isFirst`. */
  readonly isFirst?: true;
}

export interface CreatedKey {
  readonly record: KeyRecord;
  /** The full key; it is returned only once. */
  readonly apiKey: string;
}

/**
 * Returns the keys that a key created, and that these created, in the order of `keys`.
 *
 * @param keys - all keys of its account
 */
export function descendantsOf<Key extends { readonly id: string; readonly createdBy?: string | null }>(
  keys: readonly Key[],
  id: string,
): Key[] {
  const found = new Set([id]);
  let sizeBefore = 0;
  // Times of creation do not order the keys if the clock was set back, so the search repeats until nothing is added.
  while (found.size > sizeBefore) {
    sizeBefore = found.size;
    for (const key of keys) if (key.createdBy && found.has(key.createdBy)) found.add(key.id);
  }
  found.delete(id);
  return keys.filter((key) => found.has(key.id));
}

/** The store of keys. Every implementation passes test/conformance/keys.ts. */
export interface KeyStore {
  /**
   * Returns the record of the active key with this text, or null. Synchronous and without a write. If another process creates or revokes a
   * key, the change is visible from the next turn of the event loop.
   */
  verify(token: string): KeyRecord | null;
  /** Changes whenever a key or an account has changed, in this or another process, as of this turn of the event loop. */
  generation(): number;
  /** Returns the key with this id, revoked or not. */
  get(id: string): KeyRecord | null;
  /** Returns all keys, or those of one account, oldest first. */
  list(accountId?: string): readonly KeyRecord[];
  /** Returns the active keys of an account, oldest first. Their number alone decides how long it takes, as with the next two. */
  active(accountId: string): readonly KeyRecord[];
  /** Returns the active keys of an account and its newest revoked ones, oldest first. */
  shown(accountId: string, revokedMax: number): readonly KeyRecord[];
  /** Returns the keys that a key created, those that they created, and so on, oldest first; none for an unknown key. */
  descendants(id: string): readonly KeyRecord[];
  /** Returns the plan of an account; null if the account does not exist. */
  planOf(accountId: string): PlanName | null;
  /** Returns true if an account is disabled: its keys are then not accepted. */
  isDisabled(accountId: string): boolean;
  /** Returns true if the people of an account operate the installation: owners and analysts may read its state. */
  isOperator(accountId: string): boolean;
  /** Creates an account without a key; an existing account is not changed. */
  addAccount(accountId: string, plan: PlanName): Promise<void>;
  /** Throws NOT_FOUND if the account does not exist. */
  setDisabled(accountId: string, disabled: boolean): Promise<void>;
  /** Throws NOT_FOUND if the account does not exist. */
  setOperator(accountId: string, operator: boolean): Promise<void>;
  /** Creates a key. Durable when it resolves, like all changes. Throws INVALID_REQUEST naming the field. */
  create(key: NewKey): Promise<CreatedKey>;
  /** Revokes a key permanently. Revoking it again is a no-op. Throws NOT_FOUND. */
  revoke(id: string): Promise<KeyRecord>;
  /**
   * Revokes a key and all active keys that descend from it, in one step.
   *
   * @returns the record of the key, then those of the descendants that this call revoked
   * @throws NOT_FOUND
   */
  revokeWithDescendants(id: string): Promise<readonly [KeyRecord, ...KeyRecord[]]>;
  /** Throws NOT_FOUND; INVALID_REQUEST for a revoked key. */
  setPermission(id: string, permission: Permission, enabled: boolean): Promise<KeyRecord>;
  /** Throws NOT_FOUND; INVALID_REQUEST for a revoked key. */
  setReceipts(id: string, receipts: KeyReceipts): Promise<KeyRecord>;
  /** Throws NOT_FOUND if the account does not exist. */
  setPlan(accountId: string, plan: PlanName): Promise<void>;
  /** Writes pending times of last use, and closes the store. */
  close(): Promise<void>;
}

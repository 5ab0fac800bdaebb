/**
 * Matches that an account has reviewed and cleared: (name, entity) pairs, kept until they are deleted. A cleared match is still
 * returned, and is marked as cleared while the entity is unchanged. If the publisher changes the entity, the match must be
 * reviewed again.
 */
import { createHash } from 'node:crypto';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { invalidCursor } from '../base/paging.ts';
import { type LiveDatabase, type OpenStore, openLiveStore } from '../state/live-store.ts';
import { NAME_LIMITS } from './limits.ts';

/** One cleared match. */
export interface ClearedMatch {
  readonly id: string;
  /** As it was screened. */
  readonly name: string;
  readonly list: string;
  readonly entityId: string;
  readonly entityName: string;
  /** Hash of the entity's content at the time of clearing. */
  readonly entityVersion: string;
  readonly note: string | null;
  readonly clearedAt: string;
}

/** The fields of a cleared match that a screening needs. */
export type ClearedEntity = Pick<ClearedMatch, 'list' | 'entityId' | 'entityVersion'>;

export interface ClearedPage {
  readonly cleared: readonly ClearedMatch[];
  /** Continues after the last match of the page; null at the end. */
  readonly nextCursor: string | null;
}

export interface ClearedStore {
  /**
   * Clears a match. It is durable when the promise resolves; clearing the same pair again replaces the match. Rejects with
   * INVALID_REQUEST if the account has too many.
   */
  clear(accountId: string, match: Omit<ClearedMatch, 'id' | 'clearedAt'>): Promise<ClearedMatch>;
  /** Returns the matches that an account has cleared: a list for each of the names. */
  of(accountId: string, names: readonly string[]): readonly (readonly ClearedMatch[])[];
  /** Lists matches in id order; with `name`, only those of that name. */
  list(
    accountId: string,
    options: { readonly limit: number; readonly cursor?: string; readonly name?: string },
  ): ClearedPage;
  /**
   * Deletes a match and resolves with it. Rejects with NOT_FOUND if the account has no such match, even if another account has it.
   */
  remove(accountId: string, id: string): Promise<ClearedMatch>;
  close(): Promise<void>;
}

const NONE: readonly ClearedMatch[] = [];

export const FORMAT_VERSION = 1;
const HASH_CHARS = 16;

/** Ids are two hashes: of the name, and of the list and the entity. */
const ID_SHAPE = new RegExp(`^[0-9a-f]{${2 * HASH_CHARS}}$`);

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARS);

/** Folds a name: letter case, form of characters and spacing do not distinguish names. */
const foldName = (name: string): string => name.normalize('NFKC').toLowerCase().replace(/\s+/gu, ' ').trim();

const idOf = (name: string, list: string, entityId: string): string =>
  hashOf(foldName(name)) + hashOf(`${list}\n${entityId}`);

/**
 * Opens or creates the store in the file `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT.
 */
export function openClearedStore(
  options: { readonly path: string },
  deps: {
    readonly clock: Clock;
    /** Default: on this machine. */
    readonly openStore?: OpenStore;
  },
): ClearedStore {
  const { openStore = openLiveStore } = deps;
  const { root } = openStore(options.path, FORMAT_VERSION, { name: 'cleared' });
  const matches: LiveDatabase<ClearedMatch, string> = root.openDB({ name: 'matches', encoding: 'json' });

  /** Cleared matches of each account, as this version counts them. An earlier version, which has no such numbers, changes none. */
  const counts: LiveDatabase<number, string> = root.openDB({ name: 'counts', encoding: 'json' });

  const prefixOf = (accountId: string): string => `${accountId}/`;

  /** Reads all matches of an account to count them: 10 ms for the maximum. */
  const counted = (accountId: string): number =>
    matches.getKeysCount({ start: prefixOf(accountId), end: `${prefixOf(accountId)}~` });

  /** Counts a new match; returns false if the account has too many. Must run inside a transaction. */
  function hasRoom(accountId: string): boolean {
    let count = counts.get(accountId) ?? counted(accountId);
    if (count >= NAME_LIMITS.clearedMatchesMax) count = counted(accountId);
    if (count >= NAME_LIMITS.clearedMatchesMax) return false;
    counts.putSync(accountId, count + 1);
    return true;
  }

  function hasAny(prefix: string): boolean {
    for (const _ of matches.getKeys({ start: prefix, end: `${prefix}~`, limit: 1 })) return true;
    return false;
  }

  /** Yields the entries with keys that begin with `prefix` and come after `after`, in order. Keys are ASCII. */
  function* under(prefix: string, after = ''): Generator<ClearedMatch> {
    const range = { start: prefix + after, end: `${prefix}~` };
    for (const { key, value } of matches.getRange(range)) {
      if (key !== prefix + after) yield value;
    }
  }

  return {
    async clear(accountId, match) {
      const id = idOf(match.name, match.list, match.entityId);
      const key = prefixOf(accountId) + id;
      const record: ClearedMatch = { id, ...match, clearedAt: isoTime(deps.clock.now()) };
      const stored = await root.transaction(() => {
        if (matches.get(key) === undefined && !hasRoom(accountId)) return false;
        matches.putSync(key, record);
        return true;
      });
      if (stored) return record;
      throw new AssayError(
        'INVALID_REQUEST',
        `This account has cleared ${NAME_LIMITS.clearedMatchesMax} matches, the maximum; delete those that are no longer needed.`,
      );
    },
    of(accountId, names) {
      const prefix = prefixOf(accountId);
      // Most accounts have cleared none. Each range leaves 4 KB, which V8 keeps for a while: those of 50 names stopped the thread for
      // 10 ms at every 60th request.
      if (!hasAny(prefix)) return names.map(() => NONE);
      return names.map((name) => [...under(prefix + hashOf(foldName(name)))]);
    },
    list(accountId, { limit, cursor = '', name }) {
      const page: ClearedMatch[] = [];
      // Ids begin with the hash of the name.
      const ofName = name === undefined ? '' : hashOf(foldName(name));
      if (cursor !== '' && !(ID_SHAPE.test(cursor) && cursor.startsWith(ofName))) throw invalidCursor();
      for (const match of under(prefixOf(accountId) + ofName, cursor.slice(ofName.length))) {
        if (page.length === limit) return { cleared: page, nextCursor: page.at(-1)?.id ?? null };
        page.push(match);
      }
      return { cleared: page, nextCursor: null };
    },
    async remove(accountId, id) {
      const key = prefixOf(accountId) + id;
      const removed = await root.transaction(() => {
        const known = matches.get(key);
        if (known === undefined) return undefined;
        matches.removeSync(key);
        const count = counts.get(accountId) ?? 0;
        if (count > 0) counts.putSync(accountId, count - 1);
        return known;
      });
      if (removed !== undefined) return removed;
      throw new AssayError('NOT_FOUND', `id: there is no cleared match '${id.slice(0, 64)}'.`, {
        field: 'id',
      });
    },
    close: () => root.close(),
  };
}

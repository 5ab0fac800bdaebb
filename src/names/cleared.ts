/**
 * Matches that an account has looked at and cleared: (name, entity) pairs, kept until taken back. A cleared match is still answered,
 * marked, and only as long as the entity is what it was: what the publisher changes has to be looked at again.
 */
import { createHash } from 'node:crypto';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { type LiveDatabase, type OpenStore, openLiveStore } from '../base/live-store.ts';

/** One cleared match. */
export interface ClearedMatch {
  readonly id: string;
  /** As it was screened. */
  readonly name: string;
  readonly list: string;
  readonly entityId: string;
  readonly entityName: string;
  /** Names the content of the entity as it was cleared. */
  readonly entityVersion: string;
  readonly note: string | null;
  readonly clearedAt: string;
}

/** What a screening needs to know of a cleared match. */
export type ClearedEntity = Pick<ClearedMatch, 'list' | 'entityId' | 'entityVersion'>;

export interface ClearedPage {
  readonly cleared: readonly ClearedMatch[];
  /** Continues behind the last one; null at the end. */
  readonly nextCursor: string | null;
}

export interface ClearedStore {
  /** Durable when it resolves; again for the same pair replaces what was. Rejects with INVALID_REQUEST where the account is full. */
  clear(accountId: string, match: Omit<ClearedMatch, 'id' | 'clearedAt'>): Promise<ClearedMatch>;
  /** What an account has cleared of one name. */
  of(accountId: string, name: string): readonly ClearedMatch[];
  /** In order of ids; with `name` only those of that name. */
  list(
    accountId: string,
    options: { readonly limit: number; readonly cursor?: string; readonly name?: string },
  ): ClearedPage;
  /** Takes one back, and resolves with what it was; rejects with NOT_FOUND, also for another account's. */
  remove(accountId: string, id: string): Promise<ClearedMatch>;
  close(): Promise<void>;
}

export const FORMAT_VERSION = 1;
const HASH_CHARS = 16;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARS);

/** The same name in other letter case, form of characters or spacing is the same name. */
const foldName = (name: string): string => name.normalize('NFKC').toLowerCase().replace(/\s+/gu, ' ').trim();

const idOf = (name: string, list: string, entityId: string): string =>
  hashOf(foldName(name)) + hashOf(`${list}\n${entityId}`);

/** Opens (or makes) the store at `path`, a file. Throws STORE_VERSION, STORE_CORRUPT. */
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

  const prefixOf = (accountId: string): string => `${accountId}/`;

  /** Entries of keys that begin with `prefix`, in order, those behind `after` alone. Keys are ASCII. */
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
      const stored = await matches.transaction(() => {
        if (matches.get(key) === undefined) {
          const count = matches.getKeysCount({ start: prefixOf(accountId), end: `${prefixOf(accountId)}~` });
          if (count >= LIMITS.clearedMatchesMax) return false;
        }
        matches.putSync(key, record);
        return true;
      });
      if (stored) return record;
      throw new AssayError(
        'INVALID_REQUEST',
        `This account has cleared ${LIMITS.clearedMatchesMax} matches already; take back those that are no longer needed.`,
      );
    },
    of: (accountId, name) => [...under(prefixOf(accountId) + hashOf(foldName(name)))],
    list(accountId, { limit, cursor = '', name }) {
      const page: ClearedMatch[] = [];
      // Ids begin with the hash of the name.
      const ofName = name === undefined ? '' : hashOf(foldName(name));
      if (!cursor.startsWith(ofName) && cursor !== '') {
        throw new AssayError('INVALID_REQUEST', 'cursor: is not of a page of this name.', {
          field: 'cursor',
        });
      }
      for (const match of under(prefixOf(accountId) + ofName, cursor.slice(ofName.length))) {
        if (page.length === limit) return { cleared: page, nextCursor: page.at(-1)?.id ?? null };
        page.push(match);
      }
      return { cleared: page, nextCursor: null };
    },
    async remove(accountId, id) {
      const key = prefixOf(accountId) + id;
      const removed = await matches.transaction(() => {
        const known = matches.get(key);
        if (known !== undefined) matches.removeSync(key);
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

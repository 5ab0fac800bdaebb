/** The sessions of a person as its owner sees them, and the times of their last use. */
import { type Clock, isoTime } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { ACCOUNT_LIMITS } from './limits.ts';
import { type SessionRow, type StoredSession, sessionIdOf } from './people-records.ts';
import type { PeopleStore } from './people-store.ts';

/** A session of a person. Times are ISO 8601 UTC. */
export interface OwnSession {
  readonly id: string;
  /** User-Agent header of the login; null if it sent none. */
  readonly userAgent: string | null;
  /** Client address of the login; null for a session of an earlier version. */
  readonly address: string | null;
  readonly createdAt: string;
  /** Up to five minutes old. */
  readonly lastUsedAt: string;
  readonly expiresAt: string;
  /** Whether it is the session of this request. */
  readonly current: boolean;
}

/** Returns sessions as their owner sees them. */
export const sessionsView = (sessions: readonly StoredSession[], currentId: string): readonly OwnSession[] =>
  sessions.map(({ id, userAgent, from, createdMs, usedMs, endsMs }) => ({
    id,
    userAgent: userAgent ?? null,
    address: from ?? null,
    createdAt: isoTime(createdMs),
    lastUsedAt: isoTime(usedMs ?? createdMs),
    expiresAt: isoTime(endsMs),
    current: id === currentId,
  }));

/** Writes the last use of sessions, at most once in `sessionUseMs` for each, beside the request that uses it. */
export class SessionUses {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #store: Pick<PeopleStore, 'noteUse'>;
  /** Time of the last try by session, by the monotonic clock: a full disk is not tried at each request. */
  readonly #tried = new Map<string, number>();
  readonly #writing = new Set<Promise<void>>();

  constructor(deps: {
    readonly clock: Clock;
    readonly log: Logger;
    readonly store: Pick<PeopleStore, 'noteUse'>;
  }) {
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#store = deps.store;
  }

  /** Notes that a session is used now. */
  note(token: string, { usedMs, createdMs }: SessionRow): void {
    const { sessionUseMs, sessionUsesMax } = ACCOUNT_LIMITS;
    if (Math.abs(this.#clock.now() - (usedMs ?? createdMs)) < sessionUseMs) return;
    const id = sessionIdOf(token);
    const now = this.#clock.monotonic();
    if (now - (this.#tried.get(id) ?? Number.NEGATIVE_INFINITY) < sessionUseMs) return;
    if (this.#tried.size >= sessionUsesMax) this.#tried.clear();
    this.#tried.set(id, now);
    const writing = this.#store
      .noteUse(token)
      .catch((error: unknown) =>
        this.#log.warn({ session: id, reason: messageOf(error) }, 'use of a session not written'),
      )
      .finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
  }

  /** Resolves when all started writes have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#writing);
  }
}

/** The sessions of a person as its owner sees them, and how often the use of a session is written. */
import { describe, expect, it } from 'vitest';
import { ACCOUNT_LIMITS } from '../../src/accounts/limits.ts';
import type { SessionRow, StoredSession } from '../../src/accounts/people-records.ts';
import { SessionUses, sessionsView } from '../../src/accounts/session-list.ts';
import type { Logger } from '../../src/base/log.ts';

const CREATED = Date.parse('2026-11-01T00:00:00Z');
const { sessionUseMs, sessionUsesMax } = ACCOUNT_LIMITS;

describe('the sessions of a person', () => {
  const stored = (id: string, more: object = {}): StoredSession =>
    ({ id, createdMs: CREATED, endsMs: CREATED + 2_000, ...more }) as unknown as StoredSession;

  it('were last used when they were created if nothing later is known, and one is that of the request', () => {
    const [first, second] = sessionsView(
      [stored('one'), stored('two', { usedMs: CREATED + 1_000, userAgent: 'curl', from: '192.0.2.1' })],
      'two',
    );
    expect(first).toEqual({
      ...{ id: 'one', userAgent: null, address: null, current: false },
      ...{ createdAt: '2026-11-01T00:00:00.000Z', lastUsedAt: '2026-11-01T00:00:00.000Z' },
      expiresAt: '2026-11-01T00:00:02.000Z',
    });
    expect(second).toMatchObject({
      ...{ userAgent: 'curl', address: '192.0.2.1', current: true, lastUsedAt: '2026-11-01T00:00:01.000Z' },
    });
  });
});

describe('the uses of sessions', () => {
  function world() {
    const time = { wall: CREATED, monotonic: 0 };
    const written: string[] = [];
    const warnings: unknown[] = [];
    let write: () => Promise<void> = async () => {};
    const uses = new SessionUses({
      clock: { now: () => time.wall, monotonic: () => time.monotonic },
      log: { warn: (fields: unknown) => warnings.push(fields) } as unknown as Logger,
      store: {
        noteUse: (async (token: string) => {
          written.push(token);
          await write();
        }) as never,
      },
    });
    const wait = (ms: number): void => {
      time.wall += ms;
      time.monotonic += ms;
    };
    const failWith = (next: () => Promise<void>): void => {
      write = next;
    };
    return { uses, written, warnings, time, wait, failWith };
  }
  const row = (usedMs?: number): SessionRow =>
    ({ createdMs: CREATED, ...(usedMs === undefined ? {} : { usedMs }) }) as unknown as SessionRow;

  it('are written when the last one is old enough, since the login if there was none', async () => {
    const { uses, written, wait } = world();
    wait(sessionUseMs - 1);
    uses.note('a', row());
    expect(written).toEqual([]);
    wait(1);
    uses.note('a', row());
    uses.note('b', row(CREATED + 1));
    expect(written).toEqual(['a']);
    await uses.settled();
  });

  it('are written too if the clock was set back by as much', async () => {
    const { uses, written, time } = world();
    time.wall = CREATED - sessionUseMs;
    uses.note('a', row());
    uses.note('b', row(CREATED - 1));
    expect(written).toEqual(['a']);
    await uses.settled();
  });

  it('are tried once in the interval, whatever the store answers', async () => {
    const { uses, written, warnings, wait, failWith } = world();
    failWith(async () => {
      throw new Error('full');
    });
    wait(sessionUseMs);
    uses.note('a', row());
    uses.note('a', row());
    await uses.settled();
    wait(sessionUseMs - 1);
    uses.note('a', row());
    expect(written).toEqual(['a']);
    wait(1);
    uses.note('a', row());
    await uses.settled();
    expect([written, warnings.length]).toEqual([['a', 'a'], 2]);
  });

  it('are waited for at the end', async () => {
    const { uses, wait, failWith } = world();
    let isWritten = false;
    failWith(async () => {
      await new Promise((done) => setTimeout(done, 20));
      isWritten = true;
    });
    wait(sessionUseMs);
    uses.note('a', row());
    await uses.settled();
    expect(isWritten).toBe(true);
  });

  it('are remembered of a bounded number of sessions', async () => {
    const { uses, written, wait } = world();
    wait(sessionUseMs);
    for (let at = 0; at < sessionUsesMax; at++) uses.note(`s${at}`, row());
    uses.note('s0', row());
    expect(written.length).toBe(sessionUsesMax);
    // One more than the maximum: the others are forgotten, and written again at their next use.
    uses.note('more', row());
    uses.note('s0', row());
    expect(written.slice(sessionUsesMax)).toEqual(['more', 's0']);
    await uses.settled();
  });
});

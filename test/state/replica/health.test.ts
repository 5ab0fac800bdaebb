/** The state of a replicated store that cannot be used, and how often it is logged. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Logger } from '../../../src/base/log.ts';
import { ReplicaHealth } from '../../../src/state/replica/health.ts';
import { REPLICA_LIMITS } from '../../../src/state/replica/limits.ts';
import { createStateLog } from '../../../src/state/state-log.ts';

let nowMs: number;
let said: string[];
let health: (name: string) => ReplicaHealth;
beforeEach(() => {
  [nowMs, said] = [1_000, []];
  const log = {
    error: (_: object, text: string) => said.push(`error ${text}`),
    info: (_: object, text: string) => said.push(`info ${text}`),
  } as unknown as Logger;
  const states = createStateLog();
  health = (name) =>
    new ReplicaHealth(
      { name, path: `/data/${name}.mdb`, formatVersion: 3, installationId: 'own' },
      { clock: { now: () => 0, monotonic: () => nowMs }, log, states },
    );
});

describe('a replicated store', () => {
  it('is current for a moment after it was heard, and unread before', () => {
    const keys = health('keys');
    expect([keys.isUnread, keys.isCurrent(), keys.problem()?.kind]).toEqual([true, false, 'away']);
    keys.heard(nowMs);
    keys.heard(nowMs - 500);
    expect([keys.isUnread, keys.isCurrent(), keys.problem()]).toEqual([false, true, null]);
    keys.requireCurrent();
    nowMs += REPLICA_LIMITS.replicaCurrentMs - 1;
    expect(keys.isCurrent()).toBe(true);
    nowMs += 1;
    expect(keys.isCurrent()).toBe(false);
    expect(() => keys.requireCurrent()).toThrow("its data of 'keys' may be out of date");
    keys.requireNoFault();
  });

  it('names why Redis is not heard, as long as it is not', () => {
    const keys = health('keys');
    keys.setAway('WRONGPASS invalid username-password pair.');
    expect(keys.problem()).toMatchObject({
      kind: 'away',
      reason: 'WRONGPASS invalid username-password pair.',
    });
    keys.setFull(new Error('no space'));
    expect(keys.problem()).not.toHaveProperty('reason');
    keys.setFull(null);
    keys.setAway(null);
    expect(keys.problem()).not.toHaveProperty('reason');
  });

  it('names the fault of Redis before a full disk, and a full disk before an outage', () => {
    const keys = health('keys');
    keys.setFull(new Error('no space'));
    expect(keys.problem()?.kind).toBe('full');
    keys.faultOf({ kind: 'other', found: 'theirs' } as never, 7);
    expect(keys.problem()).toMatchObject({ kind: 'other', message: expect.stringContaining('theirs') });
    expect(keys.hasFault).toBe(true);
    expect(() => keys.requireNoFault()).toThrow('follows no other installation');
    keys.heard(nowMs);
    keys.setFull(null);
    expect([keys.hasFault, keys.problem()]).toEqual([false, null]);
  });

  it('logs a fault once for all stores, and its end when the last one has recovered', () => {
    const stores = ['keys', 'ledger', 'audit'].map(health);
    for (const store of stores) for (let again = 0; again < 2; again++) store.lost(7);
    expect(said).toEqual(['error store unavailable']);
    for (const store of stores.slice(1)) store.heard(nowMs);
    expect(said).toEqual(['error store unavailable']);
    stores[0]?.heard(nowMs);
    stores[0]?.heard(nowMs);
    expect(said).toEqual(['error store unavailable', 'info stores available again']);
  });

  it('logs another fault of the same store', () => {
    const keys = health('keys');
    keys.lost(7);
    keys.upgradeFailed(new Error('no memory.'));
    expect(keys.problem()).toMatchObject({ kind: 'upgrade', message: expect.stringMatching(/no memory\.$/) });
    expect(said).toEqual([
      'error store unavailable',
      'info stores available again',
      'error store unavailable',
    ]);
  });
});

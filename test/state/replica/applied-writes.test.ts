import { beforeEach, describe, expect, it } from 'vitest';
import { AppliedWrites } from '../../../src/state/replica/applied-writes.ts';
import type { Position, ReplicaFile } from '../../../src/state/replica/replica-file.ts';
import type { WriteSet } from '../../../src/state/write-set.ts';

const START: Position = { version: 5, last: 'e' };

describe('the write sets that a process has applied', () => {
  /** Position of the file: another process of the machine may be ahead. */
  let stored: Position;
  let applied: AppliedWrites;
  let notified: number;
  beforeEach(() => {
    stored = START;
    notified = 0;
    applied = new AppliedWrites({
      position: () => stored,
      apply(to: Position) {
        stored = to;
      },
      replaceBy(_: unknown, to: Position) {
        stored = to;
        return [];
      },
    } as unknown as ReplicaFile);
    applied.listen((writes) => {
      notified += writes.length;
    });
  });

  const writes = [{ database: 'd', key: Buffer.from('k'), value: Buffer.from('v') }];
  const set = (version: number, id: string, before: string): WriteSet => ({ version, id, before, writes });

  it('follow each other: a gap or another history is not applied', () => {
    expect(applied.apply([set(7, 'g', 'e')])).toBe(false);
    expect(applied.apply([set(6, 'f', 'x')])).toBe(false);
    expect(applied.apply([set(6, 'f', 'e'), set(8, 'h', 'f')])).toBe(false);
    expect([stored, applied.position, notified]).toEqual([START, START, 0]);
    expect(applied.apply([set(4, 'd', 'c'), set(5, 'e', 'd'), set(6, 'f', 'e'), set(7, 'g', 'f')])).toBe(
      true,
    );
    expect([stored, notified]).toEqual([{ version: 7, last: 'g' }, 2]);
    expect(applied.apply([set(7, 'g', 'f')])).toBe(true);
    expect(notified).toBe(2);
  });

  it('are not reported if they are own ones, in either order of reply and stream', () => {
    applied.registerOwn('f');
    expect(applied.acknowledgeOwn(START, 'f', writes)).toBe(true);
    expect(applied.apply([set(6, 'f', 'e')])).toBe(true);
    applied.registerOwn('g');
    expect(applied.apply([set(7, 'g', 'f')])).toBe(true);
    expect(applied.acknowledgeOwn({ version: 6, last: 'f' }, 'g', writes)).toBe(true);
    expect([stored, applied.position, notified]).toEqual([
      { version: 7, last: 'g' },
      { version: 7, last: 'g' },
      0,
    ]);
  });

  it('are reported if the outcome of an own one is unknown', () => {
    const late = applied.registerOwn('f');
    applied.apply([set(6, 'f', 'e')]);
    expect(notified).toBe(0);
    applied.abandonOwn('f', late);
    expect(notified).toBe(1);
    const later = applied.registerOwn('g');
    applied.abandonOwn('g', later);
    applied.apply([set(7, 'g', 'f')]);
    expect(notified).toBe(2);
  });

  it('are not acknowledged by a server with a discarded history', () => {
    for (const from of [
      { version: 6, last: 'f' },
      { version: 5, last: 'x' },
    ]) {
      applied.registerOwn('own');
      expect(applied.acknowledgeOwn(from, 'own', writes)).toBe(false);
    }
    expect(stored).toEqual(START);
    // Of another node then.
    applied.apply([set(6, 'own', 'e')]);
    expect(notified).toBe(1);
  });

  it('begin anew with a copy: an own one that comes after it is of the copied history', () => {
    applied.registerOwn('f');
    applied.replaceBy(null as never, { version: 9, last: 'i' }, true);
    expect(applied.position).toEqual({ version: 9, last: 'i' });
    applied.apply([set(10, 'f', 'i')]);
    expect(notified).toBe(1);
  });
});

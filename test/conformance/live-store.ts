/**
 * The behaviour that every kind of live state offers to the stores that keep their records in it. The test of each implementation runs it.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LiveDatabase, LiveStore } from '../../src/state/live-store.ts';

export interface LiveStoreWorld {
  /** Opens the same state each time and resolves when it is ready. */
  open(): Promise<LiveStore>;
  dispose(): Promise<void>;
}

interface Row {
  readonly text: string;
  readonly numbers: readonly number[];
}

export function liveStoreConformance(name: string, makeWorld: () => Promise<LiveStoreWorld>): void {
  describe(`${name} live store`, () => {
    let world: LiveStoreWorld;
    let store: LiveStore;
    let rows: LiveDatabase<Row, [place: string, number: number]>;
    let counts: LiveDatabase<number, string>;
    let hashes: LiveDatabase<string, Buffer>;
    let chunks: LiveDatabase<Buffer, [place: string, number: number]>;
    let texts: LiveDatabase<string, string>;

    function openAll(): void {
      rows = store.root.openDB({ name: 'rows', encoding: 'msgpack' });
      counts = store.root.openDB({ name: 'counts', encoding: 'json' });
      hashes = store.root.openDB({ name: 'hashes', encoding: 'json', keyEncoding: 'binary' });
      chunks = store.root.openDB({ name: 'chunks', encoding: 'binary' });
      texts = store.root.openDB({ name: 'texts', encoding: 'string' });
    }

    beforeEach(async () => {
      world = await makeWorld();
      store = await world.open();
      openAll();
    });
    afterEach(async () => {
      await store.root.close();
      await world.dispose();
    });

    it('reads the writes of a transaction, with any key and value, also after a reopen', async () => {
      const hash = Buffer.from([0, 255, 1, 128]);
      const row = { text: 'é\u0000', numbers: [1, -2.5, 2 ** 53 - 1] };
      const written = await store.root.transaction(() => {
        rows.putSync(['a', 1], row);
        rows.putSync(['a', 2], { ...row, text: '' });
        counts.putSync('n', 7);
        hashes.putSync(hash, 'found');
        chunks.putSync(['c', 0], Buffer.alloc(5_000, 7));
        texts.putSync('t', '');
        return 'done';
      });
      expect(written).toBe('done');
      const check = (): void => {
        expect(rows.get(['a', 1])).toEqual(row);
        expect(rows.get(['a', 3])).toBeUndefined();
        expect(counts.get('n')).toBe(7);
        expect(hashes.get(hash)).toBe('found');
        expect(chunks.get(['c', 0])).toEqual(Buffer.alloc(5_000, 7));
        expect(texts.get('t')).toBe('');
      };
      check();
      await store.root.close();
      store = await world.open();
      openAll();
      check();
    });

    it('iterates ranges in order, in both directions, with bounds and a limit', async () => {
      await store.root.transaction(() => {
        for (const number of [10, 9, 2, 100]) rows.putSync(['a', number], { text: `${number}`, numbers: [] });
        rows.putSync(['b', 1], { text: 'b', numbers: [] });
      });
      const range = { start: ['a', 9], end: ['b', 0] } as { start: [string, number]; end: [string, number] };
      expect([...rows.getKeys(range)]).toEqual([
        ['a', 9],
        ['a', 10],
        ['a', 100],
      ]);
      expect([...rows.getRange({ reverse: true, limit: 2 })].map(({ value }) => value.text)).toEqual([
        'b',
        '100',
      ]);
      expect(rows.getKeysCount(range)).toBe(3);
      expect(rows.getStats()).toMatchObject({ entryCount: 5 });
    });

    it('reads its own writes in a transaction, and removes', async () => {
      await counts.put('n', 1);
      const seen = await store.root.transaction(() => {
        counts.putSync('n', (counts.get('n') ?? 0) + 1);
        counts.putSync('m', 5);
        counts.removeSync('m');
        return [counts.get('n'), counts.get('m'), [...counts.getKeys()]];
      });
      expect(seen).toEqual([2, undefined, ['n']]);
      await counts.remove('n');
      expect(counts.get('n')).toBeUndefined();
      await counts.remove('n');
    });

    it('discards a child transaction that throws, and keeps all others', async () => {
      const [first, second, third] = await Promise.allSettled([
        store.root.childTransaction(() => counts.putSync('a', 1)),
        store.root.childTransaction(() => {
          counts.putSync('b', 1);
          counts.putSync('a', 9);
          throw new Error('no');
        }),
        store.root.childTransaction(() => counts.putSync('c', counts.get('a') ?? 0)),
      ]);
      expect([first?.status, second?.status, third?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect((second as PromiseRejectedResult).reason).toMatchObject({ message: 'no' });
      expect([...counts.getRange()].map(({ key, value }) => [key, value])).toEqual([
        ['a', 1],
        ['c', 1],
      ]);
    });

    it('runs concurrent transactions one after the other', async () => {
      const results = await Promise.all(
        Array.from({ length: 300 }, () =>
          store.root.transaction(() => {
            const next = (counts.get('n') ?? 0) + 1;
            counts.putSync('n', next);
            return next;
          }),
        ),
      );
      expect(results).toEqual(Array.from({ length: 300 }, (_, index) => index + 1));
      expect(counts.get('n')).toBe(300);
    });

    it('stores metadata of the owner, and migrates the layout first', async () => {
      store.upgrade(() => {
        if (store.meta.get('layout') === undefined) store.meta.putSync('layout', 2);
      });
      await store.ready();
      expect(store.meta.get('layout')).toBe(2);
      expect(store.meta.get('formatVersion')).toBe(1);
      expect(store.isCurrent()).toBe(true);
      store.requireCurrent();
    });
  });
}

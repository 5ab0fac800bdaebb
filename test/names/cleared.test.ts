/** Cleared matches: they belong to one account, are kept until deleted, and are found by the name in any letter case. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ClearedStore, openClearedStore } from '../../src/names/cleared.ts';
import type { LiveRoot } from '../../src/state/live-store.ts';
import { type LiveState, overLiveStates } from '../setup/live-state.ts';

overLiveStates((makeState) => {
  let folder = '';
  let state: LiveState;
  let store: ClearedStore;
  async function open(): Promise<ClearedStore> {
    const opened = openClearedStore(
      { path: join(folder, 'cleared.lmdb') },
      {
        clock: { now: () => Date.parse('2026-11-21T00:00:00Z'), monotonic: () => 0 },
        openStore: state.openStore,
      },
    );
    await state.ready();
    return opened;
  }
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'assay-cleared-'));
    state = makeState();
    store = await open();
  });
  afterEach(async () => {
    await store.close();
    await state.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const match = (name: string, entityId: string) => ({
    name,
    list: 'EU',
    entityId,
    entityName: 'X',
    entityVersion: 'v1',
    note: null,
  });

  it('finds the cleared matches of a name in any spelling, for one account only', async () => {
    await store.clear('a', match('José  García', '1'));
    await store.clear('a', match('Somebody Else', '1'));
    await store.clear('ab', match('José García', '2'));
    expect(store.of('a', ['JOSÉ GARCÍA'])[0]!.map((one) => one.entityId)).toEqual(['1']);
    expect(store.of('a', ['José García'.normalize('NFD')])[0]!).toHaveLength(1);
    expect(store.of('b', ['José García'])).toEqual([[]]);
    const ofEach = store.of('a', ['Nobody', 'somebody else', 'José García']);
    expect(ofEach.map((list) => list.map(({ name }) => name))).toEqual([
      [],
      ['Somebody Else'],
      ['José  García'],
    ]);
    expect(store.of('ab', ['José García'])[0]!.map((one) => one.entityId)).toEqual(['2']);
  });

  it('replaces a pair that is cleared again, and survives a restart', async () => {
    const first = await store.clear('a', match('A', '1'));
    const again = await store.clear('a', { ...match('A', '1'), entityVersion: 'v2', note: 'checked' });
    expect(again.id).toBe(first.id);
    await store.close();
    store = await open();
    expect(store.list('a', { limit: 10 })).toEqual({ cleared: [again], nextCursor: null });
  });

  it('counts all matches of an account once, not for each further one', async () => {
    await store.close();
    let counts = 0;
    store = openClearedStore(
      { path: join(folder, 'cleared.lmdb') },
      {
        clock: { now: () => Date.parse('2026-11-21T00:00:00Z'), monotonic: () => 0 },
        openStore: (...options) => {
          const live = state.openStore(...options);
          const { root } = live;
          const openDB: LiveRoot['openDB'] = (one) => {
            const database = root.openDB(one);
            const getKeysCount: typeof database.getKeysCount = (range) => {
              counts++;
              return database.getKeysCount(range);
            };
            return Object.assign(Object.create(database), { getKeysCount });
          };
          return { ...live, root: Object.assign(Object.create(root), { openDB }) };
        },
      },
    );
    await state.ready();
    for (let at = 0; at < 20; at++) await store.clear('a', match(`N${at}`, `${at}`));
    expect(counts).toBe(1);
  });

  it('lists page by page, and deletes only matches of the account', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 5; at++) ids.push((await store.clear('a', match(`N${at}`, `${at}`))).id);
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page = store.list('a', { limit: 2, ...(cursor === '' ? {} : { cursor }) });
      seen.push(...page.cleared.map((one) => one.id));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual([...ids].sort());
    const again = await store.clear('a', match('N1', 'other'));
    const first = store.list('a', { limit: 1, name: 'n1' });
    const second = store.list('a', { limit: 1, name: 'n1', cursor: first.nextCursor ?? '' });
    expect([...first.cleared, ...second.cleared].map((one) => one.id)).toEqual([ids[1], again.id].sort());
    expect(second.nextCursor).toBeNull();
    const foreign = { limit: 1, name: 'Another', cursor: first.nextCursor ?? '' };
    expect(() => store.list('a', foreign)).toThrow('cursor');
    for (const cursor of ['x', 'g'.repeat(32), `${first.nextCursor}0`, '../..'])
      expect(() => store.list('a', { limit: 1, cursor })).toThrow(
        'cursor: not a cursor returned by this endpoint.',
      );
    await expect(store.remove('b', ids[0] as string)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await store.remove('a', ids[0] as string);
    await expect(store.remove('a', ids[0] as string)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(store.of('a', ['N0'])).toEqual([[]]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { openAlertIndex } from '../../src/monitoring/alert-index.ts';
import { type AlertEntry, type AlertLists, openAlertLists } from '../../src/monitoring/alert-lists.ts';
import { ALERT_STATUSES, type Alert, SEVERITIES } from '../../src/monitoring/records.ts';
import { type EmbeddedStore, openLiveStore } from '../../src/state/live-store.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';

/** Beyond the second level of counts: 64 chunks of 512. */
const ENTRIES = 34_000;

const MATCHES = [null, 0, 1, 2, 3].flatMap((status) =>
  [null, 0, 1, 2, 3].map((severity) => ({ status, severity })),
);

describe('lists of alerts', () => {
  let folder: TempFolder;
  let live: EmbeddedStore;
  let lists: AlertLists;
  const model: AlertEntry[] = [];
  const next = seededUint32(7);

  beforeAll(() => {
    folder = memoryFolder();
    live = openLiveStore(`${folder.path}/lists.mdb`, 1, { maxDbs: 40 });
    lists = openAlertLists(live.root);
    live.root.transactionSync(() => {
      for (let position = 1; position <= ENTRIES; position++) {
        // The links ascend with gaps. Severity 3 is only in the first chunks, status 3 nowhere.
        const severity = position < 2_000 && next() % 9 === 0 ? 3 : next() % 3;
        model.push({ link: position * 3, status: next() % 3, severity });
        lists.put('a', position, model.at(-1) as AlertEntry);
        if (position < 600) lists.put('b', position, { link: position, status: 0, severity: 0 });
        // Changes of entries in open and complete chunks.
        const changed = 1 + (next() % position);
        const entry = { ...(model[changed - 1] as AlertEntry), status: next() % 3 };
        model[changed - 1] = entry;
        lists.put('a', changed, entry);
      }
    });
  });
  afterAll(async () => {
    await live.root.close();
    folder.remove();
  });

  it('count and find the matches of a list that was filled and changed', () => {
    for (const match of MATCHES)
      for (const entries of [0, 1, 511, 512, 513, 32_767, 32_768, 32_769, 33_300, ENTRIES]) {
        const positions = model.flatMap(({ status, severity }, at) =>
          at < entries &&
          (match.status === null || match.status === status) &&
          (match.severity === null || match.severity === severity)
            ? [at + 1]
            : [],
        );
        const context = `${JSON.stringify(match)} of ${entries}`;
        expect(lists.count('a', entries, match), context).toBe(positions.length);
        for (const nth of [positions.length, Math.floor(positions.length / 2), 3]) {
          const expected = positions.slice(Math.max(0, nth - 700), Math.min(nth, positions.length)).reverse();
          if (nth > positions.length) continue;
          const found = lists.matches('a', nth, 700, match);
          expect(
            found.map(({ position }) => position),
            context,
          ).toEqual(expected);
          expect(found.every(({ position, link }) => link === position * 3)).toBe(true);
        }
      }
  });

  it('find the last entry up to a link, and keep lists apart', () => {
    for (const [link, position] of [
      [0, 0],
      [2, 0],
      [3, 1],
      [4, 1],
      [3 * 512, 512],
      [3 * ENTRIES + 9, ENTRIES],
    ] as const)
      expect(lists.lastUpTo('a', link, ENTRIES)).toBe(position);
    expect(lists.get('b', 599)).toEqual({ link: 599, status: 0, severity: 0 });
    expect(lists.get('b', 600)).toBeNull();
    expect(lists.count('b', 599, { status: 0, severity: null })).toBe(599);
    expect(lists.count('c', 0, { status: 0, severity: null })).toBe(0);
    expect(lists.matches('c', 0, 10, { status: 0, severity: null })).toEqual([]);
  });

  it('are filled from the alerts of a store of before', async () => {
    const alerts = live.root.openDB<Alert, [string, number]>({ name: 'alerts', encoding: 'msgpack' });
    const sequences = live.root.openDB<number, [string, string]>({
      name: 'alertSequences',
      encoding: 'json',
    });
    const counts = live.root.openDB<number, string>({ name: 'alertCounts', encoding: 'json' });
    const oldChunks = live.root.openDB<Buffer, [string, number]>({ name: 'alertChunks', encoding: 'binary' });
    const oldWallets = live.root.openDB<number, [string, string]>({ name: 'alertWallets', encoding: 'json' });
    live.root.transactionSync(() => {
      for (let sequence = 1; sequence <= 700; sequence++) {
        const walletId = sequence % 3 === 0 ? 'w2' : 'w1';
        const id = sequence.toString(32).padStart(26, '0');
        const alert = {
          ...{ id, accountId: 'old', walletId, sequence },
          status: ALERT_STATUSES[sequence % 4],
          severity: SEVERITIES[sequence % 3],
        } as Alert;
        alerts.putSync(['old', sequence], alert);
        sequences.putSync(['old', id], sequence);
        counts.putSync('old', sequence);
        counts.putSync(`old/${walletId}`, (counts.get(`old/${walletId}`) ?? 0) + 1);
      }
      oldChunks.putSync(['old', 0], Buffer.alloc(4096));
      oldChunks.putSync(['old', 1], Buffer.alloc(188 * 8));
      oldWallets.putSync(['old', 'w1'], 1);
      oldWallets.putSync(['old', ''], 2);
    });
    const index = openAlertIndex(live.root);
    expect(() => index.page('old', {}, { limit: 3, offset: 0 })).toThrow('new layout');
    for (let run = 0; run < 2; run++) {
      live.root.transactionSync(() => index.upgrade());
      const found = index.page('old', { walletIds: ['w2'], status: 'NEW' }, { limit: 3, offset: 1 });
      expect(found.alerts.map(({ sequence }) => sequence)).toEqual([684, 672, 660]);
      expect(found.total).toBe(58);
      expect(index.page('old', { severity: 'HIGH' }, { limit: 2, offset: 0 }).total).toBe(233);
      expect(oldChunks.getKeysCount() + oldWallets.getKeysCount()).toBe(0);
    }
  });
});

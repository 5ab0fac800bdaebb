/** Stores on a full disk: writes fail with an error that says so, reads go on, and the process does not end. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { isLeaseLive, takeLease } from '../../src/state/file-lease.ts';
import { type EmbeddedStore, openLiveStore } from '../../src/state/live-store.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { refusedNow, type WriteRefusal } from '../../src/state/storage.ts';
import { watchStorage } from '../../src/state/storage-watch.ts';
import { type SmallDisk, smallDisk, smallDiskRefusal } from '../setup/small-disk.ts';
import { sleep } from '../support/wait.ts';

const LARGE = 'x'.repeat(200_000);

for (const kind of ['tmpfs', 'ext4'] as const) {
  const refusal = smallDiskRefusal(kind);
  describe.skipIf(refusal !== null)(
    `a store on a full ${kind}${refusal === null ? '' : ` (${refusal})`}`,
    () => {
      let disk: SmallDisk;
      const unhandled: unknown[] = [];
      const note = (reason: unknown): void => void unhandled.push(reason);
      const refused = (): readonly WriteRefusal[] =>
        refusedNow().filter(({ path }) => path.startsWith(disk.path));
      beforeEach(() => {
        disk = smallDisk(kind, 8);
        process.on('unhandledRejection', note);
      });
      afterEach(async () => {
        // Unhandled rejections are reported one turn later.
        await sleep(50);
        process.off('unhandledRejection', note);
        disk.remove();
        expect(unhandled.splice(0)).toEqual([]);
      });

      it('is not created, and leaves no partial file', async () => {
        const path = join(disk.path, 'a', 'a.mdb');
        disk.fill();
        expect(() => openLiveStore(path, 1)).toThrow(expect.objectContaining({ code: 'STORAGE_FULL' }));
        disk.free();
        const { root, meta } = openLiveStore(path, 1);
        expect(meta.get('formatVersion')).toBe(1);
        await root.close();
        expect(readdirSync(join(disk.path, 'a')).sort()).toEqual(['a.mdb', 'a.mdb-lock', 'a.mdb-sums']);
      });

      it('is created or refused, and the process goes on, however little room there is', async () => {
        const outcomes: string[] = [];
        for (let pages = 0; pages <= 12; pages++) {
          const path = join(disk.path, `${pages}.mdb`);
          disk.fill(pages * 4096);
          try {
            await openEnvironment(path, { maxDbs: 4, overlappingSync: false }).close();
            outcomes.push('created');
          } catch (error) {
            outcomes.push((error as AssayError).code);
            expect(existsSync(path)).toBe(false);
          }
          disk.free();
          const { root } = openLiveStore(path, 1);
          await root.close();
        }
        expect(new Set(outcomes)).toEqual(new Set(['STORAGE_FULL', 'created']));
      });

      it('has every page of its lock file, and takes as many readers as before', async () => {
        const path = join(disk.path, 'a.mdb');
        const { root } = openLiveStore(path, 1);
        const { size, blocks } = statSync(`${path}-lock`);
        expect(blocks * 512).toBeGreaterThanOrEqual(size);
        expect((root.getStats() as { maxReaders: number }).maxReaders).toBeGreaterThanOrEqual(126);
        await root.close();
      });

      it('is opened again on the full disk, with its databases, and read', async () => {
        const path = join(disk.path, 'a.mdb');
        const first = openLiveStore(path, 1);
        await first.root.openDB<number, string>({ name: 'b', encoding: 'json' }).put('k', 7);
        await first.root.close();
        disk.fill();
        const { root } = openLiveStore(path, 1);
        expect(root.openDB<number, string>({ name: 'b', encoding: 'json' }).get('k')).toBe(7);
        await root.close();
      });

      const writes: Readonly<Record<string, (store: EmbeddedStore) => Promise<unknown>>> = {
        'a transaction': ({ root, meta }) => root.transaction(() => meta.putSync('big', LARGE as never)),
        'a child transaction': ({ root, meta }) =>
          root.childTransaction(() => meta.putSync('big', LARGE as never)),
        'a synchronous transaction': async ({ root, meta }) =>
          root.transactionSync(() => meta.putSync('big', LARGE as never)),
        'a put': ({ meta }) => meta.put('big', LARGE as never),
        'a synchronous put': async ({ meta }) => meta.putSync('big', LARGE as never),
      };
      for (const [title, write] of Object.entries(writes))
        it(`refuses ${title} as STORAGE_FULL, reads on, and writes when there is room`, async () => {
          const path = join(disk.path, 'a.mdb');
          const store = openLiveStore(path, 1);
          await store.meta.put('small', 5);
          disk.fill();
          for (let attempt = 0; attempt < 3; attempt++)
            await expect(write(store)).rejects.toMatchObject({
              code: 'STORAGE_FULL',
              message: expect.stringContaining(path),
              retryAfterSeconds: expect.any(Number),
            });
          expect(refused().map((refusal) => refusal.path)).toEqual([path]);
          expect(store.meta.get('small')).toBe(5);
          expect(store.meta.get('big')).toBeUndefined();
          disk.free();
          await write(store);
          expect(store.meta.get('big')).toBe(LARGE);
          expect(refused()).toEqual([]);
          await store.root.close();
        });

      it('rejects a removal that needs new pages, and changes nothing', async () => {
        const { root, meta } = openLiveStore(join(disk.path, 'a.mdb'), 1);
        await root.transaction(() => {
          for (let number = 0; number < 2_000; number++) meta.putSync(`k${number}`, number);
        });
        disk.fill();
        await expect(
          root.transaction(() => {
            for (let number = 0; number < 2_000; number++) meta.putSync(`k${number}`, -number);
          }),
        ).rejects.toMatchObject({ code: 'STORAGE_FULL' });
        expect(meta.get('k1999')).toBe(1999);
        await root.close();
      });

      it('passes on an error of the callback unchanged', async () => {
        const { root } = openLiveStore(join(disk.path, 'a.mdb'), 1);
        disk.fill();
        const own = new Error('own');
        await expect(
          root.childTransaction(() => {
            throw own;
          }),
        ).rejects.toBe(own);
        disk.free();
        await root.close();
      });

      it('rejects a wait for the flush of writes that nothing else waits for', async () => {
        const root = openEnvironment(join(disk.path, 'a.lmdb'), { maxDbs: 2 });
        const db = root.openDB<string, string>({ name: 'b', encoding: 'string' });
        disk.fill();
        for (let number = 0; number < 300; number++) void db.put(`k${number}`, LARGE);
        await expect(Promise.resolve(root.flushed)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
        disk.free();
        // Writes queued earlier may fail with the first attempt.
        await expect.poll(() => db.put('k', 'v').then(Boolean, () => false)).toBe(true);
        await root.flushed;
        expect(db.get('k')).toBe('v');
        await root.close();
      });

      it('is reported as full before the first write, and as writable afterwards', async () => {
        const watch = watchStorage([disk.path], { log: silentLogger });
        await watch.look();
        expect(refused()).toEqual([]);
        disk.fill();
        await watch.look();
        expect(refused()).toMatchObject([{ path: disk.path, reason: expect.stringContaining('no space') }]);
        disk.free();
        await watch.look();
        expect(refused()).toEqual([]);
        await watch.stop();
        expect(readdirSync(disk.path).filter((name) => name.startsWith('.room'))).toEqual([]);
      });

      it('keeps an empty lease of this process, and removes one whose name does not say whose it is', () => {
        disk.fill();
        const path = join(disk.path, `${process.pid}-0-0`);
        const lease = takeLease(path);
        expect(isLeaseLive(path)).toBe(true);
        lease.release();
        expect(isLeaseLive(path)).toBe(false);
        expect(() => takeLease(join(disk.path, 'LOCK'))).toThrow('ENOSPC');
        expect(existsSync(join(disk.path, 'LOCK'))).toBe(false);
      });
    },
  );
}

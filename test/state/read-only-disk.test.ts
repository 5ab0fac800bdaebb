/** A file system that became read-only, as Linux mounts one in which it finds an error: writes are refused as on a full disk. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { diskFindings } from '../../src/app/doctor/machine.ts';
import { silentLogger } from '../../src/base/log.ts';
import { asStorageFull, noteRoom, refusedNow } from '../../src/state/storage.ts';
import { watchStorage } from '../../src/state/storage-watch.ts';
import { type SmallDisk, smallDisk, smallDiskRefusal } from '../setup/small-disk.ts';

it.each([
  ['of Node', Object.assign(new Error('EROFS: read-only file system, open'), { code: 'EROFS' })],
  ['of LMDB', Object.assign(new Error('Read-only file system: Attempting to write page'), { code: 30 })],
  ['of LMDB without a number', new Error('Read-only file system')],
])('an error %s says that the file system is read-only, and what to do', (_, cause) => {
  expect(asStorageFull(cause, '/data/a.mdb')).toMatchObject({
    code: 'STORAGE_FULL',
    message: expect.stringMatching(
      /^\/data\/a\.mdb cannot be written: its file system is read-only\. .*mount it/,
    ),
  });
});

const ext4Refusal = smallDiskRefusal('ext4');
describe.skipIf(ext4Refusal !== null)(
  `a file system in which an error was found${ext4Refusal === null ? '' : ` (${ext4Refusal})`}`,
  () => {
    it('is detected by a test write, although it reports free space', async () => {
      const disk = smallDisk('ext4', 8);
      const watch = watchStorage([disk.path], { log: silentLogger }, { trialMs: 0 });
      try {
        await watch.look();
        expect(refusedNow()).toEqual([]);
        disk.fail();
        await watch.look();
        expect(refusedNow()[0]?.reason).toMatch(/its file system is read-only|the device failed/);
        expect(diskFindings(disk.path, 'ASSAY_DATA_DIR')).toMatchObject([
          {
            state: 'problem',
            text: expect.stringMatching(/^ASSAY_DATA_DIR: .* cannot be written: .*(?:read-only|failed)\.$/),
            advice: expect.stringContaining('existing data is unchanged'),
          },
        ]);
      } finally {
        await watch.stop();
        noteRoom(disk.path);
        disk.remove();
      }
    });
  },
);

const refusal = smallDiskRefusal('tmpfs');
describe.skipIf(refusal !== null)(`a read-only file system${refusal === null ? '' : ` (${refusal})`}`, () => {
  let disk: SmallDisk;
  beforeEach(() => {
    disk = smallDisk('tmpfs', 8);
  });
  afterEach(() => disk.remove());

  it('is detected without a request, and so is its end', async () => {
    const watch = watchStorage([disk.path], { log: silentLogger });
    const refused = async (): Promise<readonly string[]> => {
      await watch.look();
      return refusedNow().map(({ path }) => path);
    };
    expect(await refused()).toEqual([]);
    disk.setReadOnly(true);
    expect(await refused()).toEqual([disk.path]);
    expect(refusedNow()[0]?.reason).toContain('read-only');
    disk.setReadOnly(false);
    expect(await refused()).toEqual([]);
    await watch.stop();
  });
});

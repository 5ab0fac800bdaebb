/** The log as static files in a folder and an object store, and its audits: tampered tiles, forks and rollbacks. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { AssayError } from '../../../src/base/errors.ts';
import { auditCheckpoints, verifyLog } from '../../../src/receipts/log/audit.ts';
import { parseCheckpoint } from '../../../src/receipts/log/checkpoint.ts';
import { tilesOf } from '../../../src/receipts/log/continuity.ts';
import type { ReceiptLog } from '../../../src/receipts/log/log.ts';
import {
  CHECKPOINT,
  folderSource,
  folderTarget,
  type LogTarget,
  s3Target,
  tilesIn,
} from '../../../src/receipts/log/places.ts';
import { LogPublisher } from '../../../src/receipts/log/publish.ts';
import type { TileName } from '../../../src/receipts/log/tiles.ts';
import { openS3 } from '../../../src/replication/s3/client.ts';
import { type TempFolder, tempFolder } from '../../accounts/temp-folder.ts';
import { S3_KEY, type S3Server, startS3Server } from '../../setup/s3-server.ts';
import { entriesOf, type OpenedLog, openLog } from './world.ts';

const signal = new AbortController().signal;

let s3: S3Server;
beforeAll(async () => {
  s3 = await startS3Server('assay-log');
});
afterAll(() => s3.close());

describe('the published log', () => {
  let folder: TempFolder;
  let opened: OpenedLog;
  let site: string;

  beforeEach(async () => {
    folder = tempFolder();
    site = join(folder.path, 'site');
    mkdirSync(join(folder.path, 'state'));
    opened = await openLog(join(folder.path, 'state'), { checkpointMs: 0 });
  });
  afterEach(async () => {
    await opened.close();
    folder.remove();
  });

  const append = (from: number, to: number) => opened.log.append(entriesOf(from, to));
  const checkpointAt = (place = site) => parseCheckpoint(readFileSync(join(place, CHECKPOINT), 'utf8'));
  const verified = (place = site) => verifyLog(checkpointAt(place), tilesIn(folderSource(place)));

  it('is intact after each round, and has files only for new tiles', async () => {
    const target = folderTarget(site);
    const written: string[] = [];
    const publisher = new LogPublisher(opened.log, {
      ...target,
      async write(path, bytes) {
        written.push(path);
        await target.write(path, bytes);
      },
    });
    await append(0, 70);
    await publisher.publish(signal);
    expect(await verified()).toMatchObject({ size: 70, faults: [] });
    await append(70, 600);
    written.length = 0;
    await publisher.publish(signal);
    expect(await verified()).toMatchObject({ size: 600, faults: [] });
    expect(written.toSorted()).toEqual(
      [
        ...['000', '001', '002.p/88'].flatMap((index) => [`tile/0/${index}`, `tile/entries/${index}`]),
        'tile/1/000.p/2',
        CHECKPOINT,
      ].toSorted(),
    );
    expect(written.at(-1)).toBe(CHECKPOINT);
    written.length = 0;
    await publisher.publish(signal);
    expect(written).toEqual([]);
  });

  it('is read from an object store, where it continues after a restart', async () => {
    const client = openS3(
      {
        bucket: 'assay-log',
        prefix: 'log',
        endpoint: s3.endpoint,
        region: S3_KEY.region,
        credentials: { accessKeyId: S3_KEY.id, secretAccessKey: S3_KEY.secret, sessionToken: null },
      },
      { clock: systemClock },
    );
    const target: LogTarget = s3Target(client);
    await append(0, 300);
    await new LogPublisher(opened.log, target).publish(signal);
    await append(300, 310);
    s3.requests.length = 0;
    await new LogPublisher(opened.log, target).publish(signal);
    expect(s3.requests.filter((line) => line.startsWith('PUT')).length).toBe(3);
    const text = (await target.read(CHECKPOINT))?.toString() ?? '';
    expect(await verifyLog(parseCheckpoint(text), tilesIn(target))).toMatchObject({ size: 310, faults: [] });
    s3.fault = () => ({ status: 503 });
    await append(310, 311);
    await expect(new LogPublisher(opened.log, target).publish(signal)).rejects.toMatchObject({
      code: 'SOURCE_UNAVAILABLE',
    });
    s3.fault = null;
    await target.close();
  });

  it.each([
    ['a leaf hash', 'tile/0/000', 5, 'tile/0/000: hash 0 is not the hash of its entry'],
    ['a hash of the last, partial tile', 'tile/0/002.p/88', 90, 'tile/0/002.p/88: hash 2 is not'],
    [
      'a hash of the level above',
      'tile/1/000.p/2',
      40,
      'tile/1/000.p/2: hash 1 is not the hash of the tile below',
    ],
    ['an entry', 'tile/entries/001', 40, 'tile/0/001: hash 1 is not the hash of its entry'],
    ['the length of an entry', 'tile/entries/001', 1, 'tile/entries/001: '],
  ])('shows that %s was changed', async (_, path, at, sentence) => {
    await append(0, 600);
    await new LogPublisher(opened.log, folderTarget(site)).publish(signal);
    const file = join(site, path);
    const bytes = readFileSync(file);
    bytes[at] = (bytes[at] as number) ^ 1;
    writeFileSync(file, bytes);
    const { faults } = await verified();
    expect(faults.join('\n')).toContain(sentence);
  });

  it('shows that a tile is too short, wherever its bytes come from', async () => {
    await append(0, 600);
    const own = tilesOf(opened.store);
    const shortened = async (name: TileName): Promise<Uint8Array> => {
      const tile = await own(name);
      // A copy: nothing is behind its end.
      return name.level === 0 && name.index === 1 ? Uint8Array.from(tile.subarray(0, 70)) : tile;
    };
    await new LogPublisher(opened.log, folderTarget(site)).publish(signal);
    const { faults } = await verifyLog(checkpointAt(), shortened);
    expect(faults).toContain('tile/0/001: hash 2 is not the hash of its entry.');
  });

  it('shows a missing tile, and accepts the full tile in place of a partial one', async () => {
    await append(0, 600);
    await new LogPublisher(opened.log, folderTarget(site)).publish(signal);
    const older = checkpointAt();
    await append(600, 800);
    await new LogPublisher(opened.log, folderTarget(site)).publish(signal);
    rmSync(join(site, 'tile/0/002.p'), { recursive: true });
    rmSync(join(site, 'tile/entries/002.p'), { recursive: true });
    expect((await verifyLog(older, tilesIn(folderSource(site)))).faults).toEqual([]);
    rmSync(join(site, 'tile/entries/001'));
    expect((await verified()).faults[0]).toContain('tile/entries/001: is missing');
  });

  it('detects a fork, a rollback, and tiles of another log', async () => {
    await append(0, 300);
    await new LogPublisher(opened.log, folderTarget(site)).publish(signal);
    const first = checkpointAt();
    await opened.close();
    cpSync(join(folder.path, 'state'), join(folder.path, 'copy'), { recursive: true });
    opened = await openLog(join(folder.path, 'state'), { checkpointMs: 0 });
    await append(300, 700);
    await new LogPublisher(opened.log, folderTarget(site)).publish(signal);
    const second = checkpointAt();
    const copy = await openLog(join(folder.path, 'copy'), { checkpointMs: 0 });
    await copy.log.append(entriesOf(1_000, 1_500));
    const forked = parseCheckpoint(copy.log.checkpoint());
    const own = tilesOf(opened.store);
    const other = tilesOf(copy.store);
    expect(await auditCheckpoints(first, second, own)).toBe('consistent');
    expect(await auditCheckpoints(first, forked, other)).toBe('consistent');
    expect(await auditCheckpoints(second, first, own)).toBe('rollback');
    expect(await auditCheckpoints(second, forked, other)).toBe('fork');
    expect(await auditCheckpoints(second, { ...second, root: first.root }, own)).toBe('fork');
    const mixed = { ...forked, size: 700 };
    await expect(auditCheckpoints(first, mixed, own)).rejects.toThrow('do not give its root hash');
    await expect(auditCheckpoints({ ...first, origin: 'x' }, second, own)).rejects.toThrow('of two logs');
    // The copy is not published over the log: its installation was restored, or copied.
    await expect(new LogPublisher(copy.log, folderTarget(site)).publish(signal)).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
    });
    expect(checkpointAt()).toMatchObject({ size: 700 });
    await copy.close();
  });

  it('halts a log that was restored from an older backup', async () => {
    await append(0, 300);
    await opened.close();
    cpSync(join(folder.path, 'state'), join(folder.path, 'copy'), { recursive: true });
    opened = await openLog(join(folder.path, 'state'), { checkpointMs: 0 });
    await append(300, 700);
    await new LogPublisher(opened.log, folderTarget(site)).publish(signal);
    const copy = await openLog(join(folder.path, 'copy'), { checkpointMs: 0 });
    const { log, store } = copy;
    const sentence = 'has a checkpoint of 700 entries that the log of this installation does not continue';
    await expect(new LogPublisher(log, folderTarget(site)).audit(signal)).rejects.toThrow(sentence);
    expect(log.problem()).toMatchObject({ reason: expect.stringContaining(sentence) });
    const refused = { code: 'NOT_READY', message: expect.stringContaining(sentence) };
    expect(() => log.checkpoint()).toThrow(sentence);
    await expect(log.proof('receipt-1')).rejects.toMatchObject(refused);
    await expect(log.append(entriesOf(900, 901))).rejects.toMatchObject(refused);
    await copy.log.close();
    expect([store.size(), parseCheckpoint(store.checkpoint() ?? '').size]).toEqual([300, 300]);
    await store.close();
  });

  it('does not halt a log that catches up with the place, as a replica does', async () => {
    await append(0, 300);
    const findings = ['rollback', 'consistent'] as const;
    let asked = 0;
    const log: ReceiptLog = Object.create(opened.log, {
      verifier: { value: opened.log.verifier },
      checkpoint: { value: () => opened.log.checkpoint() },
      tile: { value: (name: TileName) => opened.log.tile(name) },
      audit: { value: async () => findings[asked++] },
    });
    await new LogPublisher(opened.log, folderTarget(site)).publish(signal);
    await new LogPublisher(log, folderTarget(site)).publish(signal);
    expect([asked, opened.log.problem()]).toEqual([2, null]);
  });

  it('is not continued behind an empty or foreign checkpoint', async () => {
    await append(0, 3);
    await new LogPublisher(opened.log, folderTarget(site)).publish(signal);
    const written = readFileSync(join(site, CHECKPOINT));
    for (const text of ['', 'x', written.toString().replace(/\n3\n/, '\n4\n')]) {
      writeFileSync(join(site, CHECKPOINT), text);
      await expect(
        new LogPublisher(opened.log, folderTarget(site)).publish(signal),
        JSON.stringify(text.slice(0, 9)),
      ).rejects.toMatchObject({ code: 'INVALID_FILE' });
      expect(readFileSync(join(site, CHECKPOINT), 'utf8')).toBe(text);
    }
  });

  it('has at most a hundred faults in a report, and counts all its tiles', async () => {
    await append(0, 2);
    const checkpoint = parseCheckpoint(opened.log.checkpoint());
    const reportOf = (bundles: number) =>
      verifyLog({ ...checkpoint, size: bundles * 256 }, async () => {
        throw new AssayError('INVALID_FILE', 'a tile is missing.');
      });
    const [few, many] = [await reportOf(30), await reportOf(120)];
    expect(few.faults.length).toBeLessThan(100);
    expect([many.faults.length, many.tiles > 240]).toEqual([100, true]);
  });

  it('writes its checkpoint again after a late write of an earlier publisher, within 10 s', async () => {
    let nowMs = 0;
    let reads = 0;
    const folderOfSite = folderTarget(site);
    const target: LogTarget = {
      ...folderOfSite,
      read(path) {
        reads += 1;
        return folderOfSite.read(path);
      },
    };
    const publisher = new LogPublisher(opened.log, target, { monotonic: () => nowMs });
    await append(0, 300);
    await publisher.publish(signal);
    const late = readFileSync(join(site, CHECKPOINT));
    await append(300, 700);
    await publisher.publish(signal);
    await target.write(CHECKPOINT, late);
    nowMs = 9_999;
    await publisher.publish(signal);
    expect([checkpointAt().size, reads]).toEqual([300, 1]);
    nowMs = 10_000;
    await publisher.publish(signal);
    expect([reads, await verified()]).toMatchObject([2, { size: 700, faults: [] }]);
    rmSync(join(site, CHECKPOINT));
    nowMs = 20_000;
    await publisher.publish(signal);
    expect(checkpointAt().size).toBe(700);
  });
});

import { spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projectRoot } from '../../../src/base/paths.ts';
import { seededUint32 } from '../../../src/base/random.ts';
import { currentSnapshot } from '../../../src/labels/index/folder.ts';
import { verifySnapshot } from '../../../src/labels/index/verify.ts';
import { build, key, template, temporaryFolder, writeSegment } from './world.ts';

/** At moments all over a build, which takes half a second; `npm run test:long` kills more often. */
const KILLS = process.env.ASSAY_TEST_LONG === '1' ? 12 : 6;

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

const built = (...parts: string[]): string => pathToFileURL(join(projectRoot, 'dist', 'src', ...parts)).href;

/** Starts a child process that builds repeatedly, and kills it after `afterMs` milliseconds. */
function buildAndKill(segment: string, root: string, afterMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [
        fileURLToPath(new URL('./crash-build.mjs', import.meta.url)),
        segment,
        root,
        built('labels', 'index', 'build.js'),
        built('base', 'clock.js'),
        built('base', 'log.js'),
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    child.stdout.once('data', () => setTimeout(() => child.kill('SIGKILL'), afterMs));
    child.on('exit', (code, signal) =>
      signal === 'SIGKILL' ? resolve() : reject(new Error(`the builder ended with ${code}`)),
    );
  });
}

describe('a build that is killed', () => {
  it('leaves a complete snapshot in force, and the next build cleans up', async () => {
    const root = join(folder.path, 'snapshots');
    const first = join(folder.path, 'first');
    const second = join(folder.path, 'second');
    const rows = (name: string, count: number) =>
      Array.from({ length: count }, (_, number) => ({
        key: key(number),
        template: template(`${name} ${number % 9}`),
      }));
    await writeSegment(first, rows('First', 2000));
    await writeSegment(second, rows('Second', 60_000));
    const old = await build(root, [first]);
    const next = seededUint32(7);
    let fresh: string | null = null;
    for (let round = 0; round < KILLS; round++) {
      await buildAndKill(second, root, next() % 600);
      const path = currentSnapshot(root) as string;
      const report = await verifySnapshot(path);
      expect(report.faults).toEqual([]);
      if (report.dataVersion !== old.dataVersion) fresh ??= report.dataVersion;
      expect([old.dataVersion, fresh]).toContain(report.dataVersion);
    }
    const last = await build(root, [first]);
    expect(last.dataVersion).toBe(old.dataVersion);
    expect(readdirSync(root).filter((name) => !name.startsWith('snapshot-'))).toEqual(['CURRENT']);
    expect(readdirSync(root)).toHaveLength(2);
  });

  it('is distinguished from one that still runs', async () => {
    const root = join(folder.path, 'snapshots');
    const segment = join(folder.path, 'one');
    await writeSegment(segment, [{ key: key(1), template: template('A') }]);
    await build(root, [segment]);
    // A lock of a process that ended long ago, and an empty lock of a process that died before it wrote its id.
    for (const text of ['999999999 1', '']) {
      writeFileSync(join(root, 'build.lock'), text);
      await build(root, [segment]);
    }
    const both = await Promise.allSettled([build(root, [segment]), build(root, [segment])]);
    expect(both.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(both.find((result) => result.status === 'rejected')).toMatchObject({
      reason: { code: 'STORE_BUSY' },
    });
  });
});

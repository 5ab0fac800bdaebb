/** The transparency log of a server that was started as an operator does it: its identity, its publication, and its audit. */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../src/base/random.ts';
import { parseCheckpoint } from '../../src/receipts/log/checkpoint.ts';
import { folderTarget } from '../../src/receipts/log/places.ts';
import { LogPublisher } from '../../src/receipts/log/publish.ts';
import { installationKeyPath, openEncryption } from '../../src/state/encryption.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { runCommand } from '../cli/run-command.ts';
import { entriesOf, ORIGIN, openLog } from '../receipts/log/world.ts';
import { prepareFolder } from '../setup/prepared-folder.ts';
import { until } from '../support/wait.ts';
import { newWorld } from './program.ts';

describe('the transparency log of a server', () => {
  const world = newWorld();
  let folder: TempFolder;
  /** The folder of state after the first start, without entries: each test takes a copy. */
  let first: string;
  let served: string;
  beforeAll(() => {
    folder = tempFolder();
    first = join(folder.path, 'first');
  });
  afterAll(async () => {
    await world.end();
    folder.remove();
  });

  let copies = 0;
  function copyOfFirst(): string {
    const copy = join(folder.path, `copy-${copies++}`);
    cpSync(first, copy, { recursive: true });
    return copy;
  }

  it('is created at the first start, published, audited over HTTP, and keeps its origin', async () => {
    const site = join(folder.path, 'site');
    const seen = join(folder.path, 'seen');
    const store = join(folder.path, 'store');
    prepareFolder(store);
    const environment = { ASSAY_DATA_DIR: store, ASSAY_LOG_ORIGIN: ORIGIN, ASSAY_LOG_PUBLISH: site };
    const run = (...args: readonly string[]) => runCommand(store, args, environment);
    const server = await world.serve(environment);
    served = await (await fetch(`${server.url}/log/checkpoint`)).text();
    expect(parseCheckpoint(served)).toMatchObject({ origin: ORIGIN, size: 0 });
    await until(() => existsSync(join(site, 'checkpoint')));
    expect(readFileSync(join(site, 'checkpoint'), 'utf8')).toBe(served);
    const key = (await run('log', 'key')).out.trim();
    expect(key).toMatch(/^log\.example\/assay\+[0-9a-f]{8}\+/);
    for (const place of [`${server.url}/log`, site]) {
      const audit = await run('log', 'audit', seen, place, '--key', key, '--remember');
      expect(audit, audit.err).toMatchObject({ code: 0 });
      expect(await run('log', 'verify', place, '--key', key)).toMatchObject({ code: 0 });
    }
    expect(await run('log', 'verify')).toMatchObject({ code: 0 });
    const record = readFileSync(join(store, 'installation.json'), 'utf8');
    expect(JSON.parse(record).stores).toContainEqual(expect.objectContaining({ path: 'log.mdb' }));
    const copy = join(folder.path, 'copy');
    expect(await run('backup', copy)).toMatchObject({ code: 0 });
    expect(existsSync(join(copy, 'log.mdb'))).toBe(true);
    await server.stop();
    cpSync(store, first, { recursive: true });
    const again = await world.serve({ ...environment, ASSAY_LOG_ORIGIN: '' });
    expect(await (await fetch(`${again.url}/log/checkpoint`)).text()).toBe(served);
    await again.stop();
    await expect(world.serve({ ...environment, ASSAY_LOG_ORIGIN: 'other.example' })).rejects.toThrow(
      'ASSAY_LOG_ORIGIN',
    );
  });

  it('is halted before it is served, if it was restored from a backup older than its publication', async () => {
    const site = join(folder.path, 'newer-site');
    const store = copyOfFirst();
    const key = openEncryption({ path: installationKeyPath(store) }, { random: systemRandom });
    const newer = await openLog(store, { key, checkpointMs: 0 });
    await newer.log.append(entriesOf(0, 10));
    await new LogPublisher(newer.log, folderTarget(site)).publish(new AbortController().signal);
    await newer.close();
    const server = await world.serve({
      ASSAY_DATA_DIR: copyOfFirst(),
      ASSAY_LOG_ORIGIN: ORIGIN,
      ASSAY_LOG_PUBLISH: site,
    });
    const ready = await fetch(`${server.url}/ready`);
    expect(await ready.json()).toMatchObject({
      data: {
        degraded: [
          {
            kind: 'TRANSPARENCY_LOG',
            reason: expect.stringContaining(
              'has a checkpoint of 10 entries that the log of this installation',
            ),
          },
        ],
      },
    });
    expect((await fetch(`${server.url}/log/checkpoint`)).status).toBe(500);
    await server.stop();
  });

  it('is served although its place cannot be read', async () => {
    const site = join(folder.path, 'broken-site');
    mkdirSync(join(site, 'checkpoint'), { recursive: true });
    const server = await world.serve({
      ASSAY_DATA_DIR: copyOfFirst(),
      ASSAY_LOG_ORIGIN: ORIGIN,
      ASSAY_LOG_PUBLISH: site,
    });
    expect((await fetch(`${server.url}/log/checkpoint`)).status).toBe(200);
    await server.stop();
  });

  it('is served by a node with another installation.key', async () => {
    const store = copyOfFirst();
    writeFileSync(installationKeyPath(store), Buffer.alloc(32, 5));
    const server = await world.serve({ ASSAY_DATA_DIR: store, ASSAY_LOG_ORIGIN: ORIGIN });
    expect(await (await fetch(`${server.url}/log/checkpoint`)).text()).toBe(served);
    const ready = (await (await fetch(`${server.url}/ready`)).json()) as {
      data: { degraded: { kind: string }[] };
    };
    expect(ready.data.degraded.map(({ kind }) => kind)).toContain('TRANSPARENCY_LOG');
    await server.stop();
  });
});

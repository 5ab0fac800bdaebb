/** The transparency log of a server that was started as an operator does it: its identity, its publication, and its audit. */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemRandom } from '../../src/base/random.ts';
import { parseCheckpoint } from '../../src/receipts/log/checkpoint.ts';
import { folderTarget } from '../../src/receipts/log/places.ts';
import { LogPublisher } from '../../src/receipts/log/publish.ts';
import { installationKeyPath, openEncryption } from '../../src/state/encryption.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { entriesOf, ORIGIN, openLog } from '../receipts/log/world.ts';
import { until } from '../support/wait.ts';
import { newWorld, type World } from './program.ts';

describe('the transparency log of a server', () => {
  let world: World;
  let folder: TempFolder;
  beforeEach(() => {
    world = newWorld();
    folder = tempFolder();
  });
  afterEach(async () => {
    await world.end();
    folder.remove();
  });

  it('is created at the first start, published, audited over HTTP, and keeps its origin', async () => {
    const site = join(folder.path, 'site');
    const seen = join(folder.path, 'seen');
    const environment = {
      ASSAY_DATA_DIR: join(folder.path, 'store'),
      ASSAY_LOG_ORIGIN: 'log.example/assay',
      ASSAY_LOG_PUBLISH: site,
    };
    const server = await world.serve(environment);
    const served = await (await fetch(`${server.url}/log/checkpoint`)).text();
    expect(parseCheckpoint(served)).toMatchObject({ origin: 'log.example/assay', size: 0 });
    await until(() => existsSync(join(site, 'checkpoint')));
    expect(readFileSync(join(site, 'checkpoint'), 'utf8')).toBe(served);
    const key = (await world.run(['log', 'key'], { environment })).out.trim();
    expect(key).toMatch(/^log\.example\/assay\+[0-9a-f]{8}\+/);
    for (const place of [`${server.url}/log`, site]) {
      const audit = await world.run(['log', 'audit', seen, place, '--key', key, '--remember'], {
        environment,
      });
      expect(audit, audit.err).toMatchObject({ code: 0 });
      expect(await world.run(['log', 'verify', place, '--key', key], { environment })).toMatchObject({
        code: 0,
      });
    }
    expect(await world.run(['log', 'verify'], { environment })).toMatchObject({ code: 0 });
    const record = readFileSync(join(folder.path, 'store', 'installation.json'), 'utf8');
    expect(JSON.parse(record).stores).toContainEqual(expect.objectContaining({ path: 'log.mdb' }));
    const copy = join(folder.path, 'copy');
    expect(await world.run(['backup', copy], { environment })).toMatchObject({ code: 0 });
    expect(existsSync(join(copy, 'log.mdb'))).toBe(true);
    await server.stop();
    const again = await world.serve({ ...environment, ASSAY_LOG_ORIGIN: '' });
    expect(await (await fetch(`${again.url}/log/checkpoint`)).text()).toBe(served);
    await again.stop();
    await expect(world.serve({ ...environment, ASSAY_LOG_ORIGIN: 'other.example' })).rejects.toThrow(
      'ASSAY_LOG_ORIGIN',
    );
  });

  it('is halted before it is served, if it was restored from a backup older than its publication', async () => {
    const site = join(folder.path, 'site');
    const store = join(folder.path, 'store');
    const copy = join(folder.path, 'copy');
    const environment = { ASSAY_LOG_ORIGIN: ORIGIN, ASSAY_LOG_PUBLISH: site };
    await (await world.serve({ ...environment, ASSAY_DATA_DIR: store })).stop();
    cpSync(store, copy, { recursive: true });
    const key = openEncryption({ path: installationKeyPath(store) }, { random: systemRandom });
    const newer = await openLog(store, { key, checkpointMs: 0 });
    await newer.log.append(entriesOf(0, 10));
    await new LogPublisher(newer.log, folderTarget(site)).publish(new AbortController().signal);
    await newer.close();
    const server = await world.serve({ ...environment, ASSAY_DATA_DIR: copy });
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
    const site = join(folder.path, 'site');
    mkdirSync(join(site, 'checkpoint'), { recursive: true });
    const server = await world.serve({ ASSAY_LOG_ORIGIN: ORIGIN, ASSAY_LOG_PUBLISH: site });
    expect((await fetch(`${server.url}/log/checkpoint`)).status).toBe(200);
    await server.stop();
  });

  it('is served by a node with another installation.key', async () => {
    const store = join(folder.path, 'store');
    const environment = { ASSAY_DATA_DIR: store, ASSAY_LOG_ORIGIN: ORIGIN };
    const first = await world.serve(environment);
    const served = await (await fetch(`${first.url}/log/checkpoint`)).text();
    await first.stop();
    writeFileSync(installationKeyPath(store), Buffer.alloc(32, 5));
    const server = await world.serve(environment);
    expect(await (await fetch(`${server.url}/log/checkpoint`)).text()).toBe(served);
    const ready = (await (await fetch(`${server.url}/ready`)).json()) as {
      data: { degraded: { kind: string }[] };
    };
    expect(ready.data.degraded.map(({ kind }) => kind)).toContain('TRANSPARENCY_LOG');
    await server.stop();
  });
});

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { refreshRegister } from '../../src/registers/import.ts';
import { openRegisterStore } from '../../src/registers/store.ts';
import { esma } from '../../src/sources/esma/source.ts';
import { readJson, writeJsonAtomically } from '../../src/state/atomic-file.ts';
import { type ListServer, serve, startListServer, status } from '../setup/list-server.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { FINCEN_SAMPLE } from '../sources/fincen/sample.ts';
import { type CaspRow, caspFile, clock, openRegisterWorld, type RegisterWorld } from './world.ts';

let world: RegisterWorld;
beforeEach(() => {
  world = openRegisterWorld();
});
afterEach(() => world.close());

const firms = (count: number): CaspRow[] =>
  Array.from({ length: count }, (_, index) => ({
    name: `Firm ${index} AG`,
    site: `https://firm${index}.example`,
  }));

describe('importing registers', () => {
  it('the same file twice changes nothing on disk', async () => {
    const path = world.write('CASP20260101.csv', caspFile(firms(3)));
    expect(await world.load('esma', [path])).toMatchObject([{ status: 'imported', records: 3, inForce: 3 }]);
    const before = world.store.stamp();
    expect(await world.load('esma', [path])).toMatchObject([{ status: 'unchanged', inForce: 3 }]);
    expect(world.store.stamp()).toBe(before);
  });

  it('a file that would remove more than half is rejected unless it is forced', async () => {
    await world.load('esma', [world.write('CASP20261101.csv', caspFile(firms(20)))]);
    const cut = world.write('CASP20261102.csv', caspFile(firms(9)));
    await expect(world.load('esma', [cut])).rejects.toMatchObject({ code: 'IMPLAUSIBLE_LIST' });
    expect(world.statuses.answer('Firm 15', undefined).registrations[0]?.status).toBe('AUTHORISED');
    expect(await world.load('esma', [cut], { force: true })).toMatchObject([{ inForce: 9, withdrawn: 11 }]);
  });

  it('an older file may have fewer firms, and removes none', async () => {
    await world.load('esma', [world.write('CASP20260102.csv', caspFile(firms(20)))]);
    const older = world.write('CASP20260101.csv', caspFile(firms(2)));
    expect(await world.load('esma', [older])).toMatchObject([{ status: 'imported', inForce: 20 }]);
  });

  it('a file without a day is rejected with the option that gives it', async () => {
    const path = world.write('list.txt', FINCEN_SAMPLE);
    await expect(world.load('fincen', [path])).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('--published'),
    });
    await expect(world.load('fincen', [path], { published: 'soon' })).rejects.toMatchObject({
      field: 'published',
    });
    expect(await world.load('fincen', [path], { published: '2026-02-01' })).toMatchObject([
      { register: 'us-fincen-msb', asOf: '2026-02-01', records: 3 },
    ]);
    const kraken = world.statuses.answer('kraken', 'US');
    expect(kraken.registrations.filter(({ source }) => source !== 'shipped')).toMatchObject([
      { register: 'us-fincen-msb', legalName: 'PAYWARD VENTURES, INC.', verified: true, asOf: '2026-02-01' },
    ]);
  });

  it('rejects a day in the future, of the option and of the name of a file', async () => {
    const fincen = world.write('list.txt', FINCEN_SAMPLE);
    await expect(world.load('fincen', [fincen], { published: '2031-02-01' })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      field: 'published',
    });
    await expect(
      world.load('esma', [world.write('CASP20310101.csv', caspFile(firms(3)))]),
    ).rejects.toMatchObject({ code: 'INVALID_FILE', field: 'published' });
    expect(world.store.catalogue().registers).toEqual([]);
  });

  it('a file that was imported before is the whole register from its import with that statement on', async () => {
    const header = 'register,jurisdiction,authority,legal_name,status,registered_as\n';
    const row = (name: string) => `xx-own,HK,Authority,${name},AUTHORISED,Licence\n`;
    await world.load('registers', [world.write('own-2026-01-01.csv', `${header}${row('A')}${row('B')}`)]);
    const later = world.write('own-2026-02-01.csv', `${header}${row('A')}`);
    expect(await world.load('registers', [later])).toMatchObject([{ inForce: 2, withdrawn: 0 }]);
    expect(await world.load('registers', [later], { whole: true })).toMatchObject([
      { status: 'imported', inForce: 1, withdrawn: 1 },
    ]);
    for (const whole of [true, false])
      expect(await world.load('registers', [later], { whole })).toMatchObject([
        { status: 'unchanged', inForce: 1, withdrawn: 1 },
      ]);
    expect(world.store.state('xx-own', 'registers').files).toHaveLength(2);
  });

  it('several files are imported together or not at all', async () => {
    const good = world.write('CASP20260101.csv', caspFile(firms(3)));
    const bad = world.write('CASP20260102.csv', 'nothing of the kind\n');
    await expect(world.load('esma', [good, bad])).rejects.toMatchObject({ code: 'INVALID_FILE' });
    expect(world.store.catalogue().registers).toEqual([]);
  });

  it('a store of another format is rejected and unchanged', async () => {
    await world.load('esma', [world.write('CASP20260101.csv', caspFile(firms(3)))]);
    const path = join(world.store.folder, 'catalogue.json');
    writeJsonAtomically(path, { ...(readJson(path) as object), format: 9 });
    const other = readFileSync(path, 'utf8');
    const store = openRegisterStore({ dataDir: world.folder });
    expect(() => store.catalogue()).toThrowError(expect.objectContaining({ code: 'STORE_VERSION' }));
    await expect(
      world.load('esma', [world.write('CASP20260102.csv', caspFile(firms(4)))]),
    ).rejects.toMatchObject({
      code: 'STORE_VERSION',
    });
    await expect(world.statuses.refresh()).rejects.toMatchObject({ code: 'STORE_VERSION' });
    expect(readFileSync(path, 'utf8')).toBe(other);
  });

  it('a second writer is rejected, and the lock of a dead process is taken over', async () => {
    const path = world.write('CASP20260101.csv', caspFile(firms(3)));
    await world.store.locked(async () => {
      await expect(world.load('esma', [path])).rejects.toMatchObject({ code: 'STORE_BUSY' });
    });
    writeFileSync(join(world.store.folder, 'LOCK'), '999999999');
    expect(await world.load('esma', [path])).toMatchObject([{ status: 'imported' }]);
  });
});

describe('refreshing ESMA’s registers', () => {
  let server: ListServer;
  beforeEach(async () => {
    server = await startListServer();
  });
  afterEach(() => server.close());

  const refresh = () =>
    refreshRegister(
      esma,
      { from: server.url, bounds: { retryWaitsMs: [] } },
      { store: world.store, clock, log: silentLogger },
    );

  it('imports the files that arrived, reports those that failed, and imports none twice', async () => {
    const lastModified = 'Fri, 30 Oct 2026 10:00:00 GMT';
    server.paths.set('/CASPS.csv', serve(caspFile(firms(12)), { lastModified }));
    server.paths.set('/NCASP.csv', status(500));
    const first = await refresh();
    expect(first.ok).toBe(false);
    expect(first.errors.some((error) => error.startsWith('NCASP.csv'))).toBe(true);
    expect(first.registers).toMatchObject([{ register: 'esma-casp', asOf: '2026-10-30', inForce: 12 }]);
    const before = world.store.stamp();
    expect((await refresh()).registers).toEqual([]);
    expect(world.store.stamp()).toBe(before);
    server.paths.set('/CASPS.csv', serve('<html>down</html>'));
    expect((await refresh()).registers).toEqual([]);
    expect(world.statuses.answer('firm 3', undefined).registrations[0]?.status).toBe('AUTHORISED');
  });
});

describeWithSharedData('the real MiCA files', () => {
  it('six dates become one history, the same in any order', async () => {
    const files = readdirSync(sharedData('esma')).map((name) => sharedData('esma', name));
    const reports = await world.load('esma', files);
    expect(reports.filter((one) => one.register === 'esma-casp').map((one) => one.records)).toEqual([
      119, 133, 142, 142, 146, 148,
    ]);
    const other = openRegisterWorld();
    try {
      await other.load('esma', [...files].reverse());
      const shards = (store: typeof world.store): unknown =>
        store.catalogue().registers.map((row) => [row.register, row.shards]);
      expect(shards(other.store)).toEqual(shards(world.store));
    } finally {
      other.close();
    }
    const seen = (name: string): string | undefined =>
      world.statuses.answer(name, undefined).registrations.find((one) => one.register === 'esma-casp')
        ?.history[0]?.firstSeen;
    expect(seen('Bitpanda GmbH')).toBe('2025-12-15');
    expect(seen('Interactive Brokers Ireland Limited')).toBe('2026-01-23');
    expect(seen('Damex')).toBe('2026-01-30');
  });
});

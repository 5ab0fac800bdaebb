/** The record of an installation names every store that was made, so that a lost store is refused and not started empty. */
import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { SHARED_STORES } from '../../src/app/redis-fill.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { installationKeyPath, openEncryption } from '../../src/state/encryption.ts';
import {
  acceptLoss,
  isEnvironment,
  keyFault,
  missingStores,
  type OpenInstallation,
  openInstallation,
  readInstallation,
} from '../../src/state/installation-record.ts';
import { openLiveStore } from '../../src/state/live-store.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { smallDisk, smallDiskRefusal } from '../setup/small-disk.ts';

const deps = { clock: systemClock, random: systemRandom };
const LEDGER = 'accounts/ledger.mdb';

describe('the record of an installation', () => {
  const folders: { remove(): void }[] = [];
  const open = (dataDir: string, isShared = false): OpenInstallation =>
    openInstallation({ dataDir, isShared }, deps);
  function newFolder(): string {
    const folder = tempFolder();
    folders.push(folder);
    return folder.path;
  }
  /** Creates a folder with a ledger and keys. */
  async function withStores(): Promise<string> {
    const dataDir = newFolder();
    const installation = open(dataDir);
    for (const path of [LEDGER, 'accounts/keys.mdb', 'other.mdb'])
      await openLiveStore(join(dataDir, path), 1).root.close();
    installation.close();
    return dataDir;
  }
  afterEach(() => {
    for (const folder of folders.splice(0)) folder.remove();
  });

  it('lists each store when it is created, and keeps its id', async () => {
    const dataDir = newFolder();
    const installation = open(dataDir);
    expect(installation.record).toMatchObject({
      format: 1,
      id: expect.stringMatching(/^inst_[0-9a-f]{32}$/),
      stores: [],
    });
    const { root } = openLiveStore(join(dataDir, LEDGER), 1);
    expect(readInstallation(dataDir)).toMatchObject({
      id: installation.record.id,
      stores: [{ path: LEDGER, kind: 'ledger' }],
    });
    await root.close();
    installation.close();
    await openLiveStore(join(dataDir, 'accounts/keys.mdb'), 1).root.close();
    expect(readInstallation(dataDir)?.stores).toHaveLength(1);
    const again = open(dataDir);
    expect(again.record.id).toBe(installation.record.id);
    expect(again.record.stores.map(({ path }) => path)).toEqual(['accounts/keys.mdb', LEDGER]);
    again.close();
  });

  it('is created from the stores in a folder of an earlier version', async () => {
    const dataDir = await withStores();
    rmSync(join(dataDir, 'installation.json'));
    const installation = open(dataDir);
    expect(installation.record.stores.map(({ kind }) => kind)).toEqual(['keys', 'ledger']);
    installation.close();
  });

  it.each([
    ['removed', (file: string) => rmSync(file)],
    ['emptied', (file: string) => truncateSync(file, 0)],
  ])('refuses a start over a ledger that was %s, until the loss is accepted', async (_, lose) => {
    const dataDir = await withStores();
    lose(join(dataDir, LEDGER));
    const sentence =
      /accounts\/ledger\.mdb \(ledger\) is missing, .*: restore it .* or run 'assay installation accept-loss accounts\/ledger\.mdb'/;
    expect(() => open(dataDir)).toThrow(
      expect.objectContaining({ code: 'STORE_CORRUPT', message: expect.stringMatching(sentence) }),
    );
    expect(missingStores(dataDir, false).map(({ path }) => path)).toEqual([LEDGER]);
    expect(acceptLoss(dataDir, LEDGER)).toMatchObject({ kind: 'ledger' });
    const installation = open(dataDir);
    expect(installation.record.stores.map(({ kind }) => kind)).toEqual(['keys']);
    installation.close();
  });

  it.each(['labels', 'names', 'registers'])(
    'refuses a start over lost %s, which a build would publish as none',
    async (name) => {
      const dataDir = await withStores();
      const catalogue = join(dataDir, name, 'catalogue.json');
      mkdirSync(join(dataDir, name));
      writeFileSync(catalogue, '{}');
      const installation = open(dataDir);
      expect(installation.record.stores).toContainEqual(
        expect.objectContaining({ path: `${name}/catalogue.json`, kind: `catalogue of ${name}` }),
      );
      // It is no environment, whose pages are checked.
      expect(installation.stores()).toEqual(['accounts/keys.mdb', LEDGER]);
      installation.close();
      rmSync(join(dataDir, name), { recursive: true });
      expect(() => open(dataDir)).toThrow(`(catalogue of ${name}) is missing`);
      acceptLoss(dataDir, `${name}/catalogue.json`);
      open(dataDir).close();
    },
  );

  it('refuses a start over a lost encryption key, and accepts a new one if the loss is accepted', () => {
    const dataDir = newFolder();
    const newKey = () => openEncryption({ path: installationKeyPath(dataDir) }, deps);
    const installation = open(dataDir);
    const encrypted = newKey().encrypt('secret', 'context');
    installation.close();
    rmSync(installationKeyPath(dataDir));
    expect(() => open(dataDir)).toThrow(
      /installation\.key \(encryption key\) is missing, .* accept-loss installation\.key' to start with a new one, with which the stored secrets .* cannot be decrypted/,
    );
    // A node of several derives it, or finds that its own differs.
    open(dataDir, true).close();
    expect(acceptLoss(dataDir, 'installation.key')).toMatchObject({ kind: 'encryption key' });
    open(dataDir).close();
    expect(() => newKey().decrypt(encrypted, 'context')).toThrow(/cannot be decrypted/);
  });

  it('tells a key that is not the one of the installation, until its loss is accepted', () => {
    const dataDir = newFolder();
    const path = installationKeyPath(dataDir);
    const installation = open(dataDir);
    openEncryption({ path }, deps);
    installation.close();
    expect(keyFault(dataDir)).toBeNull();
    const key = readFileSync(path);
    writeFileSync(path, Buffer.alloc(32, 7));
    expect(keyFault(dataDir)).toMatch(
      /installation\.key is not the key of this installation: .* accept-loss installation\.key/,
    );
    // Another start does not record the wrong key.
    open(dataDir).close();
    expect(keyFault(dataDir)).not.toBeNull();
    writeFileSync(path, key);
    expect(keyFault(dataDir)).toBeNull();
    rmSync(path);
    acceptLoss(dataDir, 'installation.key');
    writeFileSync(path, Buffer.alloc(32, 7));
    open(dataDir).close();
    expect(keyFault(dataDir)).toBeNull();
  });

  it('records the check value of a key that is older than check values', () => {
    const dataDir = newFolder();
    const path = installationKeyPath(dataDir);
    openEncryption({ path }, deps);
    open(dataDir).close();
    writeFileSync(path, Buffer.alloc(32, 7));
    expect(keyFault(dataDir)).not.toBeNull();
  });

  it('knows every store that nodes with a Redis share', () => {
    expect(SHARED_STORES.map(({ file }) => file).filter((file) => !isEnvironment(file))).toEqual([]);
  });

  it('does not report stores in Redis as missing', async () => {
    const dataDir = await withStores();
    rmSync(join(dataDir, LEDGER));
    open(dataDir, true).close();
    expect(() => open(dataDir)).toThrow(/is missing/);
  });

  it('refuses a copy of a backup that ended before its record', async () => {
    const dataDir = await withStores();
    const record = join(dataDir, 'installation.json');
    const manifest = join(dataDir, 'BACKUP.json');
    writeFileSync(
      manifest,
      JSON.stringify({ format: 1, files: [{ path: 'installation.json' }, { path: LEDGER }] }),
    );
    open(dataDir).close();
    rmSync(record);
    expect(() => open(dataDir)).toThrow(
      expect.objectContaining({
        code: 'STORE_CORRUPT',
        message: expect.stringMatching(/incomplete copy of a backup: installation\.json is missing/),
      }),
    );
    expect(existsSync(record)).toBe(false);
    // A backup of a version that had no record.
    writeFileSync(manifest, JSON.stringify({ format: 1, files: [{ path: LEDGER }] }));
    open(dataDir).close();
  });

  it('accepts the loss of a missing store that the record lists only', async () => {
    const dataDir = await withStores();
    expect(() => acceptLoss(dataDir, LEDGER)).toThrow(/exists\. Move it away first/);
    expect(() => acceptLoss(dataDir, 'accounts/people.mdb')).toThrow(
      /lists no store 'accounts\/people\.mdb'/,
    );
    expect(existsSync(join(dataDir, LEDGER))).toBe(true);
  });

  it('is refused without a change if it names a store of a later version', () => {
    const dataDir = newFolder();
    mkdirSync(dataDir, { recursive: true });
    const path = join(dataDir, 'installation.json');
    const text =
      '{"format":1,"id":"x","stores":[{"path":"votes.mdb","kind":"votes","since":"2027-01-01T00:00:00.000Z"}]}';
    writeFileSync(path, text);
    expect(() => open(dataDir)).toThrow(
      /installation\.json names a store that this version of Assay does not know: votes\.mdb \(votes\)\. A later version of Assay wrote it/,
    );
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  it.each(['', '{', '[]', '{"format":1,"id":"x","stores":[{"path":"../../etc"}]}'])(
    'is rejected if it contains %j',
    (text) => {
      const dataDir = newFolder();
      mkdirSync(dataDir, { recursive: true });
      writeFileSync(join(dataDir, 'installation.json'), text);
      expect(() => open(dataDir)).toThrow(/installation\.json is damaged/);
      expect(readFileSync(join(dataDir, 'installation.json'), 'utf8')).toBe(text);
    },
  );
});

const refusal = smallDiskRefusal('tmpfs');

describe.skipIf(refusal !== null)(`on a full disk${refusal === null ? '' : ` (${refusal})`}`, () => {
  it('keeps an existing record as it is, so that commands that read still start', () => {
    const disk = smallDisk('tmpfs', 1);
    try {
      openInstallation({ dataDir: disk.path, isShared: false }, deps).close();
      mkdirSync(join(disk.path, 'labels'));
      writeFileSync(join(disk.path, 'labels', 'catalogue.json'), '{}');
      disk.fill();
      const full = openInstallation({ dataDir: disk.path, isShared: false }, deps);
      expect(full.record.stores).toEqual([]);
      full.close();
      disk.free();
      const free = openInstallation({ dataDir: disk.path, isShared: false }, deps);
      expect(free.record.stores).toHaveLength(1);
      free.close();
    } finally {
      disk.remove();
    }
  });
});

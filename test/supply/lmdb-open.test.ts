/** The instruction of lmdb's binaries that an installation changes. */
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { lmdbFault } from '../../src/state/lmdb-binary.ts';

interface Recorded {
  readonly sha256: string;
  readonly at: number;
  readonly from: string;
  readonly to: string;
  readonly changed: string;
}

const TABLE = join(projectRoot, 'data', 'native-binaries.json');
const table = JSON.parse(readFileSync(TABLE, 'utf8')).lmdb as {
  readonly version: string;
  readonly files: Readonly<Record<string, Recorded>>;
};
const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const { changeLmdb } = (await import(join(projectRoot, 'scripts', 'supply', 'lmdb-open.mjs'))) as {
  readonly changeLmdb: (folder: string) => readonly string[];
};

const lmdb = createRequire(import.meta.url).resolve('lmdb');
const modules = lmdb.slice(0, lmdb.lastIndexOf('/node_modules/') + '/node_modules'.length);
/** The recorded binaries that are installed, as `lmdb-linux-x64/node.abi115.glibc.node`. */
const installed = readdirSync(join(modules, '@lmdb')).flatMap((name) =>
  readdirSync(join(modules, '@lmdb', name))
    .map((file) => `${name}/${file}`)
    .filter((file) => file in table.files),
);

it('the table is of the version that the lockfile names', () => {
  const { packages } = JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8'));
  expect(packages['node_modules/lmdb'].version).toBe(table.version);
});

describe.skipIf(installed.length === 0)('the binaries of lmdb', () => {
  const root = mkdtempSync(join(tmpdir(), 'assay-lmdb-'));
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const bytesOf = (name: string): Buffer => readFileSync(join(modules, '@lmdb', name));
  /** An installation with one binary. */
  function installationOf(
    name: string,
    bytes: Uint8Array,
  ): { readonly folder: string; readonly path: string } {
    const folder = mkdtempSync(join(root, 'installation-'));
    const path = join(folder, 'node_modules', '@lmdb', name);
    for (const each of [dirname(path), join(folder, 'node_modules', 'lmdb'), join(folder, 'data')])
      mkdirSync(each, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{}');
    writeFileSync(join(folder, 'node_modules', 'lmdb', 'index.js'), '');
    copyFileSync(TABLE, join(folder, 'data', 'native-binaries.json'));
    writeFileSync(path, bytes, { mode: 0o755 });
    return { folder, path };
  }
  function published(name: string): Buffer {
    const { at, from } = table.files[name] as Recorded;
    const bytes = bytesOf(name);
    bytes.set(Buffer.from(from, 'hex'), at);
    return bytes;
  }

  it('are changed in this installation, in nothing but the recorded bytes', () => {
    for (const name of installed) {
      const { sha256, changed } = table.files[name] as Recorded;
      expect([name, hashOf(bytesOf(name)), hashOf(published(name))]).toEqual([name, changed, sha256]);
    }
  });

  it('are changed once, and stay executable', () => {
    const [name = ''] = installed;
    const { folder, path } = installationOf(name, published(name));
    for (const round of ['first', 'second']) {
      expect(changeLmdb(folder), round).toEqual([]);
      expect(hashOf(readFileSync(path)), round).toBe(table.files[name]?.changed);
    }
    expect(statSync(path).mode & 0o777).toBe(0o755);
    expect(readdirSync(dirname(path))).toHaveLength(1);
  });

  it('are reported while they are not changed, and if there is none of the platform', () => {
    expect(lmdbFault()).toBeNull();
    const [name = ''] = installed;
    const { folder } = installationOf(name, published(name));
    const packages = join(folder, 'node_modules', '@lmdb');
    expect(lmdbFault(packages)).toMatch(/without the step after npm ci\.$/);
    changeLmdb(folder);
    expect(lmdbFault(packages)).toBeNull();
    expect(lmdbFault(root)).toMatch(/^There is no changed binary of lmdb for this platform/);
  });

  it('are left as they are, and named, if they are not the recorded files', () => {
    const [name = ''] = installed;
    const other = published(name);
    other[0] = 0;
    const { folder, path } = installationOf(name, other);
    expect(changeLmdb(folder)).toEqual([
      expect.stringMatching(
        /^node\..*\.node of lmdb is not the recorded file: its SHA-256 is [0-9a-f]{64}\.$/,
      ),
    ]);
    expect(readFileSync(path).equals(other)).toBe(true);
  });

  it('are named with a remedy if this user cannot write them', () => {
    const [name = ''] = installed;
    const { folder, path } = installationOf(name, published(name));
    // Refuses the write to root as well.
    mkdirSync(`${path}.${process.pid}.tmp`);
    expect(changeLmdb(folder)).toEqual([
      expect.stringMatching(
        /node\..*\.node cannot be changed \(.*EISDIR.*\): run npm ci as the user who owns it\./,
      ),
    ]);
  });

  it('of another platform are named', () => {
    const { folder } = installationOf('lmdb-other-x64/node.napi.node', Buffer.from('other'));
    expect(changeLmdb(folder)).toEqual([expect.stringContaining('no recorded binary for this platform')]);
  });
});

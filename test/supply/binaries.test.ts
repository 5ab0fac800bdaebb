/** The recorded hashes of the binaries of uWebSockets.js, and what happens if a binary is another file. */
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { checkedUwsBinary, uwsBinaryName } from '../../src/http/server/uws-binding.ts';
import { spawnSync } from '../support/child-process.ts';

const root = mkdtempSync(join(tmpdir(), 'assay-binaries-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const installed = dirname(createRequire(import.meta.url).resolve('uWebSockets.js/package.json'));
const binary = uwsBinaryName();
const hasBinary = existsSync(join(installed, binary));

const table = JSON.parse(readFileSync(join(projectRoot, 'data', 'native-binaries.json'), 'utf8')) as {
  readonly package: string;
  readonly version: string;
  readonly integrity: string;
  readonly sourceCommit: string;
  readonly files: Readonly<Record<string, string>>;
};

/** Changes one bit in the middle of a file. */
function changeByte(path: string): void {
  const bytes = readFileSync(path);
  const at = bytes.length >> 1;
  bytes[at] = (bytes[at] as number) ^ 1;
  writeFileSync(path, bytes);
}

/** A folder with a copy of the package that has the binary of this platform and one of another platform. */
function copiedPackage(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const name of ['package.json', 'uws.js', binary])
    if (existsSync(join(installed, name))) cpSync(join(installed, name), join(folder, name));
  return join(folder, binary);
}

describe('data/native-binaries.json', () => {
  it('is of the package that the lockfile names', () => {
    const { packages } = JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8'));
    expect(packages['node_modules/uWebSockets.js']).toMatchObject({
      name: table.package,
      version: table.version,
      integrity: table.integrity,
    });
    expect(table.sourceCommit).toMatch(/^[0-9a-f]{40}$/);
  });

  it('has the binaries of every platform for Node 20, 22 and 24', () => {
    for (const platform of ['linux_x64', 'linux_arm64', 'darwin_x64', 'darwin_arm64', 'win32_x64'])
      for (const abi of [115, 127, 137])
        expect(table.files[`uws_${platform}_${abi}.node`], `${platform} ${abi}`).toMatch(/^[0-9a-f]{64}$/);
  });

  it('has the hash of each installed binary', () => {
    const names = readdirSync(installed).filter((name) => name.endsWith('.node'));
    expect(names.length).toBeGreaterThan(0);
    for (const name of names)
      expect(
        createHash('sha256')
          .update(readFileSync(join(installed, name)))
          .digest('hex'),
        name,
      ).toBe(table.files[name]);
  });
});

describe.skipIf(!hasBinary)('a binary that is about to be loaded', () => {
  it('is accepted if it is the recorded file', () => {
    const path = copiedPackage(join(root, 'same'));
    expect(checkedUwsBinary(dirname(path))).toBe(path);
  });

  it('is refused if one bit of it differs', () => {
    const path = copiedPackage(join(root, 'changed'));
    changeByte(path);
    expect(() => checkedUwsBinary(dirname(path))).toThrow(
      expect.objectContaining({
        code: 'BINARY_MISMATCH',
        message: expect.stringMatching(
          /is not the recorded file: its SHA-256 is [0-9a-f]{64}.*It was not loaded/,
        ),
      }),
    );
  });

  it('is named if it is missing', () => {
    const path = copiedPackage(join(root, 'missing'));
    rmSync(path);
    expect(() => checkedUwsBinary(dirname(path))).toThrow(`There is no ${binary}`);
  });
});

describe.skipIf(!hasBinary)('assay serve with a changed binary', () => {
  /** A copy of the built program, with links to all packages but uWebSockets.js, of which it has a changed copy. */
  function changedProgram(): string {
    const folder = join(root, 'program');
    for (const name of [
      'package.json',
      'data',
      'dist/src',
      'dist/workers',
      'dist/kernels',
      'src/state/lua',
      'src/nodes/lua',
    ])
      cpSync(join(projectRoot, name), join(folder, name), {
        recursive: true,
        filter: (path) => path !== join(projectRoot, 'data', 'store'),
      });
    const modules = join(folder, 'node_modules');
    mkdirSync(modules);
    for (const name of readdirSync(dirname(installed)))
      if (name !== 'uWebSockets.js' && !name.startsWith('.'))
        symlinkSync(join(dirname(installed), name), join(modules, name));
    changeByte(copiedPackage(join(modules, 'uWebSockets.js')));
    return folder;
  }

  it.each(['auto', 'uws'])('does not start with the back end %s', (backend) => {
    const folder = existsSync(join(root, 'program')) ? join(root, 'program') : changedProgram();
    const { status, stderr } = spawnSync(process.execPath, [join(folder, 'dist/src/main.js'), 'serve'], {
      encoding: 'utf8',
      timeout: 120_000,
      env: {
        PATH: process.env.PATH,
        ASSAY_DATA_DIR: join(root, `state-${backend}`),
        ASSAY_PORT: '0',
        ASSAY_SYNC: 'off',
        ASSAY_HTTP_BACKEND: backend,
      },
    });
    expect(stderr).toContain(`${binary} is not the recorded file`);
    expect(status).toBeGreaterThan(0);
  });
});

describe.skipIf(!hasBinary)('the step after npm ci', () => {
  /** A folder like a fresh installation with development packages. */
  function installation(name: string): string {
    const folder = join(root, name);
    cpSync(join(projectRoot, 'scripts', 'supply'), join(folder, 'scripts', 'supply'), { recursive: true });
    cpSync(join(projectRoot, 'data', 'native-binaries.json'), join(folder, 'data', 'native-binaries.json'));
    mkdirSync(join(folder, 'node_modules', 'vitest'), { recursive: true });
    copiedPackage(join(folder, 'node_modules', 'uWebSockets.js'));
    return folder;
  }

  const step = (folder: string, ...args: readonly string[]) =>
    spawnSync(process.execPath, [join(folder, 'scripts/supply/after-install.mjs'), ...args], {
      encoding: 'utf8',
    });

  /** Adds a package with a binary for another platform, which the step deletes. */
  function addForeign(folder: string): string {
    const prebuilt = join(folder, 'node_modules', 'addon', 'prebuilds', 'aix-ppc64');
    mkdirSync(prebuilt, { recursive: true });
    writeFileSync(join(folder, 'node_modules', 'addon', 'package.json'), '{}');
    return prebuilt;
  }

  it('accepts recorded files', () => {
    const folder = installation('install-same');
    expect(step(folder)).toMatchObject({ status: 0, stderr: '' });
    expect(existsSync(join(folder, 'node_modules', 'uWebSockets.js', binary))).toBe(true);
  });

  it('fails if a bit of a binary differs', () => {
    const folder = installation('install-changed');
    changeByte(join(folder, 'node_modules', 'uWebSockets.js', binary));
    const { status, stderr } = step(folder);
    expect(stderr).toContain(`${binary} of uWebSockets.js is not the recorded file`);
    expect(stderr).toContain('Installation refused.');
    expect(status).toBe(1);
  });

  it('fails if there is a binary without a recorded hash', () => {
    const folder = installation('install-more');
    writeFileSync(join(folder, 'node_modules', 'uWebSockets.js', 'uws_plan9_x64_999.node'), 'x');
    const { status, stderr } = step(folder);
    expect(stderr).toContain(
      'uws_plan9_x64_999.node of uWebSockets.js has no hash in data/native-binaries.json',
    );
    expect(status).toBe(1);
  });

  it.each([
    ['--help', 0],
    ['--bogus', 2],
  ])('deletes nothing with %s', (argument, expected) => {
    const folder = installation(`install${argument}`);
    const foreign = addForeign(folder);
    const { status, stdout, stderr } = step(folder, argument);
    expect(status).toBe(expected);
    expect(`${stdout}${stderr}`).toContain('usage: node scripts/supply/after-install.mjs [--production]');
    expect(existsSync(foreign)).toBe(true);
    expect(step(folder).status).toBe(0);
    expect(existsSync(foreign)).toBe(false);
  });

  it('deletes nothing if node_modules is a link to another installation', () => {
    const other = installation('install-linked-to');
    const foreign = addForeign(other);
    const folder = join(root, 'install-link');
    for (const name of ['scripts', 'data'])
      cpSync(join(other, name), join(folder, name), { recursive: true });
    symlinkSync(join(other, 'node_modules'), join(folder, 'node_modules'), 'junction');
    const { status, stderr } = step(folder, '--production');
    expect(stderr).toContain('node_modules is a link to another folder');
    expect(status).toBe(0);
    expect(existsSync(foreign)).toBe(true);
  });
});

describe.skipIf(!hasBinary)('the comparison with an official release', () => {
  const compare = (folder: string) =>
    spawnSync(process.execPath, ['scripts/supply/record-binaries.mjs', '--compare', folder], {
      cwd: projectRoot,
      encoding: 'utf8',
    });

  it('accepts the same files', () => {
    const path = copiedPackage(join(root, 'official'));
    expect(compare(dirname(path))).toMatchObject({ status: 0, stdout: '1 of 1 files are the same\n' });
  });

  it('names a file that differs', () => {
    const path = copiedPackage(join(root, 'unofficial'));
    changeByte(path);
    const { status, stdout } = compare(dirname(path));
    expect(stdout).toBe(`0 of 1 files are the same\n${binary}: differs from the official release\n`);
    expect(status).toBe(1);
  });
});

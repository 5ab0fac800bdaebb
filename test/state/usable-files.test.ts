/** Entries of a data folder that cannot be read as what they are: found before anything is opened, and named with a remedy. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { asUnusable, requireUsable, unusableIn } from '../../src/state/usable-files.ts';
import { runCommand } from '../cli/run-command.ts';
import { execFileSync } from '../support/child-process.ts';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-usable-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(name: string): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'x');
  return path;
}
function putFolder(name: string): string {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  return path;
}

describe('the entries of a data folder', () => {
  it('are usable if they are files and folders, or links to such', () => {
    put('accounts/keys.mdb');
    put('names/index/CURRENT');
    symlinkSync(put('elsewhere/btc.mdb'), join(putFolder('transfers'), 'btc.mdb'));
    symlinkSync(join(folder, 'accounts'), join(folder, 'linked'));
    // A volume has it, and root owns it.
    putFolder('lost+found');
    putFolder('transfers/lost+found');
    // Editors leave such links.
    symlinkSync('nobody@host.1:2', join(folder, '.#notes.txt'));
    putFolder('jobs/1/answers/0.json');
    // Operators keep such things beside the stores.
    symlinkSync('/nonexistent', join(putFolder('moved-aside/ledger'), 'ledger.mdb'));
    putFolder('export.json');
    putFolder('labels/runs.json');
    expect(unusableIn(folder)).toEqual([]);
    expect(() => requireUsable(folder)).not.toThrow();
    expect(unusableIn(join(folder, 'missing'))).toEqual([]);
  });

  it('are usable if a link leads back to the folder', () => {
    put('accounts/keys.mdb');
    symlinkSync(folder, join(folder, 'again'));
    symlinkSync(join(folder, 'accounts'), join(folder, 'accounts', 'again'));
    expect(unusableIn(folder)).toEqual([]);
  });

  it.each([
    ['accounts/ledger.mdb', 'restore it from a backup (docs/OPERATIONS.md, Damaged files)'],
    ['labels/catalogue.json', 'restore it from a backup (docs/OPERATIONS.md, Damaged files)'],
    ['snapshots/CURRENT', "'assay index build --force' builds it again"],
    ['snapshots/snapshot-2026-1/labels.size', "'assay index build --force' builds it again"],
    ['names/index/names-2026-1/built-from.json', "'assay index build --force' builds it again"],
    ['exposure/eth/snapshot-2026-1/changes.mdb', "remove the folder 'exposure': the index is built again"],
    ['clusters/BTC/current.json', "'assay cluster' builds it again"],
  ])('are refused if a folder is in the place of %s', (name, wayOut) => {
    const path = putFolder(name);
    expect(unusableIn(folder)).toEqual([
      `${path} is a folder, and must be a file. Move it away; then ${wayOut}.`,
    ]);
  });

  it('are refused if a link has no target, also for a folder', () => {
    put('accounts/keys.mdb');
    symlinkSync('/nonexistent/transfers', join(folder, 'transfers'));
    symlinkSync(join(putFolder('labels'), 'loop.json'), join(folder, 'labels', 'loop.json'));
    const faults = unusableIn(folder);
    expect(faults).toHaveLength(2);
    expect(faults.join('\n')).toContain(
      `${join(folder, 'transfers')} is a link to /nonexistent/transfers, which cannot be reached. Mount or restore its target.`,
    );
    expect(() => requireUsable(folder)).toThrow(
      expect.objectContaining({
        code: 'STORE_CORRUPT',
        message: expect.stringMatching(/ \(1 more: assay verify\)$/),
      }),
    );
  });

  it('are refused if one is a device or a pipe', () => {
    const path = join(putFolder('monitoring'), 'monitoring.lmdb');
    execFileSync('mkfifo', [path]);
    expect(unusableIn(folder)).toEqual([expect.stringMatching(`^${path} is not a file\\.`)]);
  });

  it('are refused if this user cannot read one', () => {
    const path = put('screenings.mdb');
    const own = put('cases.mdb');
    const closed = putFolder('prices');
    for (const each of [path, own, closed]) chmodSync(each, 0);
    chmodSync(folder, 0o755);
    if (isRoot) {
      chownSync(path, 1, 1);
      chownSync(own, NOBODY, NOBODY);
    }
    const url = new URL('../../dist/src/state/usable-files.js', import.meta.url).href;
    const program = `import { unusableIn } from ${JSON.stringify(url)}; console.log(JSON.stringify(unusableIn(${JSON.stringify(folder)})));`;
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
    });
    chmodSync(closed, 0o700);
    const told = JSON.parse(output) as string[];
    expect(told).toHaveLength(3);
    expect(told).toContain(
      `${own} cannot be read by this user. It belongs to this user, whose permissions were removed: chmod -R u+rwX ${own}`,
    );
    for (const each of [path, closed])
      expect(told.join('\n')).toContain(`${each} cannot be read by this user. It belongs to `);
    if (isRoot)
      expect(told).toContain(
        `${path} cannot be read by this user. It belongs to the user 1: run as that user, or give the folder to this one: chown -R ${NOBODY} ${folder}`,
      );
  });
});

describe('a file that this user cannot write', () => {
  const refused = (path: string) =>
    Object.assign(new Error(`EACCES: permission denied, access '${path}'`), {
      ...{ code: 'EACCES', syscall: 'access', path },
    });
  const messageOf = (error: unknown): string => (asUnusable(error, folder) as Error).message;

  it('is named with the remedy, also if the error of its store wraps it', () => {
    const path = put('accounts/ledger.mdb-lock');
    chownSync(path, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
    const remedy = `${path} cannot be written by this user. It belongs to this user, whose permissions were removed: chmod -R u+rwX ${path}`;
    expect(messageOf(refused(path))).toBe(remedy);
    const wrapped = new AssayError('STORE_CORRUPT', `${path} cannot be opened as a store.`, {
      cause: refused(path),
    });
    expect(messageOf(wrapped)).toBe(remedy);
  });

  it('is its folder if the file is new', () => {
    const path = putFolder('labels/lists');
    expect(messageOf(refused(join(path, 'new.json.tmp')))).toContain(
      `${path} cannot be written by this user.`,
    );
  });

  it('is not blamed for an error elsewhere', () => {
    const error = refused('/elsewhere/file.csv');
    expect(asUnusable(error, folder)).toBe(error);
  });
});

describe('a command over an unusable file', () => {
  it.each([
    [['serve'], 'registers/catalogue.json'],
    [['keys', 'list'], 'accounts/keys.mdb'],
    [['verify'], 'exposure/eth/CURRENT'],
    [['doctor'], 'accounts/ledger.mdb'],
  ])('%j names it and the remedy', async (args, name) => {
    await runCommand(folder, ['keys', 'create', '--name', 'first']);
    const path = join(folder, name);
    rmSync(path, { force: true });
    putFolder(name);
    const { code, out, err } = await runCommand(folder, args);
    expect(code).toBe(1);
    expect(out + err).toContain(`${path} is a folder, and must be a file. Move it away; then `);
  });

  it('reports an index whose file is missing, although its folder exists', async () => {
    putFolder('exposure/eth/snapshot-20261129170618925-0000000000000384');
    writeFileSync(join(folder, 'exposure/eth/CURRENT'), 'snapshot-20261129170618925-0000000000000384\n');
    const { code, out, err } = await runCommand(folder, ['verify']);
    expect(code).toBe(1);
    expect(out + err).toMatch(
      /index\.mdb is missing: remove the folder 'exposure': the index is built again/,
    );
  });
});

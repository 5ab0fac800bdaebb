/** Backups of a server that gets requests and writes while they are taken, and what another machine restores from them. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyBackup } from '../../src/backup/backup.ts';
import { readJson } from '../../src/state/atomic-file.ts';
import { restoredFrom, undoneBy } from '../../src/state/restored.ts';
import { ask, newEmptyWorld, newWorld, type RunningServer, type World } from '../e2e/program.ts';
import { spawnSync } from '../support/child-process.ts';
import { sleep } from '../support/wait.ts';

const BINANCE = '0xbe0eb53f46cd790cd13851d5eff43d12404d33e8';

interface Taken {
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly kind: string }[];
}

let world: World;
let server: RunningServer;
let elsewhere: World;
let backup: string;
beforeAll(async () => {
  world = newWorld();
  elsewhere = newWorld();
  server = await world.serve();
  backup = join(world.folder, 'backup');
});
afterAll(() => Promise.all([world.end(), elsewhere.end()]));

describe('a backup', () => {
  it('of a folder in which nothing was stored is refused, and so is its verification', async () => {
    const empty = newEmptyWorld();
    try {
      const target = join(empty.folder, 'backup');
      const text =
        /^assay: \S+ has no state to back up\. Set ASSAY_DATA_DIR to the folder of the server\.\n$/;
      expect(await empty.here(['backup', target])).toMatchObject({
        code: 1,
        err: expect.stringMatching(text),
      });
      expect(existsSync(target)).toBe(false);
      expect(await empty.here(['verify'])).toMatchObject({
        code: 1,
        err: expect.stringContaining('has no store, so nothing was verified. Set ASSAY_DATA_DIR'),
      });
      for (const of of ['ledger', 'audit', 'billing'])
        expect(await empty.here([of, 'verify'])).toMatchObject({
          code: 1,
          err: expect.stringContaining('has no store, so nothing was verified. Set ASSAY_DATA_DIR'),
        });
      expect(readdirSync(empty.folder, { recursive: true }).filter((name) => /mdb$/.test(`${name}`))).toEqual(
        [],
      );
    } finally {
      await empty.end();
    }
  });

  it('that was taken during writes opens, verifies, and serves in another folder', async () => {
    // Every answer is counted against a quota, and every new key is a transaction of its own.
    let written = 0;
    let stop = false;
    const writing = (async () => {
      while (!stop) {
        const { status } = await ask(server, server.firstKey, `/api/v1/entity/${BINANCE}`);
        expect([200, 429]).toContain(status);
        written++;
        await sleep(10);
      }
    })();
    const keysMade = (async () => {
      for (let n = 0; n < 4; n++) {
        const made = await world.here(['keys', 'create', '--name', `during ${n}`]);
        expect(made.code, made.err).toBe(0);
      }
    })();
    const { code, out, err } = await world.run(['backup', backup, '--json']);
    expect(code, err).toBe(0);
    await keysMade;
    stop = true;
    await writing;
    expect(written).toBeGreaterThan(10);
    const { files } = JSON.parse(out) as Taken;
    const environments = files.filter(({ kind }) => kind === 'lmdb').map(({ path }) => path);
    expect(environments.some((path) => path.startsWith('accounts/'))).toBe(true);
    expect(files.map(({ path }) => path)).toContain('snapshots/CURRENT');
    expect(files.some(({ path }) => /LOCK|-lock$|leases|building|^exposure|first-api-key/.test(path))).toBe(
      false,
    );
    // The backup leaves nothing behind in the folder of state.
    expect(readdirSync(join(world.folder, 'store')).filter((name) => name.startsWith('.backup-'))).toEqual(
      [],
    );

    const verified = await world.here(['backup', backup, '--verify']);
    expect(verified.code, verified.err).toBe(0);
    expect(verified.out).toContain('is intact');

    cpSync(backup, join(elsewhere.folder, 'store'), { recursive: true });
    for (const args of [
      ['index', 'verify'],
      ['ledger', 'verify'],
    ]) {
      const checked = await elsewhere.here(args);
      expect(checked.code, `${args.join(' ')}: ${checked.err}`).toBe(0);
    }
    const restored = await elsewhere.serve();
    // The keys were restored too: this start makes none.
    expect(restored.firstKey).toBe('');
    const asked = async (of: RunningServer): Promise<object> => {
      const { status, body } = await ask(of, server.firstKey, `/api/v1/oracle/address/ETH/${BINANCE}`);
      expect(status).toBe(200);
      return { ...(body as { data?: object }).data, evaluatedAt: null };
    };
    expect(await asked(restored)).toEqual(await asked(server));

    // A restore undoes what was done since, until the operator confirms that it was done again.
    const { takenAt } = readJson(join(backup, 'BACKUP.json')) as { takenAt: string };
    const degraded = async (of: RunningServer): Promise<readonly object[]> =>
      ((await (await fetch(`${of.url}/ready`)).json()) as { data: { degraded?: object[] } }).data.degraded ??
      [];
    const reason = expect.stringContaining('API keys that were revoked');
    expect(await degraded(restored)).toContainEqual({
      ...{ kind: 'RESTORED_BACKUP', path: null, reason, since: takenAt },
    });
    expect(await degraded(server)).toEqual([]);
    expect(restored.output().err).toContain('data folder restored from a backup');
    const doctor = async (): Promise<readonly object[]> => {
      const { findings } = JSON.parse((await elsewhere.here(['doctor', '--json'])).out) as {
        findings: readonly { check: string }[];
      };
      return findings.filter(({ check }) => check === 'restored');
    };
    expect(await doctor()).toEqual([
      {
        ...{ check: 'restored', state: 'warning', text: expect.stringContaining(takenAt) },
        advice: expect.stringContaining('delete BACKUP.json'),
      },
    ]);
    rmSync(join(elsewhere.folder, 'store', 'BACKUP.json'));
    expect(await degraded(restored)).toEqual([]);
    expect(await doctor()).toEqual([]);
    await restored.stop();
  });

  it('that was restored without a readable manifest says so as well', () => {
    const folder = join(elsewhere.folder, 'unreadable');
    mkdirSync(folder);
    expect(restoredFrom(folder)).toBeNull();
    const manifest = join(folder, 'BACKUP.json');
    for (const text of ['{"takenAt":', '{"takenAt":7}']) {
      writeFileSync(manifest, text);
      expect(restoredFrom(folder)).toEqual({ manifest, takenAt: null });
    }
    expect(undoneBy({ manifest, takenAt: null })).toMatch(/^The data folder was restored from a backup, and/);
  });

  it('that was damaged later is rejected', async () => {
    const spoilt = join(world.folder, 'spoilt');
    cpSync(backup, spoilt, { recursive: true });
    const { files } = JSON.parse(readFileSync(join(spoilt, 'BACKUP.json'), 'utf8')) as Taken;
    const pointer = join(spoilt, 'snapshots', 'CURRENT');
    const named = readFileSync(pointer);
    writeFileSync(pointer, Buffer.from(named).fill(0x41, named.length - 2, named.length - 1));
    await expect(verifyBackup(spoilt)).rejects.toThrow(/CURRENT differs from its entry in the manifest/);
    writeFileSync(pointer, named);
    const file = files.find(({ kind }) => kind === 'lmdb')?.path ?? '';
    const bytes = readFileSync(join(spoilt, file));
    bytes[bytes.length - 100] = (bytes[bytes.length - 100] as number) ^ 1;
    writeFileSync(join(spoilt, file), bytes);
    const flipped = await world.here(['backup', spoilt, '--verify']);
    expect([flipped.code, flipped.err]).toEqual([1, expect.stringContaining(file)]);
    rmSync(join(spoilt, file));
    expect((await world.here(['backup', spoilt, '--verify'])).err).toContain('is missing');
    const manifest = join(spoilt, 'BACKUP.json');
    const written = readJson(manifest) as Taken;
    for (const path of ['../secret', '/etc/passwd', 'a/../../b', '']) {
      const files = [{ ...written.files[0], path }];
      writeFileSync(manifest, JSON.stringify({ ...written, files }));
      await expect(verifyBackup(spoilt)).rejects.toThrow('not part of a backup');
    }
    rmSync(manifest);
    expect((await world.here(['backup', spoilt, '--verify'])).err).toContain('not a complete backup');
  });

  it('removes files of a killed backup, and keeps those of a running one', async () => {
    const store = join(world.folder, 'store');
    const { pid: dead } = spawnSync(process.execPath, ['--version']);
    for (const pid of [dead, process.pid]) {
      mkdirSync(join(store, `.backup-${pid}`, 'labels'), { recursive: true });
      writeFileSync(join(store, `.backup-${pid}`, 'labels', 'named'), 'x');
    }
    const { code, err } = await world.run(['backup', join(world.folder, 'next')]);
    expect(code, err).toBe(0);
    expect(readdirSync(store).filter((name) => name.startsWith('.backup-'))).toEqual([
      `.backup-${process.pid}`,
    ]);
    rmSync(join(store, `.backup-${process.pid}`), { recursive: true });
  });

  it('is rejected if the folder is not empty or is inside the state', async () => {
    const full = join(world.folder, 'full');
    mkdirSync(full);
    writeFileSync(join(full, 'mine'), 'x');
    expect((await world.here(['backup', full])).err).toContain('not empty');
    expect((await world.here(['backup', join(world.folder, 'store', 'inside')])).err).toContain('inside');
    expect(statSync(join(full, 'mine')).size).toBe(1);
  });
});

/** `assay log` as an auditor runs it: over the log of an installation, and over static files. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { addLogCommand } from '../../src/cli/log.ts';
import { runProgram } from '../../src/cli/program.ts';
import type { Services } from '../../src/cli/services.ts';
import { folderTarget } from '../../src/receipts/log/places.ts';
import { LogPublisher } from '../../src/receipts/log/publish.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { entriesOf, type OpenedLog, openLog } from '../receipts/log/world.ts';
import { PROGRAM } from '../setup/program-path.ts';
import { spawnSync } from '../support/child-process.ts';

describe('assay log', () => {
  let folder: TempFolder;
  let opened: OpenedLog;
  let site: string;
  let publisher: LogPublisher;

  beforeEach(async () => {
    folder = tempFolder();
    site = join(folder.path, 'site');
    mkdirSync(join(folder.path, 'state'));
    opened = await openLog(join(folder.path, 'state'), { checkpointMs: 0 });
    publisher = new LogPublisher(opened.log, folderTarget(site));
    await grow(0, 400);
  });
  afterEach(async () => {
    await opened.close();
    folder.remove();
  });

  async function grow(from: number, to: number): Promise<void> {
    await opened.log.append(entriesOf(from, to));
    await publisher.publish(new AbortController().signal);
  }

  async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    const text = { out: '', err: '' };
    const stream = (name: 'out' | 'err') =>
      ({
        write(part: string) {
          text[name] += part;
          return true;
        },
        isTTY: false,
      }) as unknown as NodeJS.WritableStream;
    const code = await runProgram(
      [addLogCommand],
      ['log', ...args],
      { out: stream('out'), err: stream('err'), clock: systemClock, signal: new AbortController().signal },
      () =>
        ({
          ready: async () => {},
          logStore: () => opened.store,
          close: async () => {},
        }) as unknown as Services,
      '1',
    );
    return { code, ...text };
  }

  it('shows the key of the installation', async () => {
    expect(await run('key')).toMatchObject({ code: 0, out: `${opened.log.verifier.vkey}\n` });
  });

  it('verifies the log of the installation, a folder, and finds a tampered tile', async () => {
    expect(await run('verify')).toMatchObject({
      code: 0,
      out: 'log.example/assay: 400 entries, 5 tiles read: all agree with the checkpoint.\n',
    });
    const whole = await run('verify', site, '--key', opened.log.verifier.vkey, '--json');
    expect(JSON.parse(whole.out)).toMatchObject({ size: 400, faults: [], signature: 'VALID' });
    expect((await run('verify', site)).out).toContain('The signature was not verified');
    const tile = join(site, 'tile/0/000');
    const bytes = readFileSync(tile);
    bytes[40] = (bytes[40] as number) ^ 1;
    writeFileSync(tile, bytes);
    const damaged = await run('verify', site);
    expect(damaged.code).toBe(1);
    expect(damaged.out).toContain('tile/0/000: hash 1 is not the hash of its entry.');
    expect(damaged.err).toContain('The transparency log is damaged');
  });

  it('audits a log with a remembered checkpoint, and detects a rollback and a fork', async () => {
    const seen = join(folder.path, 'seen');
    const { vkey } = opened.log.verifier;
    expect(await run('audit', seen, site, '--remember', '--key', vkey)).toMatchObject({ code: 0 });
    const first = readFileSync(seen, 'utf8');
    await grow(400, 900);
    expect(await run('audit', seen, site, '--remember', '--key', vkey)).toMatchObject({
      code: 0,
      out: 'The log of 900 entries contains the 400 entries of the older checkpoint, unchanged.\n',
    });
    const second = readFileSync(seen, 'utf8');
    expect(second).not.toBe(first);
    const old = join(folder.path, 'first');
    writeFileSync(old, first);
    const rollback = await run('audit', seen, old);
    expect(rollback).toMatchObject({ code: 1 });
    expect(rollback.err).toContain('Rollback: the newer checkpoint has 400 entries, the older one has 900.');
    expect(await run('audit', old, seen)).toMatchObject({ code: 2 });
    expect(await run('audit', old, seen, '--tiles', site)).toMatchObject({ code: 0 });
    mkdirSync(join(folder.path, 'other'));
    const other = await openLog(join(folder.path, 'other'), { checkpointMs: 0 });
    await other.log.append(entriesOf(5_000, 6_000));
    await new LogPublisher(other.log, folderTarget(join(folder.path, 'fork'))).publish(
      new AbortController().signal,
    );
    await other.close();
    const fork = await run('audit', seen, join(folder.path, 'fork'), '--remember', '--json');
    expect(fork).toMatchObject({ code: 1 });
    expect(JSON.parse(fork.out)).toMatchObject({ finding: 'fork', older: 900, newer: 1_000 });
    // What was remembered stays: it is the evidence.
    expect(readFileSync(seen, 'utf8')).toBe(second);
    const wrongKey = await run('audit', seen, join(folder.path, 'fork'), '--key', vkey);
    expect(wrongKey).toMatchObject({ code: 1 });
    expect(wrongKey.err).toContain('has no signature of the key');
  });

  it.skipIf(process.platform === 'win32')(
    'keeps the remembered checkpoint if the next one cannot be written',
    () => {
      const seen = join(folder.path, 'kept');
      const command = ['log', 'audit', seen, site, '--remember'];
      const environment = { PATH: process.env.PATH, ASSAY_DATA_DIR: join(folder.path, 'none') };
      const program = [process.execPath, PROGRAM, ...command];
      expect(spawnSync(program[0] as string, program.slice(1), { env: environment }).status).toBe(0);
      const before = readFileSync(seen, 'utf8');
      // No file may get a byte, as on a full disk.
      const full = spawnSync('sh', ['-c', 'ulimit -f 0; exec "$@"', 'sh', ...program], { env: environment });
      expect(full.status).not.toBe(0);
      expect(readFileSync(seen, 'utf8')).toBe(before);
    },
  );

  it('rejects a key of another form, and a folder that is no log', async () => {
    expect(await run('verify', site, '--key', 'nonsense')).toMatchObject({ code: 2 });
    const none = await run('verify', folder.path);
    expect(none).toMatchObject({ code: 1 });
    expect(none.err).toContain('has no file checkpoint');
    expect(await run('audit', join(folder.path, 'missing'), site)).toMatchObject({ code: 1 });
    expect(existsSync(join(folder.path, 'missing'))).toBe(false);
  });
});

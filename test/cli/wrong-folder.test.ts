/** Commands with a wrong ASSAY_DATA_DIR: those of stored records refuse it, and create nothing. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runCommand } from './run-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-wrong-folder-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a folder in which nothing was stored', () => {
  const wrong = join(folder, 'wrong');

  it.each([
    ['keys', 'list'],
    ['keys', 'revoke', 'key_1'],
    ['accounts', 'list'],
    ['accounts', 'disable', 'acc_1'],
    ['audit', 'show'],
    ['credits', 'show', 'local'],
    ['monitor', 'list'],
    ['monitor', 'alerts'],
    ['labels', 'disputes'],
    ['labels', 'reports'],
    ['receipt', 'show', 'rcp_1'],
    ['receipt', 'keys', 'list'],
    ['billing', 'invoices'],
  ])('is refused by `assay %s %s`, which creates nothing', async (...args) => {
    expect(await runCommand(wrong, args, {})).toMatchObject({
      code: 1,
      out: '',
      err: `assay: ${wrong} has no store. Set ASSAY_DATA_DIR to the folder of the server.\n`,
    });
    expect(existsSync(wrong)).toBe(false);
  });

  it('gets its stores by a command that creates records', async () => {
    const dataDir = join(folder, 'first');
    expect(await runCommand(dataDir, ['keys', 'create', '--name', 'desk'], {})).toMatchObject({ code: 0 });
    const { out } = await runCommand(dataDir, ['keys', 'list'], {});
    expect(out).toContain('desk');
  });
});

describe('another installation.key', () => {
  it('is reported by `assay doctor` and `assay verify`', async () => {
    const dataDir = join(folder, 'key');
    await runCommand(dataDir, ['keys', 'create', '--name', 'desk'], {});
    // Opens the secrets of webhooks, and so creates the key.
    await runCommand(dataDir, ['monitor', 'list'], {});
    const intact = await runCommand(dataDir, ['verify'], {});
    expect(intact).toMatchObject({ code: 0 });
    writeFileSync(join(dataDir, 'installation.key'), Buffer.alloc(32, 7));
    const sentence = `${dataDir}/installation.key is not the key of this installation`;
    const verified = await runCommand(dataDir, ['verify'], {});
    expect(verified).toMatchObject({ code: 1, err: expect.stringContaining(sentence) });
    const { code, out } = await runCommand(dataDir, ['doctor', '--json'], {});
    expect(code).toBe(1);
    expect((JSON.parse(out) as { findings: unknown[] }).findings).toContainEqual({
      check: 'stores',
      state: 'problem',
      text: expect.stringContaining(sentence),
      advice: expect.stringContaining('Restore it from a backup'),
    });
  });
});

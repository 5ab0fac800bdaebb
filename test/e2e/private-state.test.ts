/** Whatever the umask is, no other user of the machine can read the files of the program. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROGRAM } from '../setup/program-path.ts';
import { spawnSync } from '../support/child-process.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-private-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a command under umask 0: everyone may read and write its files unless the program restricts them. */
function run(store: string, args: readonly string[]): void {
  const command = 'umask 0; exec "$@"';
  const ended = spawnSync('sh', ['-c', command, 'sh', process.execPath, PROGRAM, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ASSAY_DATA_DIR: store, ASSAY_SYNC: 'off' },
  });
  expect(ended.status, ended.stderr).toBe(0);
}

const isOpen = (path: string): boolean => (statSync(path).mode & 0o077) !== 0;

/** Lists the entries of a folder that other users could read if they can enter it. */
function readable(inside: string): string[] {
  return readdirSync(inside).filter((name) => isOpen(join(inside, name)));
}

describe('the state folder', { timeout: 120_000 }, () => {
  it('is private to its user if the program creates it', () => {
    const store = join(folder, 'made', 'store');
    run(store, ['keys', 'create', '--name', 'one']);
    expect(isOpen(store)).toBe(false);
  });

  it('keeps its permissions if it existed, and new files in it are private', () => {
    const store = join(folder, 'given');
    mkdirSync(store);
    chmodSync(store, 0o755);
    const transfers = join(folder, 'transfers.ndjson');
    const hex = (n: number, digits: number): string => `0x${n.toString(16).padStart(digits, '0')}`;
    writeFileSync(
      transfers,
      `${JSON.stringify({ txHash: hex(1, 64), position: '0', blockNumber: 1, timestamp: 1_700_000_000_000, from: hex(2, 40), to: hex(3, 40), asset: 'ETH', amount: '1', valueUsd: 1 })}\n`,
    );
    run(store, ['keys', 'create', '--name', 'one']);
    const labels = join(folder, 'labels.csv');
    writeFileSync(labels, `chain,address,category,name\nETH,${hex(4, 40)},scam,Somebody\n`);
    run(store, ['import', 'own', labels]);
    run(store, ['index', 'build']);
    run(store, ['ingest', 'ndjson', transfers, '--chain', 'ETH']);
    run(store, ['monitor', 'list']);
    expect(statSync(store).mode & 0o777).toBe(0o755);
    expect(readdirSync(store).length).toBeGreaterThan(3);
    expect(readable(store)).toEqual([]);
    const backup = join(folder, 'backup');
    mkdirSync(backup);
    run(store, ['backup', backup]);
    expect(readdirSync(backup)).toContain('BACKUP.json');
    expect(readable(backup)).toEqual([]);
  });
});

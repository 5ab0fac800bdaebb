/** `assay keys`: the creator of each key, and the revocation of its descendants. */
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { auditKeys, OPERATOR, openAuditLog } from '../../src/accounts/audit.ts';
import { openKeyStore } from '../../src/accounts/keys-lmdb.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { addKeysCommand } from '../../src/cli/keys.ts';
import type { Services } from '../../src/cli/services.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';

describe('assay keys', () => {
  const deps = { clock: systemClock, random: systemRandom, log: silentLogger };
  let folder: TempFolder;
  let store: ReturnType<typeof openKeyStore>;
  let log: ReturnType<typeof openAuditLog>;
  beforeEach(() => {
    folder = tempFolder();
    store = openKeyStore({ path: join(folder.path, 'keys.mdb') }, deps);
    log = openAuditLog({ path: join(folder.path, 'audit.mdb') }, deps);
  });
  afterEach(async () => {
    await store.close();
    await log.close();
    folder.remove();
  });

  async function run(...args: string[]): Promise<string> {
    let text = '';
    const out = new Writable({
      write(chunk, _encoding, done) {
        text += String(chunk);
        done();
      },
    });
    const terminal = { out, err: out, clock: systemClock, signal: new AbortController().signal };
    const services: Pick<Services, 'keys'> = { keys: () => auditKeys(store, () => log, OPERATOR) };
    const program = new Command();
    addKeysCommand(program, terminal, () => services as Services);
    await program.parseAsync(['node', 'assay', 'keys', ...args]);
    return text;
  }

  it('revokes a key alone and names its active descendants, or revokes them, too', async () => {
    const root = JSON.parse(await run('create', '--name', 'root', '--json')) as { id: string };
    const { record: child } = await store.create({ name: 'child', createdBy: root.id });
    const listed = JSON.parse(await run('list', '--json')) as { id: string; createdBy: string }[];
    expect(new Map(listed.map(({ id, createdBy }) => [id, createdBy]))).toEqual(
      new Map([
        [root.id, 'operator'],
        [child.id, root.id],
      ]),
    );
    expect(await run('list')).toMatch(/CREATED BY/);
    expect(await run('revoke', root.id)).toBe(
      `${root.id} (root) is revoked.\n${child.id} (child) was created with it and is active. Revoke it: --descendants\n`,
    );
    expect(store.get(child.id)?.status).toBe('ACTIVE');
    expect(await run('revoke', root.id, '--descendants')).toBe(
      `${root.id} (root) is revoked.\n${child.id} (child) is revoked.\n`,
    );
    const again = JSON.parse(await run('revoke', root.id, '--descendants', '--json')) as object;
    expect(again).toMatchObject({ id: root.id, revokedDescendants: [], activeDescendants: [] });
    expect(log.newest(1)).toMatchObject([{ who: 'operator', action: 'key.revoke', subject: root.id }]);
  });
});

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../src/base/random.ts';
import { openEncryption } from '../../src/state/encryption.ts';

describe('the encryption at rest of an installation', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-encryption-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const open = (name = 'key') => openEncryption({ path: join(folder, name) }, { random: systemRandom });

  it('decrypts its texts after a restart, and hides the secret', () => {
    const encrypted = open().encrypt('whsec_secret', 'webhook:a');
    expect(encrypted).not.toContain('secret');
    expect(open().decrypt(encrypted, 'webhook:a')).toBe('whsec_secret');
    expect(open().encrypt('whsec_secret', 'webhook:a')).not.toBe(encrypted);
  });

  it('makes the key file readable for its owner only', () => {
    open();
    expect(statSync(join(folder, 'key')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, 'key'))).toHaveLength(32);
  });

  it('makes the key although a process of the same id was killed while it made one', () => {
    writeFileSync(join(folder, `killed.${process.pid}`), 'half a key');
    const encrypted = open('killed').encrypt('secret', 'webhook:a');
    expect(open('killed').decrypt(encrypted, 'webhook:a')).toBe('secret');
  });

  it('rejects a text that was changed, that belongs to another context, or that another key encrypted', () => {
    const encrypted = open().encrypt('secret', 'webhook:a');
    const changed = Buffer.from(encrypted, 'base64');
    changed[14] = (changed[14] as number) ^ 1;
    expect(() => open().decrypt(changed.toString('base64'), 'webhook:a')).toThrow(/cannot be decrypted/);
    expect(() => open().decrypt(encrypted, 'webhook:b')).toThrow(/cannot be decrypted/);
    expect(() => open('other').decrypt(encrypted, 'webhook:a')).toThrow(/cannot be decrypted/);
    expect(() => open().decrypt('', 'webhook:a')).toThrow(/cannot be decrypted/);
  });

  it('derives the same key on all nodes with one cluster secret, and keeps an existing key', () => {
    const node = (name: string, clusterSecret: string) =>
      openEncryption({ path: join(folder, name), clusterSecret }, { random: systemRandom });
    const encrypted = node('api', 'a secret of all').encrypt('secret', 'webhook:a');
    expect(node('delivery', 'a secret of all').decrypt(encrypted, 'webhook:a')).toBe('secret');
    expect(node('delivery', 'the next secret').decrypt(encrypted, 'webhook:a')).toBe('secret');
    expect(() => node('stranger', 'another secret').decrypt(encrypted, 'webhook:a')).toThrow(
      /cannot be decrypted/,
    );
    const alone = open('alone').encrypt('secret', 'webhook:a');
    expect(node('alone', 'a secret of all').decrypt(alone, 'webhook:a')).toBe('secret');
  });

  it('derives another key in another installation with the same secret', () => {
    const node = (name: string, scope: string) =>
      openEncryption(
        { path: join(folder, name), clusterSecret: 'a secret of two', scope },
        { random: systemRandom },
      );
    const encrypted = node('of-one', 'one').encrypt('secret', 'webhook:a');
    expect(node('of-one-too', 'one').decrypt(encrypted, 'webhook:a')).toBe('secret');
    expect(() => node('of-other', 'other').decrypt(encrypted, 'webhook:a')).toThrow(/cannot be decrypted/);
    expect(() => node('of-older', '').decrypt(encrypted, 'webhook:a')).toThrow(/cannot be decrypted/);
  });

  it('keeps a key file that is damaged, and reports it', () => {
    writeFileSync(join(folder, 'broken'), 'short');
    expect(() => open('broken')).toThrow(/is not a key/);
    expect(readFileSync(join(folder, 'broken'), 'utf8')).toBe('short');
  });
});

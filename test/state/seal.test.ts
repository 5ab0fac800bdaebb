import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../src/base/random.ts';
import { openSeal } from '../../src/state/seal.ts';

describe('the seal of an installation', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-seal-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const open = (name = 'key') => openSeal({ path: join(folder, name) }, { random: systemRandom });

  it('opens what it sealed, also after a restart, and shows nothing of it', () => {
    const sealed = open().seal('whsec_secret', 'webhook:a');
    expect(sealed).not.toContain('secret');
    expect(open().open(sealed, 'webhook:a')).toBe('whsec_secret');
    expect(open().seal('whsec_secret', 'webhook:a')).not.toBe(sealed);
  });

  it('keeps its key from others', () => {
    open();
    expect(statSync(join(folder, 'key')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, 'key'))).toHaveLength(32);
  });

  it('does not open what was changed, what belongs elsewhere, or what another key sealed', () => {
    const sealed = open().seal('secret', 'webhook:a');
    const changed = Buffer.from(sealed, 'base64');
    changed[14] = (changed[14] as number) ^ 1;
    expect(() => open().open(changed.toString('base64'), 'webhook:a')).toThrow(/does not open/);
    expect(() => open().open(sealed, 'webhook:b')).toThrow(/does not open/);
    expect(() => open('other').open(sealed, 'webhook:a')).toThrow(/does not open/);
    expect(() => open().open('', 'webhook:a')).toThrow(/does not open/);
  });

  it('is the same at all nodes that are given one secret, and stays what it was where there is a key', () => {
    const node = (name: string, clusterSecret: string) =>
      openSeal({ path: join(folder, name), clusterSecret }, { random: systemRandom });
    const sealed = node('api', 'a secret of all').seal('secret', 'webhook:a');
    expect(node('delivery', 'a secret of all').open(sealed, 'webhook:a')).toBe('secret');
    expect(node('delivery', 'the next secret').open(sealed, 'webhook:a')).toBe('secret');
    expect(() => node('stranger', 'another secret').open(sealed, 'webhook:a')).toThrow(/does not open/);
    const alone = open('alone').seal('secret', 'webhook:a');
    expect(node('alone', 'a secret of all').open(alone, 'webhook:a')).toBe('secret');
  });

  it('is another one in another installation with the same secret', () => {
    const node = (name: string, scope: string) =>
      openSeal(
        { path: join(folder, name), clusterSecret: 'a secret of two', scope },
        { random: systemRandom },
      );
    const sealed = node('of-one', 'one').seal('secret', 'webhook:a');
    expect(node('of-one-too', 'one').open(sealed, 'webhook:a')).toBe('secret');
    expect(() => node('of-other', 'other').open(sealed, 'webhook:a')).toThrow(/does not open/);
    expect(() => node('of-older', '').open(sealed, 'webhook:a')).toThrow(/does not open/);
  });

  it('does not put a new key over a file that is none', () => {
    writeFileSync(join(folder, 'broken'), 'short');
    expect(() => open('broken')).toThrow(/is not a key/);
    expect(readFileSync(join(folder, 'broken'), 'utf8')).toBe('short');
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTokenDigest, isTokenShaped, newToken } from '../../src/accounts/key-token.ts';
import type { KeyRecord } from '../../src/accounts/keys.ts';
import { openKeyStore } from '../../src/accounts/keys-lmdb.ts';
import { VerifiedKeys } from '../../src/accounts/verified-keys.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { type Random, seededUint32, systemRandom } from '../../src/base/random.ts';
import {
  type LiveDatabase,
  type LiveStore,
  type OpenStore,
  openLiveStore,
} from '../../src/state/live-store.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { type KeyAction, keyStoreConformance } from '../conformance/keys.ts';
import { overLiveStates } from '../setup/live-state.ts';
import { inOtherProcess } from './other-process.ts';
import { memoryFolder, type TempFolder, tempFolder } from './temp-folder.ts';

overLiveStates((makeState, name) =>
  keyStoreConformance(name, async () => {
    const folder = tempFolder();
    const path = join(folder.path, 'keys.mdb');
    const state = makeState();
    let live: LiveStore | null = null;
    const world = {
      now: Date.UTC(2026, 10, 21),
      async open() {
        const clock = { now: () => world.now, monotonic: () => 0 };
        const openStore: OpenStore = (...store) => {
          live = state.openStore(...store);
          return live;
        };
        const keys = openKeyStore({ path }, { clock, random: systemRandom, log: silentLogger, openStore });
        await state.ready();
        return keys;
      },
      elsewhere: <T>(action: KeyAction) => inOtherProcess<T>(path, action, state.url),
      async settled() {
        const written = await state.versionOf('keys');
        await expect.poll(() => live?.version()).toBe(written);
      },
      async dispose() {
        await state.close();
        folder.remove();
      },
    };
    return world;
  }),
);

describe('a store with many revoked keys', () => {
  const deps = { clock: systemClock, random: systemRandom, log: silentLogger };
  let folder: TempFolder;
  let path: string;
  beforeEach(() => {
    folder = memoryFolder();
    path = join(folder.path, 'keys.mdb');
  });
  afterEach(() => folder.remove());

  it('reads only those that are shown', async () => {
    let read = 0;
    let isOpen = false;
    const openStore: OpenStore = (...store) => {
      const live = openLiveStore(...store);
      const openDB = live.root.openDB.bind(live.root);
      live.root.openDB = ((options: { name: string }) => {
        const database = openDB(options as never);
        if (options.name !== 'keys') return database;
        const get = database.get.bind(database);
        return Object.assign(Object.create(database), {
          get(key: string) {
            read++;
            return get(key);
          },
          getRange: () => (isOpen ? expect.fail('all keys are read') : database.getRange()),
        });
      }) as never;
      return live;
    };
    const keys = openKeyStore({ path }, { ...deps, openStore });
    isOpen = true;
    const { record } = await keys.create({ name: 'first' });
    const child = await keys.create({ name: 'child', createdBy: record.id });
    /** Numbers of rows that each call reads. */
    const reads = async (): Promise<number[]> => {
      const counts: number[] = [];
      for (const call of [
        () => keys.active('local'),
        () => keys.shown('local', 2),
        () => keys.descendants(record.id),
        () => keys.revokeWithDescendants(child.record.id),
      ]) {
        read = 0;
        await call();
        counts.push(read);
      }
      return counts;
    };
    const before = await reads();
    const created = await Promise.all(
      Array.from({ length: 300 }, () => keys.create({ name: 'short-lived' })),
    );
    await Promise.all(created.map((one) => keys.revoke(one.record.id)));
    const after = await reads();
    expect(after.map((count, at) => count - (before[at] as number))).toEqual([-1, 1, 0, 0]);
    await keys.close();
    // As an earlier version leaves them.
    const earlier = openLiveStore(path, 1);
    await earlier.root.openDB({ name: 'lists', encoding: 'json' }).clearAsync();
    for (const name of ['listed', 'listings']) await earlier.meta.remove(name);
    await earlier.root.close();
    isOpen = false;
    const again = openKeyStore({ path }, { ...deps, openStore });
    await expect
      .poll(() => {
        read = 0;
        const active = again.active('local');
        return [active.map(({ id }) => id), read];
      })
      .toEqual([[record.id], 1]);
    expect(again.shown('local', 1_000)).toEqual(again.list('local'));
    await again.close();
  });

  it('shows what a version of the program without the lists has changed', async () => {
    let keys = openKeyStore({ path }, deps);
    const { record: first } = await keys.create({ name: 'first' });
    const { record: child } = await keys.create({ name: 'child', createdBy: first.id });
    const { record: grandchild } = await keys.create({ name: 'grandchild', createdBy: child.id });
    await keys.close();
    /** Revokes a key as that version does. */
    const revokeAsBefore = ({ root, meta }: LiveStore, id: string): Promise<void> => {
      const rows: LiveDatabase<object, string> = root.openDB({ name: 'keys', encoding: 'json' });
      return root.transaction(() => {
        rows.putSync(id, { ...rows.get(id), status: 'REVOKED' });
        meta.putSync('generation', (meta.get('generation') ?? 0) + 1);
      });
    };
    let live: LiveStore = openLiveStore(path, 1);
    await revokeAsBefore(live, child.id);
    await live.root.close();
    const openStore: OpenStore = (...store) => {
      live = openLiveStore(...store);
      return live;
    };
    keys = openKeyStore({ path }, { ...deps, openStore });
    const statuses = (): string[] => keys.shown('local', 9).map(({ status }) => status);
    expect(keys.active('local')).toHaveLength(2);
    expect(statuses().sort()).toEqual(['ACTIVE', 'ACTIVE', 'REVOKED']);
    // While this version has the store open, too.
    await revokeAsBefore(live, grandchild.id);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(keys.active('local').map(({ id }) => id)).toEqual([first.id]);
    expect(statuses().sort()).toEqual(['ACTIVE', 'REVOKED', 'REVOKED']);
    expect(keys.descendants(first.id)).toHaveLength(2);
    await keys.create({ name: 'last', createdBy: first.id });
    expect(keys.descendants(first.id)).toHaveLength(3);
    expect(statuses().sort()).toEqual(['ACTIVE', 'ACTIVE', 'REVOKED', 'REVOKED']);
    await keys.revokeWithDescendants(first.id);
    expect(keys.active('local')).toEqual([]);
    await keys.close();
  });
});

function seeded(seed: number): Random {
  const next = seededUint32(seed);
  return { bytes: (count) => Uint8Array.from({ length: count }, () => next() & 0xff) };
}

/** HalfSipHash with 1 + 3 rounds, in the order of its definition (Aumasson and Bernstein), without the block of the length. */
function halfSipHash(key0: number, key1: number, words: readonly number[]): [number, number] {
  const rotated = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));
  let [v0, v1, v2, v3] = [key0, key1, key0 ^ 0x6c796765, key1 ^ 0x74656462];
  const round = (): void => {
    v0 = (v0 + v1) | 0;
    v1 = rotated(v1, 5) ^ v0;
    v0 = rotated(v0, 16);
    v2 = (v2 + v3) | 0;
    v3 = rotated(v3, 8) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = rotated(v3, 7) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = rotated(v1, 13) ^ v2;
    v2 = rotated(v2, 16);
  };
  v1 ^= 0xee;
  for (const word of words) {
    v3 ^= word;
    round();
    v0 ^= word;
  }
  v2 ^= 0xee;
  for (let left = 3; left > 0; left--) round();
  const first = (v1 ^ v3) >>> 0;
  v1 ^= 0xdd;
  for (let left = 3; left > 0; left--) round();
  return [first, (v1 ^ v3) >>> 0];
}

describe('the text of a key', () => {
  it('has the prefix, 32 base62 characters and 6 of their CRC-32', () => {
    for (let seed = 0; seed < 200; seed++) {
      const token = newToken(seeded(seed));
      expect(token).toMatch(/^assay_live_[0-9A-Za-z]{38}$/);
      expect(isTokenShaped(token)).toBe(true);
    }
  });

  it('contains the CRC-32 that zlib computes', () => {
    // zlib.crc32('0' * 32), as Python computes it.
    const crc = 2_700_251_856;
    const token = newToken({ bytes: (count) => new Uint8Array(count) });
    expect(token.slice(11, 43)).toBe('0'.repeat(32));
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    expect([...token.slice(43)].reduce((value, digit) => value * 62 + digits.indexOf(digit), 0)).toBe(crc);
  });

  it('is rejected without the store if a character was changed', () => {
    const token = newToken(seeded(7));
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: token.length - 1 }),
        fc.string({ minLength: 1, maxLength: 1 }),
        (at, char) => {
          fc.pre(token[at] !== char);
          expect(isTokenShaped(token.slice(0, at) + char + token.slice(at + 1))).toBe(false);
        },
      ),
    );
  });

  it('has a digest that depends on every character and on the process', () => {
    const digestOf = createTokenDigest(seeded(1));
    const token = newToken(seeded(2));
    const words = (text: string, digest = digestOf): string => {
      const out = new Uint32Array(4);
      digest(text, out);
      return out.join(' ');
    };
    for (let at = 11; at < token.length; at++) {
      const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
      expect(words(changed)).not.toBe(words(token));
    }
    expect(words(token)).toBe(words(token));
    expect(words(token, createTokenDigest(seeded(3)))).not.toBe(words(token));
  });

  it('has a digest of two lanes of HalfSipHash-1-3 with 64 bits each', () => {
    const token = newToken(seeded(2));
    const out = new Uint32Array(4);
    createTokenDigest(seeded(1))(token, out);
    const key = new Int32Array(Uint8Array.from(seeded(1).bytes(16)).buffer);
    const text = Buffer.from(token.slice('assay_live_'.length));
    // Words of four characters; the last one overlaps the word before.
    const starts = [0, 4, 8, 12, 16, 20, 24, 28, 32, text.length - 4];
    const words = starts.map((start) => text.readInt32LE(start));
    expect([...out]).toEqual([
      ...halfSipHash(key[0] as number, key[1] as number, words),
      ...halfSipHash(key[2] as number, key[3] as number, words),
    ]);
  });
});

describe('the table of verified keys', () => {
  it('finds exactly the added keys, through every growth', () => {
    const table = new VerifiedKeys(5000);
    const next = seededUint32(1);
    const digests = Array.from({ length: 3000 }, () => Uint32Array.from({ length: 4 }, next));
    const records = digests.map((_, index) => ({ id: `key-${index}` }) as never as KeyRecord);
    for (const [index, digest] of digests.entries()) table.add(digest, records[index]!, 1);
    for (const [index, digest] of digests.entries()) {
      expect(table.use(digest, 2)).toBe(records[index]);
      const near = Uint32Array.from(digest);
      near[index % 4]! ^= 1;
      expect(table.use(near, 2)).toBeUndefined();
    }
    table.clear();
    expect(table.use(digests[0]!, 2)).toBeUndefined();
  });

  it('returns the last use of each key once, through every growth', () => {
    const table = new VerifiedKeys(5000);
    const next = seededUint32(2);
    const digests = Array.from({ length: 300 }, () => Uint32Array.from({ length: 4 }, next));
    const taken = (): Map<string, number> => {
      const uses = new Map<string, number>();
      table.takeUses((id, usedMs) => uses.set(id, usedMs));
      return uses;
    };
    const atMs = 1_795_910_000_123;
    for (const [index, digest] of digests.entries())
      table.add(digest, { id: `key-${index}` } as never as KeyRecord, atMs + index);
    expect(taken()).toEqual(new Map(digests.map((_, index) => [`key-${index}`, atMs + index])));
    expect(taken().size).toBe(0);
    // An earlier time, after the clock was set back, is no later use.
    table.use(digests[0]!, atMs - 5000);
    table.use(digests[1]!, 2 ** 33);
    table.use(digests[2]!, atMs + 60_000);
    for (let more = 0; more < 300; more++)
      table.add(Uint32Array.from({ length: 4 }, next), { id: 'more' } as never as KeyRecord, 0);
    expect(taken()).toEqual(new Map([['key-2', atMs + 60_000]]));
  });
});

describe('a store of an unknown format', () => {
  let folder: TempFolder;
  beforeEach(() => {
    folder = tempFolder();
  });
  afterEach(() => folder.remove());

  it('is rejected by its version, and not changed', async () => {
    const path = join(folder.path, 'x.mdb');
    const { root } = openLiveStore(path, 2);
    await root.close();
    expect(() => openLiveStore(path, 1)).toThrow(/format version 2.*version 1 only/);
    const again = openLiveStore(path, 2);
    expect(again.meta.get('formatVersion')).toBe(2);
    await again.root.close();
  });

  it('is rejected if it is an environment of another program', async () => {
    const path = join(folder.path, 'x.mdb');
    const foreign = openEnvironment(path, { maxDbs: 4, noSubdir: true });
    await foreign.openDB({ name: 'things' }).put('a', 1);
    await foreign.close();
    expect(() => openLiveStore(path, 1)).toThrow(/format version unknown/);
  });

  it('is rejected if it is not an environment', () => {
    const path = join(folder.path, 'x.mdb');
    writeFileSync(path, 'these are not the pages of a database, but more than one page of it '.repeat(500));
    expect(() => openLiveStore(path, 1)).toThrow(/is not a store of Assay/);
  });
});

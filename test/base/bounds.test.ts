/** The bounds of the modules that everything else rests on: at exactly a limit and one beyond it, and each half of a condition. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import type { Logger } from '../../src/base/log.ts';
import { checkOutboundUrl, isPublicAddress, PUBLIC_HTTPS } from '../../src/base/outbound.ts';
import { processMemory } from '../../src/base/process-memory.ts';
import { seededUint32, systemRandom } from '../../src/base/random.ts';
import { sleep } from '../../src/base/retry.ts';
import { Slots } from '../../src/base/threads.ts';
import { within } from '../../src/base/within.ts';
import { readJson, writeJsonAtomically } from '../../src/state/atomic-file.ts';
import { createEncryption, openEncryption } from '../../src/state/encryption.ts';
import {
  isLeaseLive,
  isRunning,
  leaseText,
  processStart,
  sweepLeases,
  takeLease,
} from '../../src/state/file-lease.ts';
import { hasFinishedSize } from '../../src/state/finished-size.ts';
import { decrypts } from '../../src/state/key-trial.ts';
import { createEmbeddedLeases, underLease } from '../../src/state/leases.ts';
import { openLiveStore } from '../../src/state/live-store.ts';
import { DamagedPages, openPageFile } from '../../src/state/lmdb-pages.ts';
import { parseRedisUrl } from '../../src/state/redis-url.ts';
import {
  isLoopback,
  optionalBucket,
  optionalHostAndPort,
  optionalPullPlace,
} from '../../src/state/snapshot-places.ts';
import { createStateLog } from '../../src/state/state-log.ts';
import {
  asStorageFull,
  isLibraryError,
  isStorageFull,
  noteRefused,
  noteRoom,
  noteWritten,
  refusedNow,
  storageFull,
} from '../../src/state/storage.ts';
import { decodeWrites, encodeWrites, fieldOf, partsOfField } from '../../src/state/write-set.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';

let folder: TempFolder;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(() => folder.remove());

const coded = (code: string | number, message = 'no'): Error => Object.assign(new Error(message), { code });

describe('outbound URLs', () => {
  it('are public from the first to the last address beside a special block', () => {
    const isPublic = [
      '9.255.255.255',
      '11.0.0.0',
      '100.63.255.255',
      '100.128.0.0',
      '172.15.255.255',
      '172.32.0.0',
      '223.255.255.255',
      '2606::1',
    ];
    const isSpecial = [
      '10.0.0.0',
      '10.255.255.255',
      '100.64.0.0',
      '100.127.255.255',
      '172.16.0.0',
      '172.31.255.255',
      '224.0.0.0',
      '255.255.255.255',
      '::1',
      'fe80::1',
      '2001:db8::1',
      '2002::1',
      'x',
      '',
    ];
    expect(isPublic.filter((ip) => !isPublicAddress(ip))).toEqual([]);
    expect(isSpecial.filter(isPublicAddress)).toEqual([]);
  });

  it('carry neither a user nor a password', () => {
    const refused = (url: string, policy = PUBLIC_HTTPS) => {
      try {
        checkOutboundUrl(new URL(url), policy);
        return null;
      } catch (error) {
        return (error as Error).message.replace(/.*: /, '');
      }
    };
    expect(refused('https://u@example.org/')).toContain('credentials');
    expect(refused('https://:p@example.org/')).toContain('credentials');
    expect(refused('https://example.org/')).toBeNull();
    const trusted = { trustedHosts: new Set(['10.0.0.1']) };
    expect(refused('http://10.0.0.1/', trusted)).toBeNull();
    expect(refused('ftp://10.0.0.1/', trusted)).toContain('only https');
    expect(refused('http://10.0.0.2/', trusted)).toContain('only https');
    expect(refused('https://[::1]/')).toContain('not public');
  });
});

describe('seeded numbers', () => {
  it('are the same on every machine', () => {
    const first = (seed: number) => {
      const next = seededUint32(seed);
      return [next(), next(), next()];
    };
    expect(first(0)).toEqual([2_266_749_544, 3_859_721_991, 3_128_767_472]);
    expect(first(1)).toEqual([3_359_835_970, 1_182_520_828, 4_267_878_529]);
    expect(first(2 ** 32 + 1)).toEqual(first(1));
  });
});

describe.skipIf(process.platform !== 'linux')('the memory of a process', () => {
  it('is its own and that of mapped files, or unknown', () => {
    const { ownBytes = 0, mappedBytes = 0 } = processMemory() ?? {};
    // A process of Node has at least ten megabytes of each, and never as much as a terabyte.
    for (const bytes of [ownBytes, mappedBytes]) {
      expect(bytes).toBeGreaterThan(10 * 2 ** 20);
      expect(bytes).toBeLessThan(2 ** 40);
    }
    expect(processMemory(process.pid)).not.toBeNull();
    expect(processMemory(2 ** 30)).toBeNull();
  });
});

describe('slots', () => {
  it('are stopped by a count below zero only', () => {
    const slots = Slots.of(1);
    expect(slots.isStopped).toBe(false);
    slots.take();
    expect(slots.isStopped).toBe(false);
    slots.give(1);
    expect(slots.wait()).toBe(true);
  });
});

describe('the URL of a Redis', () => {
  it('names ports from 1 to 65535', () => {
    const portOf = (port: number | string) => parseRedisUrl(`redis://a:${port}`).nodes[0]?.port;
    expect([1, 6_379, 65_535].map(portOf)).toEqual([1, 6_379, 65_535]);
    for (const port of [0, 65_536, 99_999, ''])
      expect(() => portOf(port), String(port)).toThrow('The Redis URL');
    expect(parseRedisUrl('redis://a').nodes).toEqual([{ host: 'a', port: 6_379 }]);
  });
});

describe('a stored text of trial', () => {
  const encryptionOf = (error: Error | null) =>
    ({
      decrypt() {
        if (error !== null) throw error;
        return '';
      },
    }) as never;

  it('is opened, or belongs to another key; any other error is passed on', () => {
    expect(decrypts(encryptionOf(null), 'x', 'y')).toBe(true);
    expect(decrypts(encryptionOf(new AssayError('STORE_CORRUPT', 'x')), 'x', 'y')).toBe(false);
    for (const error of [new Error('out of memory'), new AssayError('INVALID_CONFIG', 'no key')])
      expect(() => decrypts(encryptionOf(error), 'x', 'y')).toThrow(error.message);
  });
});

describe('a full disk', () => {
  it('is known by a code or a text, up to eight causes deep', () => {
    let error: Error = coded('ENOSPC');
    for (let depth = 0; depth < 7; depth++) error = new Error('outer', { cause: error });
    expect(isStorageFull(error)).toBe(true);
    expect(isStorageFull(new Error('outer', { cause: error }))).toBe(false);
    expect(
      [new Error('No space left on device'), coded(28), coded(-30_792), coded('EDQUOT')].map(isStorageFull),
    ).toEqual(Array(4).fill(true));
    expect(
      [coded('EACCES'), new Error('no'), 'ENOSPC', null, coded('EACCES', 'No space left on device')].map(
        isStorageFull,
      ),
    ).toEqual(Array(5).fill(false));
    expect(isStorageFull(new AssayError('STORAGE_FULL', 'x'))).toBe(true);
    expect(isStorageFull(new AssayError('INTERNAL', 'x', { cause: coded('ENOSPC') }))).toBe(false);
    expect([coded(28), coded('ENOSPC'), new Error('x', { cause: coded(5) })].map(isLibraryError)).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('is named with the file that could not be written', () => {
    const path = (error: unknown) => (asStorageFull(error, '/given') as Error).message.split(' ')[0];
    expect(path(coded('ENOSPC'))).toBe('/given');
    expect(path(Object.assign(coded('ENOSPC'), { path: '/from' }))).toBe('/from');
    expect(path(Object.assign(coded('ENOSPC'), { path: '/from', dest: '/to' }))).toBe('/to');
    const other = coded('EACCES');
    expect(asStorageFull(other, '/given')).toBe(other);
    const said = new AssayError('INTERNAL', 'x');
    expect(asStorageFull(said, '/given')).toBe(said);
    expect(storageFull('/given', null).message).toContain('no space is left');
  });

  it('is recorded once for each path, until a write succeeds or its folder has room', () => {
    noteRefused('/d/a', coded('EACCES'));
    expect(refusedNow()).toEqual([]);
    noteRefused('/d/a', storageFull('/d/a', coded('ENOSPC')));
    noteRefused('/d/a', storageFull('/other', coded('EIO')));
    noteRefused('/dd', storageFull('/dd', coded('EIO')));
    noteRefused('/d', storageFull('/d', coded('EIO')));
    expect(refusedNow().map(({ path }) => path)).toEqual(['/d/a', '/dd', '/d']);
    expect(refusedNow()[0]?.reason).toContain('/d/a');
    noteRoom('/d');
    expect(refusedNow().map(({ path }) => path)).toEqual(['/dd']);
    noteWritten('/x');
    noteWritten('/dd');
    expect(refusedNow()).toEqual([]);
  });
});

describe('places of snapshots', () => {
  it('have ports from 0 to 65535', () => {
    const read = (text: string) => optionalHostAndPort(text, 'ASSAY_X');
    expect(read('')).toBeNull();
    expect(read('host:0')).toEqual({ host: 'host', port: 0 });
    expect(read('[::1]:65535')).toEqual({ host: '::1', port: 65_535 });
    for (const text of ['host:65536', 'host', 'host:', ':1', 'a b:1', 'host:123456'])
      expect(() => read(text), text).toThrow('ASSAY_X: must be');
    expect(
      ['localhost', '::1', '127.0.0.1', '127.9.9.9', '128.0.0.1', '127.example.org', '::2'].map(isLoopback),
    ).toEqual([true, true, true, true, false, false, false]);
  });

  it('have buckets and prefixes without odd parts', () => {
    const read = (text: string) => optionalBucket(text, 'ASSAY_X');
    expect(read('')).toBeNull();
    expect(read('s3://abc')).toEqual({ bucket: 'abc', prefix: '' });
    expect(read('s3://abc/a/b/')).toEqual({ bucket: 'abc', prefix: 'a/b' });
    expect(read(`s3://${'a'.repeat(63)}/${'p'.repeat(512)}`)?.prefix).toHaveLength(512);
    for (const text of [
      's3://ab',
      `s3://${'a'.repeat(64)}`,
      `s3://abc/${'p'.repeat(513)}`,
      's3://abc/a/../b',
      's3://abc/./b',
      's3://abc/a//b',
      's3://Abc',
      'http://abc',
      's3://abc/a b',
    ])
      expect(() => read(text), text).toThrow('ASSAY_X: must be');
  });

  it('are pulled from http, https or s3 without user, password and query', () => {
    const read = (text: string) => optionalPullPlace(text, 'ASSAY_X');
    expect(read('')).toBeNull();
    expect(read('s3://abc')).toEqual({ bucket: 'abc', prefix: '' });
    expect([read('http://h/x'), read('https://h/x')]).toEqual([
      { url: 'http://h/x' },
      { url: 'https://h/x' },
    ]);
    for (const text of ['http://u@h/', 'http://:secret@h/', 'http://h/?q', 'ftp://h/', 'nothing'])
      expect(() => read(text), text).toThrow('ASSAY_X: must be');
    expect(() => read('http://u:secret@h/')).toThrow(/^(?!.*secret)/);
  });
});

describe('a write set', () => {
  it('is the same after encoding and decoding, and rejected if a byte is missing', () => {
    const writes = [
      { database: 'd', key: Buffer.from('k'), value: Buffer.from('value') },
      { database: 'e', key: Buffer.alloc(0), value: null },
      { database: 'f', key: Buffer.from('k'), value: Buffer.alloc(0) },
    ];
    const bytes = encodeWrites(writes);
    expect(decodeWrites(bytes)).toEqual(writes);
    expect(decodeWrites(Buffer.alloc(0))).toEqual([]);
    const whole = new Set([1 + 1 + 1 + 8 + 5, 1 + 1 + 1 + 8 + 5 + 8 + 2]);
    for (let cut = 1; cut < bytes.length; cut++)
      if (!whole.has(cut))
        expect(() => decodeWrites(bytes.subarray(0, cut)), String(cut)).toThrow('Redis holds a write set');
  });

  it('has names of 63 and keys of 1900 bytes', () => {
    const [name, key] = ['n'.repeat(63), Buffer.alloc(1_900)];
    expect(partsOfField(fieldOf(name, key))).toEqual({ database: name, key });
    expect(() => fieldOf(`${name}n`, key)).toThrow('too long');
    expect(() => fieldOf(name, Buffer.alloc(1_901))).toThrow('too long');
  });
});

describe('the log of states', () => {
  it('logs when the first part enters and the last part leaves', () => {
    const log = createStateLog();
    const said: string[] = [];
    const enter = (part: string) => log.enter('s', part, () => said.push(`+${part}`));
    const leave = (part: string) => log.leave('s', part, () => said.push(`-${part}`));
    leave('a');
    for (const part of ['a', 'a', 'b']) enter(part);
    leave('c');
    leave('a');
    leave('a');
    leave('b');
    enter('c');
    log.enter('t', 'a', () => said.push('t'));
    expect(said).toEqual(['+a', '-b', '+c', 't']);
  });
});

describe('waiting', () => {
  it('ends with the promise, or when its time is over', async () => {
    expect(await within(60_000, Promise.resolve(1), 'x')).toBe(1);
    await expect(within(60_000, Promise.reject(new Error('own')), 'x')).rejects.toThrow('own');
    await expect(within(1, new Promise(() => {}), 'The thing')).rejects.toThrow(
      'The thing did not respond within 1 ms.',
    );
    const stop = new AbortController();
    stop.abort();
    await sleep(60_000, stop.signal);
    const later = new AbortController();
    const paused = sleep(60_000, later.signal);
    later.abort();
    await paused;
    await sleep(1, new AbortController().signal);
  });
});

describe('an encrypted secret', () => {
  it('is rejected if it is too short, or if the key does not have 32 bytes', () => {
    const encryption = createEncryption(new Uint8Array(32), systemRandom);
    const sealed = encryption.encrypt('', 'c');
    expect(encryption.decrypt(sealed, 'c')).toBe('');
    for (const wrong of ['', 'AAAA', Buffer.from(sealed, 'base64').subarray(0, -1).toString('base64')])
      expect(() => encryption.decrypt(wrong, 'c')).toThrow('cannot be decrypted');
    const path = join(folder.path, 'key');
    for (const bytes of [31, 33]) {
      writeFileSync(path, Buffer.alloc(bytes));
      expect(() => openEncryption({ path }, { random: systemRandom })).toThrow('not a key of 32 bytes');
    }
    mkdirSync(join(folder.path, 'folder'));
    expect(() => openEncryption({ path: join(folder.path, 'folder') }, { random: systemRandom })).toThrow(
      'cannot be read',
    );
  });
});

describe('leases of this machine', () => {
  it('are held by one holder for each store and name, and released once', async () => {
    const leases = createEmbeddedLeases();
    const first = await leases.take('s', 'n');
    expect(await leases.take('s', 'n')).toBeNull();
    expect(await leases.take('s', 'm')).not.toBeNull();
    expect(await leases.take('t', 'n')).not.toBeNull();
    expect(first?.isHeld()).toBe(true);
    await first?.release();
    expect(first?.isHeld()).toBe(false);
    const second = await leases.take('s', 'n');
    await first?.release();
    expect(await leases.take('s', 'n')).toBeNull();
    await second?.release();
  });

  it('are left to other nodes while there is an obstacle, which is logged once', async () => {
    const said: string[] = [];
    const log = new Proxy(
      {},
      { get: (_, level) => (_fields: object, text: string) => said.push(`${String(level)} ${text}`) },
    ) as Logger;
    const stop = new AbortController();
    const reasons = ['the disk is full', 'the disk is full', null, null];
    let worked = 0;
    await underLease(
      {
        store: 's',
        name: 'n',
        obstacle: async () => reasons.shift() ?? null,
        work: async () => {
          worked++;
          if (worked === 1) throw new Error('fails');
          stop.abort();
        },
      },
      stop.signal,
      { leases: createEmbeddedLeases(), log },
    );
    expect(worked).toBe(2);
    expect(said).toEqual([
      'error lease left to other nodes',
      'info lease can be taken again',
      'warn work under lease interrupted',
      'info lease held again',
    ]);
  });

  it('in files are live while their process holds them open', () => {
    const path = join(folder.path, `${process.pid}-0-0`);
    const lease = takeLease(path);
    expect(() => takeLease(path)).toThrow('EEXIST');
    expect([isLeaseLive(path), leaseText(path)]).toEqual([
      true,
      `${process.pid} ${processStart(process.pid) ?? '-'}`,
    ]);
    expect([isRunning(process.pid), isRunning(2 ** 22 + 1), processStart(2 ** 22 + 1)]).toEqual([
      true,
      false,
      null,
    ]);
    const dead = join(folder.path, 'dead');
    for (const text of [`${2 ** 22 + 1} -`, '0 -', '-1 -', 'x -', `${process.pid} 1`, `${process.pid} -`]) {
      writeFileSync(dead, text);
      // The last two name this process, which does not hold the file open.
      expect(isLeaseLive(dead), text).toBe(false);
    }
    expect(sweepLeases(folder.path)).toBe(true);
    expect(readdirSync(folder.path)).toEqual([`${process.pid}-0-0`]);
    lease.release();
    lease.release();
    expect([
      sweepLeases(folder.path),
      sweepLeases(join(folder.path, 'none')),
      isLeaseLive(path),
      leaseText(path),
    ]).toEqual([false, false, false, null]);
  });
});

describe('files', () => {
  it('are finished from the size that was noted on', () => {
    const [file, size] = [join(folder.path, 'a.mdb'), join(folder.path, 'a.size')];
    expect(hasFinishedSize(file, size)).toBe(false);
    writeFileSync(file, '');
    expect(hasFinishedSize(file, size)).toBe(false);
    writeFileSync(file, 'abc');
    expect(hasFinishedSize(file, size)).toBe(true);
    for (const [noted, finished] of [
      ['3', true],
      ['4', false],
      ['2', true],
    ] as const) {
      writeFileSync(size, noted);
      expect(hasFinishedSize(file, size)).toBe(finished);
    }
    expect(() => hasFinishedSize(file, folder.path)).toThrow('EISDIR');
  });

  it('are written whole, and leave nothing beside them if they fail', () => {
    const path = join(folder.path, 'below', 'x.json');
    writeJsonAtomically(path, { a: 1 });
    expect(readFileSync(path, 'utf8')).toMatch(/^\{"a":1,"crc32":"[0-9a-f]{8}"\}\n$/);
    expect(readJson(path)).toEqual({ a: 1 });
    mkdirSync(join(folder.path, 'taken', 'by'), { recursive: true });
    expect(() => writeJsonAtomically(join(folder.path, 'taken'), 1)).toThrow();
    expect(readdirSync(folder.path).sort()).toEqual(['below', 'taken']);
  });
});

describe('the header of a store', () => {
  it('is refused for each field that is wrong', async () => {
    const path = join(folder.path, 'x.mdb');
    const { root } = openLiveStore(path, 1, { name: 'keys' });
    const rows = root.openDB<string, string>({ name: 'rows', encoding: 'string' });
    for (let count = 0; count < 3; count++) await root.transaction(() => rows.putSync(`k${count}`, 'v'));
    await root.close();
    const sound = readFileSync(path);
    openPageFile(path).close();
    const pageBytes = sound.readUInt32LE(48);
    const refusal = (change: (bytes: Buffer) => unknown) => {
      const bytes = Buffer.from(sound);
      const changed = change(bytes);
      writeFileSync(path, changed instanceof Buffer ? changed : bytes);
      try {
        openPageFile(path).close();
        return null;
      } catch (error) {
        expect(error).toBeInstanceOf(DamagedPages);
        return (error as Error).message;
      }
    };
    expect(refusal((bytes) => bytes.subarray(0, 100))).toContain('its header alone has 8192');
    expect(refusal((bytes) => bytes.subarray(0, 2 * pageBytes - 1))).toContain(
      `its header alone has ${2 * pageBytes}`,
    );
    expect(refusal((bytes) => bytes.subarray(0, 2 * pageBytes))).toBeNull();
    for (const page of [0, pageBytes]) {
      const named = page === 0 ? 'not a store of Assay' : 'one of its two headers';
      expect(refusal((bytes) => void bytes.writeUInt32LE(0, page + 24))).toContain(named);
      expect(refusal((bytes) => void bytes.writeUInt16LE(0, page + 18))).toContain(named);
      expect(refusal((bytes) => void bytes.writeUInt16LE(9, page + 28))).toContain('its data format is 9');
    }
    for (const size of [128, 2 ** 17, pageBytes + 256])
      expect(refusal((bytes) => void bytes.writeUInt32LE(size, 48))).toContain(`pages of ${size} bytes`);
    expect(refusal((bytes) => void bytes.writeUInt32LE(256, pageBytes + 48))).toContain(
      'different page sizes',
    );
    writeFileSync(path, sound);
    const file = openPageFile(path);
    const transactions = [0, pageBytes].map((at) => Number(sound.readBigUInt64LE(at + 152)));
    expect(file.meta).toMatchObject({ pageBytes, transaction: Math.max(...transactions), isInStep: true });
    expect(file.hasMoved()).toBe(false);
    expect(file.read(0, 1)).toHaveLength(pageBytes);
    expect(file.read(sound.length / pageBytes, 1)).toHaveLength(0);
    expect(file.read(sound.length / pageBytes - 1, 2)).toHaveLength(pageBytes);
    writeFileSync(path, Buffer.concat([sound, Buffer.alloc(1)]));
    expect(file.hasMoved()).toBe(true);
    file.close();
  });
});

/** The bounds of accounts: what is accepted at exactly a limit, what is refused one beyond it, and when something expires. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Attempts,
  clientUnit,
  createAttempts,
  PASSWORD_ATTEMPTS,
  tooMany as tooManyOf,
} from '../../src/accounts/attempts.ts';
import { expectSound, openAuditLog } from '../../src/accounts/audit.ts';
import { creditsExhausted, monthTurn, readPackages, spend } from '../../src/accounts/credits.ts';
import { answerSlot, createIdempotency, replayed } from '../../src/accounts/idempotency.ts';
import { isTokenShaped, newToken, visibleParts } from '../../src/accounts/key-token.ts';
import type { KeyStore } from '../../src/accounts/keys.ts';
import { openKeyStore } from '../../src/accounts/keys-lmdb.ts';
import type { Booking } from '../../src/accounts/ledger.ts';
import { belowZero, checkBooking, checkSettlement } from '../../src/accounts/ledger-checks.ts';
import {
  decodeEntry,
  EMPTY_HEAD,
  encodeEntry,
  follow,
  sequenceOf,
  totalsSince,
} from '../../src/accounts/ledger-entry.ts';
import { faultOf } from '../../src/accounts/ledger-verify.ts';
import { ACCOUNT_LIMITS } from '../../src/accounts/limits.ts';
import { checkPassword, createPasswords } from '../../src/accounts/password.ts';
import { openPeopleStore } from '../../src/accounts/people-lmdb.ts';
import { emailOf, type Person } from '../../src/accounts/people-records.ts';
import type { PeopleStore } from '../../src/accounts/people-store.ts';
import { readPlans, readRateOverrides } from '../../src/accounts/plans.ts';
import { createRateLimiter } from '../../src/accounts/rate-limit.ts';
import { joined, partsOf } from '../../src/accounts/redis/answer-parts.ts';
import { createRateWindows } from '../../src/accounts/redis/rate-limit.ts';
import { systemClock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { shippedData } from '../../src/base/paths.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type OpenStore, openLiveStore } from '../../src/state/live-store.ts';
import { type TempFolder, tempFolder } from './temp-folder.ts';

const START = Date.UTC(2026, 10, 21);

const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return (error as AssayError).code;
  }
  return 'none';
};

describe('failed attempts', () => {
  let now: number;
  let attempts: Attempts;
  beforeEach(() => {
    now = 1_000;
    attempts = createAttempts({ clock: { now: () => START, monotonic: () => now } });
  });
  const begin = (account: string, address: string): string => codeOf(() => attempts.begin(account, address));

  it('allows exactly the maximum per account until the window ends', () => {
    for (let count = 0; count < ACCOUNT_LIMITS.attemptsPerAccountMax; count++)
      expect(begin('a', `${count}`)).toBe('none');
    expect(begin('a', 'x')).toBe('RATE_LIMITED');
    now += ACCOUNT_LIMITS.attemptWindowMs - 1;
    expect(begin('a', 'x')).toBe('RATE_LIMITED');
    now += 1;
    expect(begin('a', 'x')).toBe('none');
  });

  it('allows exactly the maximum per address, and does not count rejected attempts', () => {
    for (let count = 0; count < ACCOUNT_LIMITS.attemptsPerAddressMax - 1; count++) begin(`a${count}`, 'x');
    for (let count = 0; count < ACCOUNT_LIMITS.attemptsPerAccountMax; count++) begin('full', `y${count}`);
    expect(begin('full', 'x')).toBe('RATE_LIMITED');
    expect(begin('last', 'x')).toBe('none');
    expect(begin('beyond', 'x')).toBe('RATE_LIMITED');
    for (let count = 0; count < ACCOUNT_LIMITS.attemptsPerAccountMax; count++)
      expect(begin('beyond', `z${count}`)).toBe('none');
  });

  it('returns one attempt to an address after a success, and never more than it used', () => {
    void attempts.succeeded('a', 'x');
    for (let count = 0; count < ACCOUNT_LIMITS.attemptsPerAddressMax; count++) begin(`a${count}`, 'x');
    void attempts.succeeded('a0', 'x');
    expect(begin('b', 'x')).toBe('none');
    expect(begin('c', 'x')).toBe('RATE_LIMITED');
    now += ACCOUNT_LIMITS.attemptWindowMs;
    begin('d', 'w');
    void attempts.succeeded('d', 'w');
    void attempts.succeeded('d', 'w');
    for (let count = 0; count < ACCOUNT_LIMITS.attemptsPerAddressMax; count++)
      expect(begin(`d${count}`, 'w')).toBe('none');
    expect(begin('e', 'w')).toBe('RATE_LIMITED');
  });

  it('removes only the oldest window if the table is full', () => {
    for (let count = 0; count < ACCOUNT_LIMITS.attemptsPerAccountMax; count++)
      begin('oldest', `${count % 2}`);
    for (let count = 0; count < ACCOUNT_LIMITS.attemptsPerAccountMax; count++)
      begin('second', `${count % 2}`);
    // Windows so far: oldest, second and two addresses.
    for (let count = 4; count < ACCOUNT_LIMITS.attemptWindowsMax; count += 2)
      begin(`other${count}`, `from${count}`);
    expect(begin('oldest', '0')).toBe('RATE_LIMITED');
    begin('one more', '1');
    expect(begin('second', '0')).toBe('RATE_LIMITED');
    expect(begin('oldest', '1')).toBe('none');
  });

  it('returns a wait of at least one second', () => {
    const tooMany = (leftMs: number) => tooManyOf(leftMs, PASSWORD_ATTEMPTS);
    expect(tooMany(0).retryAfterSeconds).toBe(1);
    expect(tooMany(1_000).retryAfterSeconds).toBe(1);
    expect(tooMany(1_001).retryAfterSeconds).toBe(2);
  });

  it('uses a whole IPv4 address, and the first half of an IPv6 address', () => {
    expect(clientUnit('192.0.2.1')).toBe('192.0.2.1');
    expect(clientUnit('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2');
    expect(clientUnit('2001:db8::1')).toBe('2001:db8');
  });
});

describe('the audit log', () => {
  it('truncates long texts, keeps a null detail and passes verification', async () => {
    const folder = tempFolder();
    const log = openAuditLog(
      { path: join(folder.path, 'audit.mdb') },
      { clock: { now: () => START, monotonic: () => 0 } },
    );
    const fits = 'x'.repeat(ACCOUNT_LIMITS.auditTextMax);
    const event = { action: 'key.create', accountId: 'a', subject: null } as const;
    expect(await log.write({ ...event, who: fits, from: `${fits}y`, detail: `${fits}y` })).toMatchObject({
      who: fits,
      from: fits,
      detail: fits,
    });
    expect((await log.write({ ...event, who: 'b', from: 'c', detail: null })).detail).toBeNull();
    expect(log.newest(1)).toMatchObject([{ sequence: 2 }]);
    const report = await log.verify();
    expect(report).toMatchObject({ entries: 2, faults: [] });
    expectSound(report);
    expect(codeOf(() => expectSound({ ...report, faults: ['Entry 1 was changed.'] }))).toBe('STORE_CORRUPT');
    await log.close();
    folder.remove();
  });
});

describe('credits', () => {
  const standing = { balance: 10, free: 3, granted: 2, month: 100 };

  it('spends free credits, then granted ones, then bought ones', () => {
    expect(spend(standing, 3)).toMatchObject({ balance: 7, free: 0, granted: 2 });
    expect(spend(standing, 4)).toMatchObject({ balance: 6, free: 0, granted: 1 });
    expect(spend(standing, 6)).toMatchObject({ balance: 4, free: 0, granted: 0 });
  });

  it('books at most two entries at a month change, and none without an amount', () => {
    expect(monthTurn(standing, 100, 5)).toEqual([]);
    expect(monthTurn(standing, 99, 5)).toEqual([]);
    expect(monthTurn(standing, 101, 5)).toEqual([
      { type: 'EXPIRY', amount: -3, after: { balance: 7, free: 0, granted: 2, month: 100 } },
      { type: 'GRANT', amount: 5, after: { balance: 12, free: 5, granted: 2, month: 101 } },
    ]);
    expect(monthTurn(standing, 101, 0).map(({ type }) => type)).toEqual(['EXPIRY']);
    expect(monthTurn({ ...standing, free: 0 }, 101, 1).map(({ type }) => type)).toEqual(['GRANT']);
  });

  it('mentions only what applies in a 402', () => {
    const shortage = { needed: 1, available: 0, held: 0, freeCredits: 0, renewsAt: 'SOON' };
    const plain = creditsExhausted(shortage).message;
    expect(plain).toContain('costs 1 credit,');
    expect(plain).toMatch(/has 0 available\.$/);
    expect(plain).not.toMatch(/held|SOON/);
    const full = creditsExhausted({ ...shortage, needed: 2, held: 1, freeCredits: 1 }).message;
    expect(full).toContain('costs 2 credits,');
    expect(full).toContain('(1 more reserved by running requests)');
    expect(full).toContain('1 free credit will be added at SOON.');
  });

  it('reads whole numbers from 0 to 1e9 and names the field of any other', () => {
    const folder = tempFolder();
    const path = join(folder.path, 'plans.json');
    const read = (credits: unknown, priceUsd: unknown = 1) => {
      writeFileSync(path, JSON.stringify({ packages: [{ name: 'P', credits, priceUsd }] }));
      return readPackages(path);
    };
    expect(read(0)).toEqual([{ name: 'P', credits: 0, priceUsd: 1 }]);
    expect(read(1e9)[0]?.credits).toBe(1e9);
    for (const wrong of [-1, 1e9 + 1, 0.5, '1', null])
      expect(() => read(wrong)).toThrow('packages[0].credits');
    expect(() => read(1, 0.5)).toThrow('packages[0].priceUsd');
    writeFileSync(path, '{}');
    expect(readPackages(path)).toEqual([]);
    folder.remove();
  });
});

describe('an Idempotency-Key', () => {
  it('accepts 1 to the maximum number of printable characters', () => {
    const slot = (key: string) => answerSlot('a', 'POST', '/x', key);
    expect(slot('k'.repeat(ACCOUNT_LIMITS.idempotencyKeyTextMax))).toHaveLength(32);
    for (const key of ['', 'k'.repeat(ACCOUNT_LIMITS.idempotencyKeyTextMax + 1), 'a b', 'ä'])
      expect(codeOf(() => slot(key))).toBe('INVALID_REQUEST');
    expect(Buffer.from(slot('k'))).not.toEqual(Buffer.from(answerSlot('a', 'GET', '/x', 'k')));
    expect(Buffer.from(slot('k'))).not.toEqual(Buffer.from(answerSlot('POST', 'a', '/x', 'k')));
  });

  it('shares the response or failure of the running request, and neither afterwards', async () => {
    const { run } = createIdempotency();
    const slot = Buffer.from([1]);
    const hash = Buffer.from([2]);
    let runs = 0;
    const work = async () => ({ body: Buffer.from([++runs]), replayed: false });
    const [first, second] = await Promise.all([run(slot, hash, work), run(slot, hash, work)]);
    expect(first).toMatchObject({ replayed: false });
    expect(second).toMatchObject({ replayed: true });
    expect(second.body).toEqual(first.body);
    expect((await run(slot, hash, work)).replayed).toBe(false);
    const failing = () => Promise.reject(new Error('failed'));
    const both = [run(slot, hash, failing), run(slot, hash, work)];
    for (const each of both) await expect(each).rejects.toThrow('failed');
    const running = run(slot, hash, work);
    await expect(run(slot, Buffer.from([3]), work)).rejects.toThrow('different request body');
    await running;
    expect((await run(slot, Buffer.from([3]), work)).replayed).toBe(false);
    expect(replayed({ bodyHash: hash, body: Buffer.from('a') }, hash)).toMatchObject({ replayed: true });
    expect(codeOf(() => replayed({ bodyHash: hash, body: Buffer.from('a') }, slot))).toBe('INVALID_REQUEST');
  });
});

describe('the text of a key', () => {
  it('uses every random byte below 248 and none above', () => {
    const bytes = [...Array(31).fill(247), 248, 255, 61];
    const token = newToken({ bytes: (count: number) => new Uint8Array(bytes.splice(0, count)) } as never);
    // 247 = 3 · 62 + 61, so both accepted bytes give the last character.
    expect(token.slice('assay_live_'.length, -6)).toBe('z'.repeat(32));
    expect(isTokenShaped(token)).toBe(true);
    expect(isTokenShaped(`${token}z`)).toBe(false);
    expect(isTokenShaped(`${token.slice(0, -1)}!`)).toBe(false);
    expect(visibleParts(token)).toEqual({ prefix: 'assay_live_zzzz', last4: token.slice(-4) });
  });
});

describe('the key store', () => {
  let folder: TempFolder;
  let keys: KeyStore;
  let now: number;
  const open = (): KeyStore =>
    openKeyStore(
      { path: join(folder.path, 'keys.mdb') },
      { clock: { now: () => now, monotonic: () => now }, random: systemRandom, log: silentLogger },
    );
  beforeEach(() => {
    folder = tempFolder();
    now = START;
    keys = open();
  });
  afterEach(async () => {
    await keys.close();
    folder.remove();
  });

  it('accepts names and account ids up to their maximum length, trimmed and on one line', async () => {
    const longest = 'n'.repeat(ACCOUNT_LIMITS.keyNameMax);
    expect((await keys.create({ name: `  ${longest} ` })).record.name).toBe(longest);
    for (const name of ['', '   ', `${longest}n`, 'a\nb', 'a\u007fb'])
      await expect(keys.create({ name })).rejects.toThrow('name must be');
    const account = 'a'.repeat(64);
    expect((await keys.create({ name: 'k', accountId: account })).record.accountId).toBe(account);
    await expect(keys.create({ name: 'k', accountId: `${account}a` })).rejects.toThrow('accountId must be');
    await expect(keys.addAccount('', 'FREE')).rejects.toThrow('accountId must be');
    await expect(keys.addAccount('a', 'GOLD' as never)).rejects.toThrow('plan must be');
  });

  it('returns a key that it has written, even if the store is out of date right after', async () => {
    let isCurrent = true;
    const openStore: OpenStore = (...options) => {
      const store = openLiveStore(...options);
      return {
        ...store,
        requireCurrent() {
          if (!isCurrent) throw new AssayError('NOT_READY', 'The keys may be out of date.');
        },
      };
    };
    const replicated = openKeyStore(
      { path: join(folder.path, 'replicated.mdb') },
      { clock: systemClock, random: systemRandom, log: silentLogger, openStore },
    );
    const creating = replicated.create({ name: 'k' });
    isCurrent = false;
    const { apiKey, record } = await creating;
    expect(() => replicated.verify(apiKey)).toThrow('out of date');
    isCurrent = true;
    expect(replicated.verify(apiKey)?.id).toBe(record.id);
    await replicated.close();
  });

  it('has one generation as long as no key and no account changes, however many turns pass', async () => {
    const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const { apiKey } = await keys.create({ name: 'k', accountId: 'a' });
    await nextTurn();
    const before = keys.generation();
    for (let turn = 0; turn < 3; turn++) {
      await nextTurn();
      expect(keys.verify(apiKey)).not.toBeNull();
      expect(keys.generation()).toBe(before);
    }
    await keys.setPlan('a', 'GROWTH');
    await nextTurn();
    expect(keys.generation()).not.toBe(before);
  });

  it('keeps the plan of an account that is added again, and rejects a key with another plan', async () => {
    await keys.addAccount('a', 'GROWTH');
    await keys.addAccount('a', 'FREE');
    expect(keys.planOf('a')).toBe('GROWTH');
    expect(keys.planOf('b')).toBeNull();
    expect((await keys.create({ name: 'k', accountId: 'a', plan: 'GROWTH' })).record.plan).toBe('GROWTH');
    expect((await keys.create({ name: 'k', accountId: 'a' })).record.plan).toBe('GROWTH');
    await expect(keys.create({ name: 'k', accountId: 'a', plan: 'FREE' })).rejects.toThrow('plan must be');
    await expect(keys.setPlan('b', 'FREE')).rejects.toThrow("no account 'b'");
    await expect(keys.setDisabled('b', true)).rejects.toThrow("no account 'b'");
  });

  it('rejects keys of a disabled account until it is enabled', async () => {
    const { apiKey } = await keys.create({ name: 'k', accountId: 'a' });
    expect(keys.isDisabled('a')).toBe(false);
    expect(keys.isDisabled('unknown')).toBe(false);
    await keys.setDisabled('a', true);
    expect(keys.isDisabled('a')).toBe(true);
    expect(keys.verify(apiKey)).toBeNull();
    await keys.setDisabled('a', false);
    expect(keys.verify(apiKey)).not.toBeNull();
  });

  it('keeps the time of the first revocation, and never changes a revoked key', async () => {
    const { record } = await keys.create({ name: 'k' });
    const first = await keys.revoke(record.id);
    now += 1_000;
    expect((await keys.revoke(record.id)).revokedAt).toBe(first.revokedAt);
    const [permission] = record.permissions;
    await expect(keys.setPermission(record.id, permission!, false)).rejects.toThrow('revoked');
    await expect(keys.setPermission('key_unknown', permission!, false)).rejects.toThrow('no key');
    await expect(keys.revoke('key_unknown')).rejects.toThrow('no key');
    await expect(keys.setPermission(record.id, 'all' as never, true)).rejects.toThrow('permissions must be');
  });

  it('writes the newest time of use, and never replaces it with an older one', async () => {
    const { record, apiKey } = await keys.create({ name: 'k' });
    expect(keys.get(record.id)?.lastUsedAt).toBeNull();
    keys.verify(apiKey);
    const used = new Date(now).toISOString();
    await keys.close();
    keys = open();
    expect(keys.get(record.id)?.lastUsedAt).toBe(used);
    now -= 60_000;
    keys.verify(apiKey);
    await keys.close();
    keys = open();
    expect(keys.get(record.id)?.lastUsedAt).toBe(used);
    expect(keys.get('key_unknown')).toBeNull();
  });
});

describe('bookings', () => {
  const booking = (over: Partial<Booking>): Booking => ({
    accountId: 'a',
    type: 'GRANT',
    amount: 1,
    reference: null,
    ...over,
  });

  it('accept whole amounts from 1 to the maximum, negative only for an adjustment', () => {
    const fits = (over: Partial<Booking>) => codeOf(() => checkBooking(booking(over)));
    const { ledgerAmountMax } = ACCOUNT_LIMITS;
    expect(fits({ amount: ledgerAmountMax })).toBe('none');
    expect(fits({ amount: ledgerAmountMax + 1 })).toBe('INVALID_REQUEST');
    expect(fits({ amount: 0 })).toBe('INVALID_REQUEST');
    expect(fits({ amount: 0, type: 'ADJUSTMENT' })).toBe('INVALID_REQUEST');
    expect(fits({ amount: 1.5 })).toBe('INVALID_REQUEST');
    expect(fits({ amount: -1 })).toBe('INVALID_REQUEST');
    expect(fits({ amount: -ledgerAmountMax, type: 'ADJUSTMENT' })).toBe('none');
    expect(fits({ amount: -ledgerAmountMax - 1, type: 'ADJUSTMENT' })).toBe('INVALID_REQUEST');
    expect(fits({ accountId: 'a'.repeat(64) })).toBe('none');
    expect(fits({ accountId: 'a'.repeat(65) })).toBe('INVALID_REQUEST');
    expect(() => checkBooking(booking({ amount: 0, type: 'ADJUSTMENT' }))).toThrow('from -1 to');
    expect(() => checkBooking(booking({ amount: 0 }))).toThrow('from 1 to');
  });

  it('settle at a whole total from 0 to the maximum', () => {
    const fits = (total: number) => codeOf(() => checkSettlement({ total } as never));
    expect([0, ACCOUNT_LIMITS.ledgerAmountMax].map(fits)).toEqual(['none', 'none']);
    expect([-1, ACCOUNT_LIMITS.ledgerAmountMax + 1, 0.5].map(fits)).toEqual(Array(3).fill('INVALID_REQUEST'));
  });

  it('are rejected below zero, with the amount that could be taken', () => {
    expect(belowZero(1).message).toContain('at least -1');
    expect(belowZero(0).message).toContain('positive');
  });
});

describe('an entry of the ledger', () => {
  const after = { balance: 5, free: 2, granted: 1, month: 24_322 };
  const step = {
    sequence: 1,
    accountId: 'acc',
    at: START,
    type: 'GRANT',
    amount: 5,
    after,
    reference: 'r€f',
  } as const;
  const first = follow(EMPTY_HEAD, step);

  it('survives encoding and decoding, with and without a reference', () => {
    expect(decodeEntry(1, encodeEntry(first))).toEqual(first);
    const plain = follow(EMPTY_HEAD, { ...step, reference: null });
    expect(decodeEntry(1, encodeEntry(plain))).toEqual(plain);
  });

  it('is rejected if it is missing, has a byte too few or too many, or an unknown type', () => {
    const bytes = encodeEntry(first);
    const wrongType = Buffer.from(bytes);
    wrongType[60 + 8 * 7] = 0x1f;
    for (const wrong of [
      undefined,
      bytes.subarray(0, -1),
      Buffer.concat([bytes, Buffer.alloc(1)]),
      bytes.subarray(0, 20),
      wrongType,
    ])
      expect(codeOf(() => decodeEntry(1, wrong))).toBe('STORE_CORRUPT');
  });

  it('points to the last entry of an earlier day', () => {
    const sameDay = follow(first, { ...step, sequence: 2, at: START + 86_399_999 });
    expect([sameDay.before, sameDay.dayBefore]).toEqual([1, 0]);
    const nextDay = follow(sameDay, { ...step, sequence: 3, at: START + 86_400_000 });
    expect([nextDay.before, nextDay.dayBefore]).toEqual([2, 2]);
    expect(follow(nextDay, { ...step, sequence: 4, at: START + 86_400_001 }).dayBefore).toBe(2);
    expect(totalsSince(nextDay.sums, first.sums)).toMatchObject({ GRANT: 10, REFUND: 0 });
  });

  it('has an id of twelve digits', () => {
    expect(sequenceOf('000000000007')).toBe(7);
    for (const id of ['7', '0000000000070', 'x00000000007']) expect(sequenceOf(id)).toBeNull();
  });

  it('has a fault for each rule that it breaks', () => {
    expect(faultOf(first, EMPTY_HEAD)).toBeNull();
    const broken = (over: object) => faultOf({ ...first, ...over }, EMPTY_HEAD);
    expect(broken({ before: 1 })).toContain('points to entry 1');
    expect(broken({ balance: 6 })).toContain('has balance 6');
    expect(broken({ sums: first.sums.map((sum) => sum + 1) })).toContain('wrong sum');
    expect(broken({ free: -1 })).toContain('negative pool');
    expect(broken({ granted: -1 })).toContain('negative pool');
    expect(broken({ free: 0, granted: 0 })).toBeNull();
    expect(faultOf(first, { ...EMPTY_HEAD, month: after.month })).toBeNull();
    expect(faultOf(first, { ...EMPTY_HEAD, month: after.month + 1 })).toContain('earlier month');
    const charge = (type: 'SCREENING' | 'DEDUCTION', amount: number, before: typeof first) =>
      faultOf(
        follow(before, {
          ...step,
          sequence: 2,
          type,
          amount,
          after: { ...after, balance: before.balance + amount },
        }),
        before,
      );
    for (const type of ['SCREENING', 'DEDUCTION'] as const) {
      expect(charge(type, -5, first)).toBeNull();
      expect(charge(type, -6, first)).toContain('takes more');
      expect(charge(type, 0, first)).toContain('takes more');
    }
  });
});

describe('passwords', () => {
  const derived = (request: { bytes: number }) => Promise.resolve(new Uint8Array(request.bytes).fill(7));

  it('are accepted from the minimum to the maximum length', () => {
    const check = (length: number) => codeOf(() => checkPassword('p'.repeat(length), 'password'));
    const { passwordCharsMin: least, passwordCharsMax: most } = ACCOUNT_LIMITS;
    expect([least, most].map(check)).toEqual(['none', 'none']);
    expect([least - 1, most + 1].map(check)).toEqual(['INVALID_REQUEST', 'INVALID_REQUEST']);
  });

  it('are not compared beyond their maximum length or with a damaged hash', async () => {
    const { hash, matches } = createPasswords({ random: systemRandom, derive: derived });
    const stored = await hash('p'.repeat(20), 'password');
    expect(await matches('p'.repeat(ACCOUNT_LIMITS.passwordCharsMax), stored)).toBe(true);
    expect(await matches('p'.repeat(ACCOUNT_LIMITS.passwordCharsMax + 1), stored)).toBe(false);
    expect(await matches('p'.repeat(20), null)).toBe(false);
    await expect(matches('p'.repeat(20), 'scrypt$')).rejects.toThrow('damaged');
    expect(await matches('p'.repeat(20), stored.replace(/.{4}$/, ''))).toBe(false);
  });

  it('are derived with bounded concurrency', async () => {
    const waiting: (() => void)[] = [];
    const { hash } = createPasswords({
      random: systemRandom,
      derive: (request) =>
        new Promise((resolve) => waiting.push(() => resolve(new Uint8Array(request.bytes)))),
    });
    const running = Array.from({ length: ACCOUNT_LIMITS.passwordDerivationsMax }, () =>
      hash('p'.repeat(20), 'password'),
    );
    await expect(hash('p'.repeat(20), 'password')).rejects.toMatchObject({ code: 'OVERLOADED' });
    for (const finish of waiting.splice(0)) finish();
    await Promise.all(running);
    const next = hash('p'.repeat(20), 'password');
    for (const finish of waiting) finish();
    await next;
  });
});

describe('the store of users', () => {
  let folder: TempFolder;
  let store: PeopleStore;
  let now: number;
  const person = (id: string, createdAt = '2026-11-21T00:00:00.000Z'): Person => ({
    id,
    email: `${id}@example.org`,
    emailVerified: false,
    password: '',
    createdAt,
    sessionEpoch: 0,
  });
  beforeEach(() => {
    folder = tempFolder();
    now = START;
    store = openPeopleStore(
      { path: join(folder.path, 'people.mdb') },
      { clock: { now: () => now, monotonic: () => now }, random: systemRandom },
    );
  });
  afterEach(async () => {
    await store.close();
    folder.remove();
  });

  it('ends a session exactly at its expiry', async () => {
    await store.add(person('a'));
    const { token } = await store.begin(person('a'), 1_000);
    now += 999;
    expect(store.session(token)).toMatchObject({ accountId: 'a' });
    expect(store.session(`${token}x`)).toBeNull();
    now += 1;
    expect(store.session(token)).toBeNull();
  });

  it('redeems a token once, for its purpose, before its expiry', async () => {
    const used = await store.issue('a', 'verify', 1_000);
    expect(await store.redeem(used, 'reset')).toBeNull();
    now += 999;
    expect(await store.redeem(used, 'verify')).toBe('a');
    expect(await store.redeem(used, 'verify')).toBeNull();
    const late = await store.issue('a', 'verify', 1_000);
    now += 1_000;
    expect(await store.redeem(late, 'verify')).toBeNull();
    expect(await store.redeem('short', 'verify')).toBeNull();
  });

  it('limits sessions and tokens to twice their lifetime if the clock is set back', async () => {
    await store.add(person('a'));
    const { token } = await store.begin(person('a'), 1_000);
    const letter = await store.issue('a', 'reset', 1_000);
    now -= 999;
    expect(store.session(token)).not.toBeNull();
    now -= 1;
    expect(store.session(token)).toBeNull();
    expect(await store.redeem(letter, 'reset')).toBeNull();
    now += 1;
    expect(await store.redeem(letter, 'reset')).toBe('a');
  });

  it('removes expired sessions and tokens, and keeps the others', async () => {
    await store.add(person('a'));
    await store.add(person('b'));
    const ended = await store.begin(person('a'), 1_000);
    const endedToken = await store.issue('b', 'reset', 1_000);
    const live = await store.begin(person('a'), 5_000);
    const liveToken = await store.issue('a', 'reset', 5_000);
    now += 1_001;
    await store.begin(person('a'), 5_000);
    // If the clock moves backwards, only rows that still exist are valid again.
    now -= 1_001;
    expect(store.session(ended.token)).toBeNull();
    expect(await store.redeem(endedToken, 'reset')).toBeNull();
    expect(store.session(live.token)).not.toBeNull();
    expect(await store.redeem(liveToken, 'reset')).toBe('a');
  });

  it('removes what has ended without a further session, too', async () => {
    await store.add(person('a'));
    await store.begin(person('a'), 5_000);
    for (let n = 0; n < ACCOUNT_LIMITS.endedSweptAtOnce + 1; n++) await store.issue('a', 'verify', 1_000);
    await store.invite(
      {
        ...{ id: 'i', accountId: 'a', email: 'x@example.org', role: 'analyst' },
        createdMs: now,
        endsMs: now + 1_000,
      } as never,
      10,
    );
    await store.removeEnded();
    const rows = async (): Promise<readonly number[]> => {
      await store.close();
      const { root } = openLiveStore(join(folder.path, 'people.mdb'), 1);
      const counts = ['sessions', 'tokens', 'invitations', 'ends'].map(
        (name) => [...root.openDB({ name, encoding: 'json' }).getKeys()].length,
      );
      await root.close();
      store = openPeopleStore(
        { path: join(folder.path, 'people.mdb') },
        { clock: { now: () => now, monotonic: () => now }, random: systemRandom },
      );
      return counts;
    };
    const tokens = ACCOUNT_LIMITS.endedSweptAtOnce + 2;
    expect(await rows()).toEqual([1, tokens, 1, tokens + 1]);
    now += 1_001;
    await store.removeEnded();
    expect(await rows()).toEqual([1, 0, 0, 1]);
  });

  it('accepts a reset token of an earlier version, which stored no epochs, until another one is used', async () => {
    await store.add(person('a'));
    const tokens = [await store.issue('a', 'reset', 1_000), await store.issue('a', 'reset', 1_000)];
    await store.close();
    const { root } = openLiveStore(join(folder.path, 'people.mdb'), 1);
    type Row = { resetEpoch?: number };
    for (const name of ['people', 'tokens']) {
      const rows = root.openDB<Row, string>({ name, encoding: 'json' });
      root.transactionSync(() => {
        for (const { key, value } of [...rows.getRange()]) {
          const { resetEpoch: _, ...old } = value;
          rows.putSync(key, old);
        }
      });
    }
    await root.close();
    store = openPeopleStore(
      { path: join(folder.path, 'people.mdb') },
      { clock: { now: () => now, monotonic: () => now }, random: systemRandom },
    );
    expect(await store.redeem(tokens[0]!, 'reset')).toBe('a');
    expect(await store.redeem(tokens[1]!, 'reset')).toBeNull();
  });

  it('adds an address once, lists the oldest first, and ignores changes of unknown accounts', async () => {
    expect(await store.add(person('b', '2026-01-02T00:00:00.000Z'))).toBe(true);
    expect(await store.add(person('c', '2026-01-01T00:00:00.000Z'))).toBe(true);
    expect(await store.add({ ...person('d'), email: 'b@example.org' })).toBe(false);
    expect(store.list().map(({ id }) => id)).toEqual(['c', 'b']);
    expect(store.byEmail('b@example.org')?.id).toBe('b');
    expect(store.byEmail('d@example.org')).toBeNull();
    expect(await store.change('d', (found) => found)).toBeNull();
    expect(await store.change('b', (found) => ({ ...found, sessionEpoch: 1 }))).toMatchObject({
      sessionEpoch: 1,
    });
    const { token } = await store.begin(person('b'), 1_000);
    expect(store.session(token)).toBeNull();
  });

  it('accepts an email address up to its maximum length', () => {
    const longest = `${'a'.repeat(ACCOUNT_LIMITS.emailCharsMax - 4)}@b.c`;
    expect(emailOf(` ${longest.toUpperCase()} `)).toBe(longest);
    expect(emailOf(`a${longest}`)).toBeNull();
  });
});

describe('plans', () => {
  it('accept limits from 1 to the maximum', () => {
    const wrong = (field: string) => new AssayError('INVALID_REQUEST', field);
    const read = (value: unknown) => codeOf(() => readRateOverrides({ oracle: value }, 'rateLimits', wrong));
    expect([1, ACCOUNT_LIMITS.rateLimitMax].map(read)).toEqual(['none', 'none']);
    expect([0, ACCOUNT_LIMITS.rateLimitMax + 1, 1.5, '1'].map(read)).toEqual(
      Array(4).fill('INVALID_REQUEST'),
    );
    expect(codeOf(() => readRateOverrides({ unknown: 1 }, 'rateLimits', wrong))).toBe('INVALID_REQUEST');
  });

  it('name the field of a quota, a list or a class that is missing', async () => {
    const folder = tempFolder();
    const path = join(folder.path, 'plans.json');
    type Row = Record<'rateLimits' | 'plans' | 'freeTier', Record<string, unknown>> & {
      plans: { FREE: Record<string, unknown> };
    };
    const read = (change: (file: Row) => void) => {
      const file = JSON.parse(readFileSync(shippedData('plans.json'), 'utf8')) as Row;
      change(file);
      writeFileSync(path, JSON.stringify(file));
      return readPlans(path);
    };
    expect(read((file) => (file.plans.FREE.intelQuota = null)).FREE.quotas.intel).toBeNull();
    expect(read((file) => (file.plans.FREE.walletsMax = 1_000_000)).FREE.walletsMax).toBe(1_000_000);
    expect(() => read((file) => (file.plans.FREE.walletsMax = 1_000_001))).toThrow('plans.FREE.walletsMax');
    expect(() => read((file) => (file.plans.FREE.walletsMax = 0))).toThrow('plans.FREE.walletsMax');
    expect(read((file) => (file.plans.FREE.creditsPerMonth = 0)).FREE.creditsPerMonth).toBe(0);
    expect(read((file) => (file.freeTier.creditsPerMonth = 1e9)).STARTER.creditsPerMonth).toBe(1e9);
    for (const wrong of [-1, 1e9 + 1, 0.5, '1', null, undefined])
      expect(() => read((file) => (file.freeTier.creditsPerMonth = wrong))).toThrow(
        'freeTier.creditsPerMonth must be a whole number from 0',
      );
    expect(() => read((file) => (file.plans.FREE.creditsPerMonth = -1))).toThrow(
      'plans.FREE.creditsPerMonth must be a whole number from 0',
    );
    expect(() => read((file) => delete file.rateLimits.kyt)).toThrow('rateLimits.kyt must be present');
    for (const wrong of [null, [], 'x', undefined])
      expect(() => read((file) => (file.plans.FREE.rateLimits = wrong))).toThrow('plans.FREE.rateLimits');
    folder.remove();
  });
});

describe('the limiter', () => {
  const limiterOf = (limit: number, windowsMax?: number) => {
    const world = { limit, generation: 0, now: 0 };
    const clock = { now: () => world.now, monotonic: () => world.now };
    const limiter = createRateLimiter(windowsMax === undefined ? {} : { windowsMax }, {
      clock,
      limitOf: () => world.limit,
      generation: () => world.generation,
    });
    return { world, limiter };
  };

  it('rejects a subject beyond the full table for a second, with its limit', () => {
    const { limiter } = limiterOf(2, 1);
    limiter.check('a', 'kyt', 0);
    expect(limiter.check('b', 'kyt', 0)).toEqual({
      allowed: false,
      limit: 2,
      remaining: 0,
      resetEpochSeconds: 1,
      retryAfterSeconds: 1,
      countedSecond: null,
    });
    expect(limiter.refuses('b', 'kyt', 0)).toBeNull();
    expect(limiter.check('b', 'kyt', 61_000).allowed).toBe(true);
  });

  it('undoes a count only in its second, and never below zero', () => {
    const { limiter } = limiterOf(2);
    limiter.check('a', 'kyt', 5_000);
    limiter.uncount('a', 'kyt', 4);
    limiter.uncount('a', 'kyt', 6);
    limiter.uncount('b', 'kyt', 5);
    expect(limiter.check('a', 'kyt', 6_000).remaining).toBe(0);
    limiter.uncount('a', 'kyt', 5);
    limiter.uncount('a', 'kyt', 5);
    expect(limiter.refuses('a', 'kyt', 6_000)).toBeNull();
    expect(limiter.check('a', 'kyt', 6_000)).toMatchObject({ allowed: true, remaining: 0 });
    expect(limiter.refuses('a', 'kyt', 6_000)).toMatchObject({ allowed: false, limit: 2 });
  });

  it('waits for a later second if the limit was lowered', () => {
    const { world, limiter } = limiterOf(3);
    for (const at of [0, 1_000, 2_000]) limiter.check('a', 'kyt', at);
    world.limit = 1;
    world.generation = 1;
    // The counts of seconds 0, 1 and 2 must expire: 2 + 61.
    expect(limiter.check('a', 'kyt', 3_000)).toMatchObject({ allowed: false, retryAfterSeconds: 60 });
    expect(limiter.check('a', 'kyt', 62_999).allowed).toBe(false);
    expect(limiter.check('a', 'kyt', 63_000)).toMatchObject({
      allowed: true,
      remaining: 0,
      retryAfterSeconds: 0,
    });
  });
});

describe('a response in parts', () => {
  it('may begin and end with the balance', () => {
    const parts = partsOf((remaining) => Buffer.from(`${remaining} of ${remaining}`), 123_456);
    expect(parts.map(String)).toEqual(['', ' of ', '']);
    expect(joined(parts, 7).toString()).toBe('7 of 7');
    expect(
      joined(
        partsOf(() => Buffer.from('none'), 123_456),
        7,
      ).toString(),
    ).toBe('none');
  });
});

describe('cached rejections of rate windows in Redis', () => {
  const counted = (allowed: 0 | 1, used: number, freed: number, second: number) =>
    [allowed, used, freed, second] as never;
  const windowsOf = (run: () => Promise<never[]> = async () => []) => {
    const world = {
      generation: 0,
      accountOf: (subject: string): string | null => (subject === 'key' ? 'account' : null),
    };
    const windows = createRateWindows({
      steps: { time: undefined, run } as never,
      clock: { now: () => 0, monotonic: () => 0 },
      limitOf: () => 5,
      generation: () => world.generation,
      accountOf: (subject) => world.accountOf(subject),
    });
    return { world, windows };
  };
  const asked = { subject: 'key', rateClass: 'kyt', monotonicMs: 100 } as const;

  it('last until the freeing second, within one generation of keys', () => {
    const { world, windows } = windowsOf();
    expect(windows.slotOf('key')).toBe('account');
    expect(windows.slotOf('other')).toBe('other');
    expect(windows.decide(asked, counted(1, 1, 61, 0), 500)).toMatchObject({
      allowed: true,
      remaining: 4,
      retryAfterSeconds: 0,
      resetEpochSeconds: 61,
      countedSecond: 0,
    });
    expect(windows.refuses('key', 'kyt', 100)).toBeNull();
    expect(windows.decide(asked, counted(0, 6, 2, 0), 500)).toMatchObject({
      allowed: false,
      limit: 5,
      remaining: 0,
      retryAfterSeconds: 2,
      countedSecond: null,
    });
    expect(windows.refuses('key', 'kyt', 101)).toMatchObject({ retryAfterSeconds: 2 });
    expect(windows.refuses('key', 'kyt', 1_599)).toMatchObject({ retryAfterSeconds: 1 });
    expect(windows.refuses('key', 'kyt', 1_600)).toBeNull();
    windows.decide(asked, counted(0, 5, 2, 0), 500);
    world.generation = 1;
    expect(windows.refuses('key', 'kyt', 101)).toBeNull();
  });

  it('are followed by a request only after Redis has undone the count', async () => {
    let answer: (reply: never[]) => void = () => {};
    const { world, windows } = windowsOf(() => new Promise((resolve) => (answer = resolve)));
    const events: string[] = [];
    const undone = windows.uncount('key', 'kyt', 0).then(() => events.push('resolved'));
    await new Promise(setImmediate);
    events.push('replied');
    answer([]);
    await undone;
    expect(events).toEqual(['replied', 'resolved']);
    const { windows: unavailable } = windowsOf(() => Promise.reject(new Error('connection lost')));
    await expect(unavailable.uncount('key', 'kyt', 0)).resolves.toBeUndefined();
    // Nobody waits for an undone count, so a rejection would end the server.
    world.accountOf = () => {
      throw new AssayError('NOT_READY', 'The keys may be out of date.');
    };
    await expect(windows.uncount('key', 'kyt', 0)).resolves.toBeUndefined();
  });

  it('end if a count is undone, and the oldest is evicted if there are too many', async () => {
    const { windows } = windowsOf();
    windows.decide(asked, counted(0, 5, 2, 0), 500);
    await windows.uncount('key', 'kyt', 0);
    expect(windows.refuses('key', 'kyt', 101)).toBeNull();
    for (let number = 0; number < ACCOUNT_LIMITS.rateWindowsMax; number++)
      windows.decide({ ...asked, subject: `s${number}` }, counted(0, 5, 2, 0), 500);
    expect(windows.refuses('s0', 'kyt', 101)).not.toBeNull();
    windows.decide({ ...asked, subject: 'one more' }, counted(0, 5, 2, 0), 500);
    expect(windows.refuses('s0', 'kyt', 101)).toBeNull();
    expect(windows.refuses('s1', 'kyt', 101)).not.toBeNull();
  });
});

import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type AuditEntry,
  type AuditLog,
  auditBookings,
  auditKeys,
  openAuditLog,
} from '../../src/accounts/audit.ts';
import { openKeyStore } from '../../src/accounts/keys-lmdb.ts';
import type { Booking, Ledger } from '../../src/accounts/ledger.ts';
import { systemClock } from '../../src/base/clock.ts';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { LiveDatabase } from '../../src/state/live-store.ts';
import { type LiveState, overLiveStates } from '../setup/live-state.ts';
import { type TempFolder, tempFolder } from './temp-folder.ts';

overLiveStates((makeState) => {
  let state: LiveState;
  let folder: TempFolder;
  let path: string;
  let log: AuditLog;
  beforeEach(async () => {
    folder = tempFolder();
    path = join(folder.path, 'audit.mdb');
    state = makeState();
    log = openAuditLog({ path }, { clock: systemClock, openStore: state.openStore });
    await state.ready();
  });
  afterEach(async () => {
    await log.close();
    await state.close();
    folder.remove();
  });

  const write = (detail: string): Promise<AuditEntry> =>
    log.write({
      who: 'acc_1',
      from: '192.0.2.1',
      action: 'key.create',
      accountId: 'acc_1',
      subject: null,
      detail,
    });

  /** Changes the file without the log. */
  async function tamper(
    change: (entries: LiveDatabase<AuditEntry, number>, meta: LiveDatabase<number, string>) => void,
  ) {
    const { root, meta } = state.openStore(path, 1, { name: 'audit' });
    await state.ready();
    const entries: LiveDatabase<AuditEntry, number> = root.openDB({ name: 'entries', encoding: 'json' });
    await root.transaction(() => change(entries, meta));
    await root.close();
  }

  it('chains its entries, also if they are written concurrently', async () => {
    await Promise.all(Array.from({ length: 50 }, (_, index) => write(`entry ${index}`)));
    const report = await log.verify();
    expect(report).toMatchObject({ entries: 50, faults: [] });
    expect(log.newest(1)[0]).toMatchObject({ sequence: 50, hash: report.head });
  });

  describe('of bookings', () => {
    let booked: number;
    const ledger = {
      book: async (booking: Booking) => ({
        entry: { ...booking, id: `entry-${++booked}` },
        repeated: false,
      }),
    } as unknown as Ledger;
    const grant: Booking = {
      accountId: 'acme',
      type: 'PURCHASE',
      amount: 5,
      reference: 'a gift',
    };
    const actor = { who: 'operator', from: 'command line' };
    beforeEach(() => {
      booked = 0;
    });
    /** A log that fails at its first `times` writes, before or after the entry is written. */
    const failing = (times: number, when: 'before' | 'behind'): AuditLog => ({
      ...log,
      async write(event) {
        const fails = times-- > 0;
        if (fails && when === 'before') throw new Error('the disk is full');
        const entry = await log.write(event);
        if (fails) throw new Error('nobody knows');
        return entry;
      },
    });

    it.each(['before', 'behind'] as const)(
      'logs each booking once, even if the first write fails (%s)',
      async (when) => {
        const flaky = failing(2, when);
        const audited = auditBookings(ledger, () => flaky, actor, { log: silentLogger, pausesMs: [1, 1] });
        await audited.book(grant);
        expect(log.newest(10)).toMatchObject([
          { action: 'credits.book', subject: 'entry-1', accountId: 'acme' },
        ]);
      },
    );

    it('logs a booking whose first write fails beside entries of other bookings and of other actions', async () => {
      const audited = (times: number) => {
        const flaky = failing(times, 'before');
        return auditBookings(ledger, () => flaky, actor, { log: silentLogger, pausesMs: [1, 1] });
      };
      await audited(0).book(grant);
      await log.write({
        ...actor,
        action: 'key.revoke',
        accountId: 'acme',
        subject: 'entry-2',
        detail: null,
      });
      await audited(1).book(grant);
      expect(log.newest(10).map(({ action, subject }) => `${action} ${subject}`)).toEqual([
        'credits.book entry-2',
        'key.revoke entry-2',
        'credits.book entry-1',
      ]);
    });

    it('does not log a repeated booking again', async () => {
      const known = {
        book: async (booking: Booking) => ({ entry: { ...booking, id: 'entry-1' }, repeated: true }),
      } as unknown as Ledger;
      const audited = auditBookings(known, () => log, actor, { log: silentLogger });
      expect(await audited.book(grant)).toMatchObject({ repeated: true, entry: { id: 'entry-1' } });
      expect(log.newest(10)).toEqual([]);
    });

    it('reports a booking that could not be logged', async () => {
      const said: unknown[] = [];
      const flaky = failing(9, 'before');
      const audited = auditBookings(ledger, () => flaky, actor, {
        log: { ...silentLogger, error: (...args: unknown[]) => void said.push(args[0]) } as unknown as Logger,
        pausesMs: [1, 1],
      });
      await expect(audited.book(grant)).rejects.toThrow(
        /are booked \(entry entry-1\).*the disk is full.*Do not book/,
      );
      expect(said).toMatchObject([{ who: 'operator', subject: 'entry-1', detail: 'PURCHASE 5 a gift' }]);
      expect(booked).toBe(1);
    });
  });

  it.each([
    ['a changed text', 3, (entry: AuditEntry) => ({ ...entry, detail: 'nothing' }), 'Entry 3 was changed.'],
    [
      'a changed time',
      5,
      (entry: AuditEntry) => ({ ...entry, at: '2020-01-01T00:00:00.000Z' }),
      'Entry 5 was changed.',
    ],
  ])('finds %s', async (_name, sequence, change, fault) => {
    for (let index = 1; index <= 5; index++) await write(`entry ${index}`);
    await tamper((entries) => entries.putSync(sequence, change(entries.get(sequence) as AuditEntry)));
    expect((await log.verify()).faults).toEqual([fault]);
  });

  describe('the pages of an account', () => {
    const writeFor = (accountId: string, detail: string) =>
      log.write({ who: 'x', from: 'y', action: 'key.create', accountId, subject: null, detail });
    const pageOf = (accountId: string, limit = 100, before: number | null = null) => {
      const { entries, next } = log.page(accountId, limit, before);
      return { rows: entries.map(({ number, detail }) => `${number} ${detail}`), next };
    };

    it('number its own entries, and say nothing of those of others', async () => {
      for (let n = 1; n <= 3; n++) {
        await writeFor('quiet', `quiet ${n}`);
        for (let m = 1; m <= 20; m++) await writeFor('busy', `busy ${m}`);
      }
      expect(pageOf('quiet')).toEqual({ rows: ['3 quiet 3', '2 quiet 2', '1 quiet 1'], next: null });
      expect(pageOf('quiet', 2)).toEqual({ rows: ['3 quiet 3', '2 quiet 2'], next: 2 });
      expect(pageOf('quiet', 2, 2)).toEqual({ rows: ['1 quiet 1'], next: null });
      expect(pageOf('busy').rows).toHaveLength(60);
      expect(pageOf('qui')).toEqual({ rows: [], next: null });
      expect(JSON.stringify(log.page('quiet', 100, null))).not.toMatch(/sequence|hash|before/);
    });

    it('have the entries of an earlier version, also if it wrote some meanwhile', async () => {
      for (const n of [1, 2, 3]) await writeFor(n === 2 ? 'other' : 'own', `entry ${n}`);
      await log.close();
      const { root, meta } = state.openStore(path, 1, { name: 'audit' });
      await state.ready();
      const numbers: LiveDatabase<number, [string, number]> = root.openDB({
        name: 'byAccount',
        encoding: 'json',
      });
      await root.transaction(() => {
        for (const key of [...numbers.getKeys()]) numbers.removeSync(key);
        meta.removeSync('numbered');
      });
      await root.close();
      log = openAuditLog({ path }, { clock: systemClock, openStore: state.openStore });
      await state.ready();
      expect(pageOf('own').rows).toEqual(['2 entry 3', '1 entry 1']);
      await tamper((entries, meta) => {
        entries.putSync(4, { ...(entries.get(3) as AuditEntry), sequence: 4, detail: 'entry 4' });
        meta.putSync('entries', 4);
      });
      await writeFor('own', 'entry 5');
      expect(pageOf('own').rows).toEqual(['4 entry 5', '3 entry 4', '2 entry 3', '1 entry 1']);
    });
  });

  it('detects an entry replaced by one with a valid hash, a missing entry and a truncated end', async () => {
    for (let index = 1; index <= 5; index++) await write(`entry ${index}`);
    await tamper((entries) => {
      const second = openAuditCopy(entries.get(2) as AuditEntry);
      entries.putSync(2, second);
      entries.removeSync(5);
    });
    expect((await log.verify()).faults).toEqual(['Entry 2 was changed.', 'Entry 5 is missing.']);
  });

  it('records every change of a key and its actor', async () => {
    const keys = openKeyStore(
      { path: join(folder.path, 'keys.mdb') },
      { clock: systemClock, random: systemRandom, log: silentLogger, openStore: state.openStore },
    );
    await state.ready();
    const audited = auditKeys(keys, () => log, { who: 'operator', from: 'command line' });
    const { record, apiKey } = await audited.create({ name: 'x' });
    await audited.setPermission(record.id, 'kyt', false);
    await audited.revoke(record.id);
    await audited.setPlan('local', 'GROWTH');
    await audited.setDisabled('local', true);
    await audited.setOperator('local', true);
    expect([audited.isOperator('local'), audited.isOperator('nobody')]).toEqual([true, false]);
    await audited.setOperator('local', false);
    expect(audited.isOperator('local')).toBe(false);
    await expect(audited.setOperator('nobody', true)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(audited.revoke('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const entries = log.newest(10).toReversed();
    expect(entries.map(({ action, subject, detail }) => [action, subject, detail])).toEqual([
      ['key.create', record.id, 'screening,entity,kyt,monitoring,intel,oracle'],
      ['key.permission', record.id, 'kyt off'],
      ['key.revoke', record.id, null],
      ['plan.set', null, 'GROWTH'],
      ['account.disable', null, null],
      ['operator.grant', null, null],
      ['operator.revoke', null, null],
    ]);
    expect(JSON.stringify(entries)).not.toContain(apiKey);
    await keys.close();
  });
});

const openAuditCopy = (entry: AuditEntry): AuditEntry => ({ ...entry, who: 'somebody else' });

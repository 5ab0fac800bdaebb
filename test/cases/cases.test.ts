/** Cases over both kinds of live state: changes, decisions, repeated requests, lists, files, retention, and what a restart keeps. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { startRetention } from '../../src/base/retention.ts';
import { createCases } from '../../src/cases/cases.ts';
import { CASE_LIMITS } from '../../src/cases/limits.ts';
import type { CaseClient, CaseService } from '../../src/cases/service.ts';
import type { CaseStore, Written } from '../../src/cases/store.ts';
import { openCaseStore } from '../../src/cases/store-lmdb.ts';
import { SAVED_KINDS } from '../../src/saved-screenings/records.ts';
import { STATE_LIMITS } from '../../src/state/limits.ts';
import {
  type LiveDatabase,
  type LiveRoot,
  type OpenStore,
  openLiveStore,
} from '../../src/state/live-store.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';
import { type LiveState, overLiveStates } from '../setup/live-state.ts';

const ADDRESS = '0x28C6c06298d514Db089934071355E5743bf21d60';
const OTHER = `0x${'1'.padStart(40, '0')}`;
const PNG = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1');

const client = (who: string, accountId = 'a'): CaseClient => ({
  ...{ accountId, who, identity: who },
  savedKinds: SAVED_KINDS,
});
const ANN = client('key_ann');
const BOB = client('key_bob');
const answerOf = <Answer>({ answer }: Written) => JSON.parse(answer) as Answer;
const screening = (dataVersion = 'v1') => ({ address: ADDRESS, chain: 'ETH', riskScore: 90, dataVersion });
/** Not as JSON.stringify would write it: a saved answer keeps its bytes. */
const SAVED = '{"riskScore":1.0, "dataVersion":"v7"}';
const repeat = (slot: string, body: string) => ({ slot, bodyHash: body });

overLiveStates((makeState) => {
  let folder: TempFolder;
  let state: LiveState;
  let store: CaseStore;
  let cases: CaseService;
  let nowMs = Date.parse('2026-11-01T00:00:00Z');
  const clock = { now: () => nowMs, monotonic: () => performance.now() };

  async function open(fourEyes = false): Promise<void> {
    store = openCaseStore({ path: `${folder.path}/cases.mdb` }, { clock, openStore: state.openStore });
    await state.ready();
    const records = {
      alert: (accountId: string, id: string) =>
        accountId === 'a' && id === 'alert1'
          ? {
              answer: JSON.stringify({ id, status: 'NEW' }),
              dataVersion: null,
              address: ADDRESS,
              chain: 'ETH',
            }
          : null,
      wallet: () => null,
      screening: (accountId: string, id: string) =>
        accountId === 'a' && id === 'saved1'
          ? { answer: SAVED, dataVersion: 'v7', address: ADDRESS, chain: 'ETH' }
          : null,
    };
    cases = createCases({ fourEyes }, { store, records, clock, random: systemRandom });
  }
  beforeEach(async () => {
    nowMs = Date.parse('2026-11-01T00:00:00Z');
    folder = memoryFolder();
    state = makeState();
    await open();
  });
  afterEach(async () => {
    await store.close();
    await state.close();
    folder.remove();
  });

  async function made(title = 'A case', more: object = {}, of = ANN): Promise<string> {
    const created = await cases.create(of, { title, ...more }, null);
    return answerOf<{ case: { id: string } }>(created).case.id;
  }
  const note = (id: string, text: string, of = ANN) =>
    cases.addEvent(of, id, { type: 'NOTE', note: text }, null);
  const propose = (id: string, of = ANN) =>
    cases.addEvent(
      of,
      id,
      { type: 'DECISION', decision: { action: 'PROPOSE', disposition: 'REPORTED', reasonCode: 'SAR_FILED' } },
      null,
    );
  const decide = (id: string, action: 'APPROVE' | 'REJECT', proposal: number, of = BOB) =>
    cases.addEvent(of, id, { type: 'DECISION', decision: { action, proposal } }, null);
  async function addFile(id: string, fileName: string, contentType: string, content: Buffer, of = ANN) {
    const upload = cases.receiveFile(of, id, { name: fileName, contentType });
    for (let at = 0; at < content.length; at += 100_000) upload.write(content.subarray(at, at + 100_000));
    return answerOf<{ file: { id: string; event: number } }>(await upload.end(() => null));
  }
  const titles = (query: object, page = { limit: 100 }) =>
    cases.list('a', query, page).cases.map(({ title }) => title);

  it('keeps a case with its history through a restart, for its account only', async () => {
    const id = await made('First', { note: 'why', links: [{ type: 'SCREENING', answer: screening() }] });
    await note(id, 'two');
    await store.close();
    await open();
    const record = cases.one('a', id);
    expect(record).toMatchObject({ number: 1, version: 3, events: 3, status: 'OPEN', createdBy: 'key_ann' });
    expect(record.links).toMatchObject([
      { event: 2, type: 'SCREENING', address: expect.stringMatching(/^0x28c6c/i), chain: 'ETH' },
    ]);
    const page = cases.events('a', id, { limit: 10 }, true);
    expect(page.events.map(({ event }) => [event.sequence, event.type, event.note])).toEqual([
      [3, 'NOTE', 'two'],
      [2, 'LINK', null],
      [1, 'CREATED', 'why'],
    ]);
    expect(JSON.parse(page.events[1]?.answer ?? '')).toEqual(screening());
    expect(record.links[0]?.answer).toMatchObject({ origin: 'CLIENT', dataVersion: 'v1' });
    for (const attempt of [
      () => cases.one('b', id),
      () => cases.events('b', id, { limit: 1 }, false),
      () => cases.files('b', id, { limit: 1 }),
      () => cases.export('b', id),
      () => cases.receiveFile(client('key_eve', 'b'), id, { name: 'a.txt', contentType: 'text/plain' }),
      () => cases.one('a', 'no id'),
    ])
      expect(attempt).toThrow(/there is no case/);
    const eve = client('key_eve', 'b');
    await expect(cases.change(eve, id, { title: 'mine' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(note(id, 'mine', eve)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(cases.list('b', {}, { limit: 10 }).cases).toEqual([]);
    expect(cases.one('a', id)).toEqual(record);
  });

  it('numbers the cases of an account without gaps under concurrent requests', async () => {
    await Promise.all(Array.from({ length: 20 }, (_, n) => made(`case ${n}`)));
    await expect(cases.create(ANN, { title: 'a\u0000b' }, null)).rejects.toMatchObject({ field: 'title' });
    const { cases: listed } = cases.list('a', {}, { limit: 100 });
    expect(listed.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, n) => 20 - n));
  });

  describe('changes', () => {
    it('make one event of each field that differs', async () => {
      const id = await made();
      await cases.change(ANN, id, {
        ...{ title: 'New', priority: 'HIGH', assignee: 'bob', dueAt: '2026-12-01', status: 'ESCALATED' },
      });
      const changes = cases.events('a', id, { limit: 10 }, false).events.map(({ event }) => event.change);
      expect(changes.slice(0, -1).reverse()).toEqual([
        { field: 'status', from: 'OPEN', to: 'ESCALATED' },
        { field: 'assignee', from: null, to: 'bob' },
        { field: 'title', from: 'A case', to: 'New' },
        { field: 'priority', from: 'MEDIUM', to: 'HIGH' },
        { field: 'dueAt', from: null, to: '2026-12-01T00:00:00.000Z' },
      ]);
      const again = await cases.change(ANN, id, { title: 'New', status: 'ESCALATED' });
      expect([again.detail, cases.one('a', id).version]).toEqual([null, 6]);
    });

    it('based on another version are rejected, and one of two equal ones wins', async () => {
      const id = await made();
      const [first, second] = await Promise.allSettled([
        cases.change(ANN, id, { version: 1, title: 'Ann' }),
        cases.change(BOB, id, { version: 1, title: 'Bob' }),
      ]);
      expect([first.status, second.status].sort()).toEqual(['fulfilled', 'rejected']);
      await expect(cases.addEvent(ANN, id, { type: 'NOTE', note: 'x', version: 1 }, null)).rejects.toThrow(
        /version: the case has the version 2, not 1/,
      );
      expect(cases.one('a', id).version).toBe(2);
    });

    it('of concurrent clients are all kept', async () => {
      const id = await made();
      await Promise.all(Array.from({ length: 30 }, (_, n) => note(id, `note ${n}`, n % 2 === 0 ? ANN : BOB)));
      const { events } = cases.events('a', id, { limit: 100 }, false);
      expect(events.map(({ event }) => event.sequence)).toEqual(Array.from({ length: 31 }, (_, n) => 31 - n));
      expect(new Set(events.map(({ event }) => event.note)).size).toBe(31);
    });

    it('with invalid values are rejected, and store nothing', async () => {
      const id = await made();
      for (const [change, field] of [
        [{ title: ' ' }, 'title'],
        [{ title: 'a\nb' }, 'title'],
        [{ title: '\ud800' }, 'title'],
        [{ assignee: '\u0007' }, 'assignee'],
        [{ dueAt: '2026-02-30' }, 'dueAt'],
        [{ dueAt: 'tomorrow' }, 'dueAt'],
        [{ dueAt: '2026-12-01T25:00:00Z' }, 'dueAt'],
        [{ status: 'CLOSED' as const }, 'status'],
      ] as const)
        await expect(cases.change(ANN, id, change)).rejects.toMatchObject({ code: 'INVALID_REQUEST', field });
      expect(cases.one('a', id).version).toBe(1);
    });

    it('need the field of the type of an event, and no other', async () => {
      const id = await made();
      await expect(cases.addEvent(ANN, id, { type: 'LINK', note: 'x' }, null)).rejects.toThrow(
        /^link: is required/,
      );
      await expect(
        cases.addEvent(ANN, id, { type: 'NOTE', note: 'x', assignee: 'bob' }, null),
      ).rejects.toThrow(/^assignee: must not/);
      await expect(cases.addEvent(ANN, id, { type: 'STATUS', status: 'OPEN' }, null)).rejects.toThrow(
        /already/,
      );
    });
  });

  describe('decisions', () => {
    it('without the four-eyes rule close the case at once', async () => {
      const id = await made();
      await propose(id);
      expect(cases.one('a', id)).toMatchObject({
        ...{ status: 'CLOSED', proposal: null },
        outcome: { disposition: 'REPORTED', reasonCode: 'SAR_FILED', decidedBy: 'key_ann', approvedBy: null },
      });
      for (const change of [{ title: 'x' }, { priority: 'LOW' as const }, { dueAt: null }])
        await expect(cases.change(ANN, id, change)).rejects.toMatchObject({
          ...{ code: 'INVALID_REQUEST', field: Object.keys(change)[0] },
          message: expect.stringMatching(/closed/),
        });
      await expect(addFile(id, 'a.txt', 'text/plain', Buffer.from('a'))).rejects.toThrow(/closed/);
      await note(id, 'a late remark');
      await cases.change(ANN, id, { status: 'OPEN', title: 'Again' });
      expect(cases.one('a', id)).toMatchObject({ status: 'OPEN', outcome: null, title: 'Again' });
    });

    it('with the four-eyes rule take effect when another person approves the same proposal', async () => {
      await store.close();
      await open(true);
      const id = await made();
      expect(() => cases.one('a', id)).not.toThrow();
      await expect(cases.create(ANN, { title: 'x', fourEyes: false }, null)).rejects.toThrow(/must be true/);
      await propose(id);
      const proposal = cases.one('a', id).proposal?.event ?? 0;
      expect(cases.one('a', id)).toMatchObject({ status: 'IN_REVIEW', outcome: null });
      await expect(decide(id, 'APPROVE', proposal, ANN)).rejects.toMatchObject({ code: 'FORBIDDEN' });
      // A second key of the same person.
      await expect(decide(id, 'APPROVE', proposal, { ...ANN, who: 'key_ann2' })).rejects.toMatchObject({
        code: 'FORBIDDEN',
      });
      await expect(decide(id, 'APPROVE', proposal + 1)).rejects.toThrow(/decision\.proposal/);
      await expect(cases.change(BOB, id, { status: 'OPEN' })).rejects.toThrow(/waits for approval/);
      await expect(propose(id, BOB)).rejects.toThrow(/waits for approval/);
      await decide(id, 'REJECT', proposal);
      await propose(id);
      await expect(decide(id, 'APPROVE', proposal)).rejects.toThrow(/decision\.proposal/);
      await decide(id, 'APPROVE', cases.one('a', id).proposal?.event ?? 0);
      expect(cases.one('a', id)).toMatchObject({
        status: 'CLOSED',
        outcome: { decidedBy: 'key_ann', approvedBy: 'key_bob' },
      });
      await expect(decide(id, 'APPROVE', 1)).rejects.toThrow(/closed/);
    });
  });

  describe('links', () => {
    it('keep the answer with its hash, and read alerts themselves', async () => {
      const id = await made();
      await cases.addEvent(ANN, id, { type: 'LINK', link: { type: 'ALERT', id: 'alert1' } }, null);
      expect(cases.one('a', id).links).toMatchObject([
        { type: 'ALERT', id: 'alert1', chain: 'ETH', answer: { origin: 'SERVICE', dataVersion: null } },
      ]);
      expect(store.answer(cases.one('a', id), 2)).toBe('{"id":"alert1","status":"NEW"}');
    });

    it('that are incomplete, unknown or too large are rejected, and store nothing', async () => {
      const id = await made();
      for (const [link, message] of [
        [{ type: 'ALERT', id: 'other' }, /link\.id: there is no alert/],
        [{ type: 'ALERT', id: 'alert1', answer: {} }, /link\.answer: must not be given/],
        [{ type: 'ALERT' }, /link\.id: is required/],
        [{ type: 'ADDRESS', address: ADDRESS }, /link\.chain: is required/],
        [{ type: 'ADDRESS', address: '0x1', chain: 'ETH' }, /link\.address/],
        [{ type: 'ADDRESS', address: ADDRESS, chain: 'NOPE' }, /link\.chain/],
        [{ type: 'SCREENING', answer: { address: ADDRESS, chain: 'ETH' } }, /link\.answer\.dataVersion/],
        [
          { type: 'SCREENING', answer: { ...screening(), pad: 'x'.repeat(600_000) } },
          /link\.answer: has \d+ bytes/,
        ],
        [{ type: 'TRANSACTION', id: '0xabc' }, /link\.chain: is required/],
        [{ type: 'NAME', name: 'a\u0000b' }, /link\.name/],
      ] as const)
        await expect(cases.addEvent(ANN, id, { type: 'LINK', link }, null)).rejects.toThrow(message);
      expect(cases.one('a', id)).toMatchObject({ version: 1, links: [] });
    });

    it('keep an answer up to the largest size, and a data version up to the longest', async () => {
      const id = await made();
      const link = (answer: Readonly<Record<string, unknown>>) =>
        cases.addEvent(ANN, id, { type: 'LINK', link: { type: 'SCREENING', answer } }, null);
      const longest = 'v'.repeat(200);
      await link(screening(longest));
      expect(cases.one('a', id).links).toMatchObject([{ answer: { dataVersion: longest } }]);
      await expect(link(screening(`${longest}v`))).rejects.toThrow(/link\.answer\.dataVersion/);
      const padded = (bytes: number) => {
        const bare = JSON.stringify({ ...screening(), pad: '' }).length;
        return { ...screening(), pad: 'x'.repeat(bytes - bare) };
      };
      await link(padded(CASE_LIMITS.linkedAnswerBytesMax));
      await expect(link(padded(CASE_LIMITS.linkedAnswerBytesMax + 1))).rejects.toThrow(/link\.answer: has/);
      expect(cases.one('a', id).links).toHaveLength(2);
    });

    it('end a page of events with answers before it is too large', async () => {
      const id = await made();
      const answer = { ...screening(), pad: 'x'.repeat(500_000) };
      for (let n = 0; n < 10; n++)
        await cases.addEvent(ANN, id, { type: 'LINK', link: { type: 'SCREENING', answer } }, null);
      const first = cases.events('a', id, { limit: 100 }, true);
      expect(first.events.length).toBeLessThan(11);
      const second = cases.events('a', id, { limit: 100, cursor: first.nextCursor ?? '' }, true);
      expect([...first.events, ...second.events].map(({ event }) => event.sequence)).toEqual(
        Array.from({ length: 11 }, (_, n) => 11 - n),
      );
    });
  });

  describe('the limits of an account', () => {
    /** Opens the cases again, after a count of the account was changed to what so many cases or bytes would make. */
    async function countAs(name: 'cases' | 'bytes', count: number): Promise<void> {
      await store.close();
      const { root } = state.openStore(`${folder.path}/cases.mdb`, 1, { name: 'cases', maxDbs: 12 });
      await state.ready();
      const counts: LiveDatabase<number, [string, string]> = root.openDB({
        name: 'counts',
        encoding: 'json',
      });
      await root.transaction(() => counts.putSync(['a', name], count));
      await root.close();
      await open();
    }

    it('are as many cases as the maximum, counted by account', async () => {
      await countAs('cases', CASE_LIMITS.casesMax - 1);
      await made('the last');
      await expect(made('one too many')).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        message: `The account has ${CASE_LIMITS.casesMax} cases, the maximum.`,
      });
      await made('of another account', {}, client('key_eve', 'b'));
    });

    it('are as many bytes of files as the maximum', async () => {
      const id = await made();
      await countAs('bytes', CASE_LIMITS.accountFileBytesMax - 5);
      const add = (name: string, text: string) => addFile(id, name, 'text/plain', Buffer.from(text));
      const refused = { code: 'INVALID_REQUEST', field: 'body' };
      await expect(add('a.txt', '123456')).rejects.toMatchObject(refused);
      expect(cases.one('a', id)).toMatchObject({ version: 1, files: [] });
      await add('a.txt', '12345');
      await expect(add('b.txt', '1')).rejects.toMatchObject(refused);
      expect(cases.one('a', id).files).toHaveLength(1);
    });
  });

  it('have notes that are neither blank nor have control characters', async () => {
    const id = await made();
    for (const blank of ['', ' ', '\n\t '])
      await expect(note(id, blank)).rejects.toThrow('must not be blank');
    for (const wrong of ['a\u0000', 'a\u001b[31m', 'a\ud800'])
      await expect(note(id, wrong)).rejects.toThrow('must be valid Unicode');
    await expect(made('x', { note: ' ' })).rejects.toThrow('must not be blank');
    expect(cases.one('a', id).version).toBe(1);
    await note(id, 'first line\n\tsecond line');
    expect(cases.one('a', id).version).toBe(2);
  });

  it('have notes of a bounded length in all', async () => {
    const id = await made();
    const text = 'x'.repeat(CASE_LIMITS.noteCharsMax);
    const most = CASE_LIMITS.caseNoteCharsMax / CASE_LIMITS.noteCharsMax;
    for (let n = 0; n < most; n++) await note(id, text);
    await expect(note(id, 'y')).rejects.toThrow(/^note: the notes of the case would have 1000001 characters/);
    // It can still be closed.
    await cases.addEvent(ANN, id, { type: 'STATUS', status: 'IN_REVIEW' }, null);
    await propose(id);
    expect(cases.one('a', id)).toMatchObject({ status: 'CLOSED', noteChars: CASE_LIMITS.caseNoteCharsMax });
  });

  it('link to the address that a link names, or else to that of its answer', async () => {
    const links = [
      { type: 'SCREENING', answer: screening() },
      { type: 'SCREENING', answer: screening(), address: OTHER, chain: 'BSC' },
      { type: 'ADDRESS', address: OTHER, chain: 'ETH' },
    ];
    const id = await made('A case', { links });
    expect(cases.one('a', id).links).toMatchObject([
      { address: ADDRESS, chain: 'ETH' },
      { address: OTHER, chain: 'BSC', answer: { origin: 'CLIENT' } },
      { address: OTHER, chain: 'ETH', answer: null },
    ]);
  });

  it('keep a saved screening that they link to, with its bytes', async () => {
    const id = await made('A case', { links: [{ type: 'SCREENING', id: 'saved1' }] });
    const [link] = cases.one('a', id).links;
    expect(link).toMatchObject({
      id: 'saved1',
      chain: 'ETH',
      answer: { origin: 'SERVICE', dataVersion: 'v7' },
    });
    expect(cases.events('a', id, { limit: 1 }, true).events[0]?.answer).toBe(SAVED);
    await expect(made('A case', { links: [{ type: 'SCREENING', id: 'saved2' }] })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      field: 'links[0].id',
    });
  });

  describe('repeated requests', () => {
    it('get the first response once for a day, and another body is rejected', async () => {
      const first = await cases.create(ANN, { title: 'Once' }, repeat('s1', 'b1'));
      const id = cases.list('a', {}, { limit: 1 }).cases[0]?.id ?? '';
      await note(id, 'meanwhile');
      const again = await cases.create(ANN, { title: 'Once' }, repeat('s1', 'b1'));
      expect(again).toEqual({ ...first, isRepeated: true });
      await expect(cases.create(ANN, { title: 'Once' }, repeat('s1', 'b2'))).rejects.toMatchObject({
        field: 'Idempotency-Key',
      });
      const events = await Promise.all(
        [1, 2, 3].map(() => cases.addEvent(ANN, id, { type: 'NOTE', note: 'x' }, repeat('s2', 'b'))),
      );
      expect(events.filter(({ isRepeated }) => isRepeated)).toHaveLength(2);
      expect([cases.list('a', {}, { limit: 10 }).cases.length, cases.one('a', id).events]).toEqual([1, 3]);
      nowMs += STATE_LIMITS.repeatMs + 1;
      expect((await cases.create(ANN, { title: 'Once' }, repeat('s1', 'b2'))).isRepeated).toBe(false);
    });

    it('of a failed change store nothing', async () => {
      await expect(
        cases.addEvent(ANN, await made(), { type: 'STATUS', status: 'CLOSED' }, repeat('s3', 'b')),
      ).rejects.toThrow();
      const id = await made();
      expect((await cases.addEvent(ANN, id, { type: 'NOTE', note: 'x' }, repeat('s3', 'c'))).isRepeated).toBe(
        false,
      );
    });
  });

  describe('lists', () => {
    it('filter by state, assignee, priority, due date, linked address and text', async () => {
      await made('one', { assignee: 'ann', priority: 'HIGH', dueAt: '2026-12-01' });
      const two = await made('two', {
        assignee: 'ann',
        links: [{ type: 'ADDRESS', address: ADDRESS, chain: 'ETH' }],
      });
      const three = await made('Ｔhree', { dueAt: '2026-12-31T12:00:00+02:00' });
      await propose(three);
      await note(two, 'Straße');
      expect(titles({})).toEqual(['Ｔhree', 'two', 'one']);
      expect(titles({ assignee: 'ann' })).toEqual(['two', 'one']);
      expect(titles({ assignee: 'an' })).toEqual([]);
      expect(titles({ status: ['CLOSED'] })).toEqual(['Ｔhree']);
      expect(titles({ status: ['OPEN', 'CLOSED'] })).toEqual(['Ｔhree', 'two', 'one']);
      expect(titles({ status: ['OPEN'], priority: 'HIGH' })).toEqual(['one']);
      expect(titles({ dueBefore: '2026-12-31' })).toEqual(['one']);
      expect(titles({ dueBefore: '2026-12-31T10:00:01Z' })).toEqual(['Ｔhree', 'one']);
      expect(titles({ dueBefore: '2026-12-31T10:00:00Z' })).toEqual(['one']);
      expect(titles({ address: ADDRESS.toLowerCase(), chain: 'eth' })).toEqual(['two']);
      expect(titles({ address: ADDRESS, chain: 'BSC' })).toEqual([]);
      expect(titles({ address: OTHER, chain: 'ETH' })).toEqual([]);
      expect(titles({ q: 'three' })).toEqual(['Ｔhree']);
      expect(titles({ q: 'STRASSE' })).toEqual([]);
      expect(titles({ q: 'straße' })).toEqual(['two']);
      expect(titles({ q: '0x28c6' })).toEqual(['two']);
      await cases.change(ANN, two, { assignee: null });
      expect(titles({ assignee: 'ann' })).toEqual(['one']);
      const four = await made('four', { links: [{ type: 'ALERT', id: 'alert1' }] });
      await cases.addEvent(ANN, two, { type: 'LINK', link: { type: 'ALERT', id: 'alert1' } }, null);
      await propose(two);
      expect(titles({ linkId: 'alert1' })).toEqual(['four', 'two']);
      expect(titles({ linkId: 'alert1', status: ['OPEN', 'IN_REVIEW', 'ESCALATED'] })).toEqual(['four']);
      expect([
        titles({ linkId: 'alert' }),
        cases.list('b', { linkId: 'alert1' }, { limit: 9 }).cases,
      ]).toEqual([[], []]);
      expect(cases.one('a', four).links[0]?.address).toBe(ADDRESS);
      expect(() => cases.list('a', { address: ADDRESS }, { limit: 1 })).toThrow(/together/);
      expect(() => cases.list('a', {}, { limit: 1, cursor: 'x' })).toThrow(/cursor/);
    });

    it('count the characters of notes as a search reads them', async () => {
      // U+FDFA becomes 18 characters.
      await made('short', { note: '\ufdfa'.repeat(55_000) });
      await expect(made('long', { note: '\ufdfa'.repeat(56_000) })).rejects.toThrow(/1008000 characters/);
    });

    it('end a page before it has read too much, and continue behind it', async () => {
      await made('the needle');
      const note = 'x'.repeat(CASE_LIMITS.caseNoteCharsMax);
      const count = CASE_LIMITS.searchCharsMax / CASE_LIMITS.caseNoteCharsMax;
      for (let n = 0; n < count; n++) await made('long', { note });
      const first = cases.list('a', { q: 'needle' }, { limit: 10 });
      expect([first.cases, first.nextCursor]).toEqual([[], '2']);
      const second = cases.list('a', { q: 'needle' }, { limit: 10, cursor: first.nextCursor ?? '' });
      expect([second.cases.map(({ title }) => title), second.nextCursor]).toEqual([['the needle'], null]);
    });

    it('show each case once while others are added', async () => {
      for (let n = 0; n < 7; n++) await made(`case ${n}`, { assignee: 'ann' });
      const seen: number[] = [];
      let cursor: string | null = null;
      do {
        const page: ReturnType<CaseService['list']> = cases.list(
          'a',
          { assignee: 'ann' },
          { limit: 2, ...(cursor === null ? {} : { cursor }) },
        );
        seen.push(...page.cases.map(({ number }) => number));
        cursor = page.nextCursor;
        await made('new', { assignee: 'ann' });
      } while (cursor !== null);
      expect(seen).toEqual([7, 6, 5, 4, 3, 2, 1]);
    });
  });

  describe('files', () => {
    it('are kept byte for byte, and listed newest first', async () => {
      const id = await made();
      const large = Buffer.alloc(CASE_LIMITS.filePieceBytes * 3 + 17, 'ab\n');
      const { file } = await addFile(id, 'large.txt', 'text/plain; charset=utf-8', large);
      await addFile(id, 'a.png', 'image/png', PNG);
      await store.close();
      await open();
      expect(cases.file('a', id, file.id).bytes.equals(large)).toBe(true);
      expect(cases.files('a', id, { limit: 10 }).files.map((one) => [one.name, one.bytes])).toEqual([
        ['a.png', PNG.length],
        ['large.txt', large.length],
      ]);
      const page = cases.files('a', id, { limit: 1 });
      expect(cases.files('a', id, { limit: 1, cursor: page.nextCursor ?? '' })).toMatchObject({
        ...{ files: [{ name: 'large.txt' }], nextCursor: null },
      });
      expect(() => cases.file('a', id, 'other')).toThrow(/no file/);
      expect(() => cases.file('b', id, file.id)).toThrow(/no case/);
    });

    it('with hostile names, or content of another type, are rejected', async () => {
      const id = await made();
      for (const [fileName, type, content, message] of [
        ['a.png', 'image/png', Buffer.from('<script>alert(1)</script>'), /content is not image\/png/],
        ['a.txt', 'text/plain', PNG, /content is not text\/plain/],
        ['a.txt', 'text/plain', Buffer.alloc(0), /empty/],
        ['a.svg', 'image/svg+xml', Buffer.from('<svg/>'), /Content-Type: must be one of/],
        ['a.html', 'text/html', Buffer.from('<p>'), /Content-Type: must be one of/],
        ['../a.txt', 'text/plain', Buffer.from('a'), /^name/],
        ['a\u202egnp.txt', 'text/plain', Buffer.from('a'), /^name/],
        ['a\r\nSet-Cookie: x', 'text/plain', Buffer.from('a'), /^name/],
        ['.hidden', 'text/plain', Buffer.from('a'), /^name/],
        // A full-width slash, which some programs fold.
        ['..\uff0fa.txt', 'text/plain', Buffer.from('a'), /^name/],
        ['a\uff0fb.txt', 'text/plain', Buffer.from('a'), /^name: must contain neither/],
        ['a\uff1ab.txt', 'text/plain', Buffer.from('a'), /^name: must contain neither/],
        ['a.txt ', 'text/plain', Buffer.from('a'), /^name: must neither begin nor end/],
        ['a.txt.', 'text/plain', Buffer.from('a'), /^name: must neither begin nor end/],
        // The computer of a reader would run these.
        ['report.html', 'text/plain', Buffer.from('<script>'), /^name: must end with \.txt/],
        ['a.txt.js', 'text/plain', Buffer.from('alert(1)'), /^name: must end with/],
        ['macros.docm', 'application/zip', Buffer.from('PK\x03\x04'), /^name: must end with \.zip/],
        ['library.jar', 'application/zip', Buffer.from('PK\x03\x04'), /^name: must end with \.zip/],
        ['a.pdf', 'image/png', PNG, /^name: must end with \.png/],
      ] as const)
        await expect(addFile(id, fileName, type, content)).rejects.toThrow(message);
      expect(cases.one('a', id)).toMatchObject({ version: 1, files: [] });
    });

    it('that are being stored keep their place among the uploads', async () => {
      const id = await made();
      const begin = (n: number) =>
        cases.receiveFile(ANN, id, { name: `${n}.txt`, contentType: 'text/plain' });
      const uploads = Array.from({ length: CASE_LIMITS.accountUploadsMax }, (_, n) => begin(n));
      uploads[0]?.write(Buffer.from('a'));
      const storing = uploads[0]?.end(() => null);
      expect(() => begin(99)).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
      await storing;
      begin(99).abort();
      for (const upload of uploads) upload.abort();
    });

    it('of the account are bounded, and places of uploads are freed', async () => {
      const id = await made();
      const begin = (accountId: string, caseId: string) =>
        cases.receiveFile(client('key_1', accountId), caseId, { name: 'a.txt', contentType: 'text/plain' });
      const full = expect.objectContaining({ code: 'OVERLOADED' });
      const open = Array.from({ length: CASE_LIMITS.accountUploadsMax }, () => begin('a', id));
      expect(() => begin('a', id)).toThrow(full);
      // An account that sends slowly leaves room for others, up to the maximum of the node.
      for (let n = 0; open.length < CASE_LIMITS.uploadsMax; n++) {
        const accountId = `other${n}`;
        open.push(begin(accountId, await made('A case', {}, client('key_1', accountId))));
      }
      const last = await made('A case', {}, client('key_1', 'last'));
      expect(() => begin('last', last)).toThrow(full);
      open.pop()?.abort();
      begin('last', last).abort();
      for (const upload of open) {
        upload.abort();
        // A second end of the same upload frees nothing more.
        upload.abort();
      }
      open.push(...Array.from({ length: CASE_LIMITS.accountUploadsMax }, () => begin('a', id)));
      expect(() => begin('a', id)).toThrow(full);
      for (const upload of open) upload.abort();
      await addFile(id, 'without-ending', 'text/plain', Buffer.from('a'));
      for (let n = 1; n < CASE_LIMITS.filesMax; n++)
        await addFile(id, `${n}.txt`, 'text/plain', Buffer.from(`${n}`));
      await expect(addFile(id, 'more.txt', 'text/plain', Buffer.from('x'))).rejects.toThrow(/50 files/);
    });
  });

  it('deletes all cases whose retention has ended at once, and reports their number', async () => {
    const count = CASE_LIMITS.deletedAtOnceMax + 1;
    for (let n = 0; n < count; n++) await propose(await made());
    const logged: unknown[] = [];
    const log = { ...silentLogger, info: (fields: unknown) => void logged.push(fields) };
    const retention = startRetention(
      { days: 10, what: 'cases', atOnce: CASE_LIMITS.deletedAtOnceMax },
      {
        deleteBefore: (beforeMs, limit) => store.deleteClosedBefore(beforeMs, limit),
        ...{ clock, log, onDeleted: async () => {} },
      },
    );
    expect([await retention.look(), logged]).toEqual([0, []]);
    nowMs += 10 * 86_400_000 + 1;
    expect(await retention.look()).toBe(count);
    expect([logged, titles({})]).toEqual([[{ cases: count }], []]);
    await retention.stop();
    expect(await retention.look()).toBe(0);
  });

  it('deletes closed cases when their retention has ended, and nothing before', async () => {
    const closed = await made('closed', { links: [{ type: 'SCREENING', answer: screening() }] });
    await addFile(closed, 'a.png', 'image/png', PNG);
    await propose(closed);
    const reopened = await made('reopened');
    await propose(reopened);
    await cases.change(ANN, reopened, { status: 'OPEN' });
    await made('open');
    const deleted: string[] = [];
    const retention = startRetention(
      { days: 10, what: 'cases', atOnce: CASE_LIMITS.deletedAtOnceMax },
      {
        deleteBefore: (beforeMs, limit) => store.deleteClosedBefore(beforeMs, limit),
        ...{ clock, log: silentLogger },
        onDeleted: async ({ title }) => void deleted.push(title),
      },
    );
    const record = cases.one('a', closed);
    nowMs += 10 * 86_400_000 - 1;
    expect(await retention.look()).toBe(0);
    nowMs += 2;
    expect(await retention.look()).toBe(1);
    await retention.stop();
    expect(deleted).toEqual(['closed']);
    expect(titles({})).toEqual(['open', 'reopened']);
    expect(() => cases.one('a', closed)).toThrow(/no case/);
    expect([
      [...store.events(record, 100)],
      store.answer(record, 2),
      store.content(record, 3).length,
    ]).toEqual([...[[], null, 0]]);
    await made('next');
    expect(cases.list('a', {}, { limit: 1 }).cases[0]?.number).toBe(4);
  });
});

describe('guards of cases', () => {
  let folder: TempFolder;
  let store: CaseStore;
  let root: LiveRoot;
  let nowMs = 0;
  const clock = { now: () => nowMs, monotonic: () => performance.now() };
  const limits = CASE_LIMITS as { -readonly [Name in keyof typeof CASE_LIMITS]: number };
  const usual = { ...CASE_LIMITS };
  let cases: CaseService;
  let fourEyes: CaseService;

  beforeEach(() => {
    nowMs = Date.parse('2026-11-01T00:00:00Z');
    folder = memoryFolder();
    const openStore: OpenStore = (...options) => {
      const live = openLiveStore(...options);
      root = live.root;
      return live;
    };
    store = openCaseStore({ path: `${folder.path}/cases.mdb` }, { clock, openStore });
    const records = { alert: () => null, wallet: () => null, screening: () => null };
    const deps = { store, records, clock, random: systemRandom };
    cases = createCases({ fourEyes: false }, deps);
    fourEyes = createCases({ fourEyes: true }, deps);
  });
  afterEach(async () => {
    Object.assign(limits, usual);
    await store.close();
    folder.remove();
  });

  const made = async (draft: object = {}, of = ANN): Promise<string> =>
    answerOf<{ case: { id: string } }>(await cases.create(of, { title: 'A case', ...draft }, null)).case.id;
  const add = (id: string, text: string, key: ReturnType<typeof repeat> | null = null) =>
    cases.addEvent(ANN, id, { type: 'NOTE', note: text }, key);
  const propose = (id: string, service = cases) =>
    service.addEvent(
      ANN,
      id,
      { type: 'DECISION', decision: { action: 'PROPOSE', disposition: 'REPORTED', reasonCode: 'SAR' } },
      null,
    );
  async function addFile(id: string, name: string, text: string) {
    const upload = cases.receiveFile(ANN, id, { name, contentType: 'text/plain' });
    upload.write(Buffer.from(text));
    return answerOf<{ file: { id: string; event: number } }>(await upload.end(() => null)).file;
  }
  const titles = (query: object) => cases.list('a', query, { limit: 100 }).cases.map(({ title }) => title);

  it('a deleted case leaves nothing in the file, except counts', async () => {
    const id = await made({ links: [{ type: 'SCREENING', answer: screening() }] });
    await addFile(id, 'a.txt', 'a');
    await propose(id);
    const tables = ['cases', 'numbers', 'events', 'answers', 'pieces', 'terms', 'closed'];
    const filled = (): string[] =>
      tables.filter((name) => root.openDB({ name, encoding: 'binary' }).getKeysCount({}) > 0);
    expect(filled()).toEqual(tables);
    expect(await store.deleteClosedBefore(nowMs + 1, 1)).toHaveLength(1);
    expect(filled()).toEqual([]);
  });

  it('the last events of a case are reserved for its status and its decision', async () => {
    limits.eventsMax = 6;
    limits.eventsReserved = 3;
    const id = await made();
    await add(id, 'second');
    await add(id, 'third');
    await expect(add(id, 'fourth')).rejects.toThrow(/^id: the case has 3 events/);
    await expect(cases.change(ANN, id, { title: 'x' })).rejects.toThrow(/^id: the case has 3 events/);
    await cases.change(ANN, id, { status: 'IN_REVIEW' });
    await cases.change(ANN, id, { status: 'OPEN' });
    await propose(id);
    expect(cases.one('a', id)).toMatchObject({ status: 'CLOSED', events: 6 });
    await expect(cases.change(ANN, id, { status: 'OPEN' })).rejects.toThrow(/^id: the case has 6 events/);
  });

  it('a case has up to its maximum of links', async () => {
    limits.linksMax = 2;
    const link = { type: 'NAME', name: 'Ivan Ivanov' } as const;
    const id = await made({ links: [link] });
    await cases.addEvent(ANN, id, { type: 'LINK', link }, null);
    await expect(cases.addEvent(ANN, id, { type: 'LINK', link }, null)).rejects.toThrow(
      /^link: the case has 2 links/,
    );
    await expect(made({ links: [link, link, link] })).rejects.toThrow(/^link: the case has 2 links/);
    // It was not numbered.
    expect(cases.list('a', {}, { limit: 9 }).cases.map(({ number }) => number)).toEqual([1]);
  });

  it('a request is repeated for less than a day, and a later one with the key is kept as long', async () => {
    const id = await made();
    const first = await add(id, 'x', repeat('s', 'b'));
    nowMs += STATE_LIMITS.repeatMs - 1;
    expect(await add(id, 'x', repeat('s', 'b'))).toEqual({ ...first, isRepeated: true });
    nowMs += 1;
    const second = await add(id, 'y', repeat('s', 'c'));
    expect(second.isRepeated).toBe(false);
    // Other requests sweep what has ended: the first use of the key, not the second.
    nowMs += 1;
    for (const slot of ['t', 'u', 'v']) await add(id, 'z', repeat(slot, 'b'));
    expect(await add(id, 'y', repeat('s', 'c'))).toEqual({ ...second, isRepeated: true });
    await expect(add(id, 'y', repeat('s', 'b'))).rejects.toMatchObject({ field: 'Idempotency-Key' });
  });

  it('a deleted case leaves the others whole, and gives back the room of its files', async () => {
    const first = await made({
      title: 'first',
      links: [{ type: 'ADDRESS', address: ADDRESS, chain: 'ETH' }],
    });
    const gone = await made({ title: 'gone', assignee: 'ann' });
    const last = await made({
      ...{ title: 'last', assignee: 'ann' },
      links: [{ type: 'SCREENING', answer: screening() }],
    });
    limits.accountFileBytesMax = 10;
    const file = await addFile(last, 'a.txt', '1234');
    await addFile(gone, 'b.txt', '123456');
    await expect(addFile(last, 'c.txt', '1')).rejects.toThrow(/the files of the account would have 11 bytes/);
    await propose(gone);
    nowMs += 1;
    const closedAtMs = nowMs - 1;
    expect(await store.deleteClosedBefore(closedAtMs, 5)).toEqual([]);
    expect(await store.deleteClosedBefore(nowMs, 5)).toMatchObject([{ title: 'gone' }]);
    expect(await store.deleteClosedBefore(nowMs, 5)).toEqual([]);
    expect(titles({})).toEqual(['last', 'first']);
    expect(titles({ assignee: 'ann' })).toEqual(['last']);
    expect(titles({ status: ['CLOSED'] })).toEqual([]);
    expect(cases.events('a', first, { limit: 9 }, false).events).toHaveLength(2);
    const kept = cases.events('a', last, { limit: 9 }, true).events;
    expect(kept.map(({ event, answer }) => [event.sequence, answer !== null])).toEqual([
      [3, false],
      [2, true],
      [1, false],
    ]);
    expect(cases.file('a', last, file.id).bytes.toString()).toBe('1234');
    await addFile(last, 'd.txt', '123456');
    await expect(addFile(last, 'e.txt', '1')).rejects.toThrow(/would have 11 bytes/);
  });

  it('a case that was opened again is deleted by its last decision only', async () => {
    const id = await made();
    await propose(id);
    nowMs += 1_000;
    await cases.change(ANN, id, { status: 'OPEN' });
    await propose(id);
    expect(await store.deleteClosedBefore(nowMs, 5)).toEqual([]);
    expect(await store.deleteClosedBefore(nowMs + 1, 5)).toHaveLength(1);
  });

  it('pages of files and events end with the last one', async () => {
    const id = await made();
    const names = ['1.txt', '2.txt', '3.txt'];
    for (const name of names) await addFile(id, name, name);
    const files = (limit: number, cursor?: string) => {
      const page = cases.files('a', id, cursor === undefined ? { limit } : { limit, cursor });
      return { names: page.files.map(({ name }) => name), cursor: page.nextCursor };
    };
    expect(files(3)).toEqual({ names: names.toReversed(), cursor: null });
    const first = files(2);
    expect([first.names, files(2, first.cursor ?? '')]).toEqual([
      ['3.txt', '2.txt'],
      { names: ['1.txt'], cursor: null },
    ]);
    const events = (limit: number, cursor?: string) =>
      cases.events('a', id, cursor === undefined ? { limit } : { limit, cursor }, false);
    expect(events(4).nextCursor).toBeNull();
    const two = events(2);
    expect([
      two.nextCursor,
      events(2, two.nextCursor ?? '').events.map(({ event }) => event.sequence),
    ]).toEqual(['3', [2, 1]]);
  });

  it('a page of events with answers ends when they have more bytes than it may', async () => {
    const answer = screening();
    const bytes = JSON.stringify(answer).length;
    const links = [1, 2, 3].map(() => ({ type: 'SCREENING', answer }));
    const id = await made({ links });
    limits.answersPageBytesMax = 2 * bytes;
    expect(cases.events('a', id, { limit: 9 }, true).nextCursor).toBe('2');
    limits.answersPageBytesMax = 2 * bytes - 1;
    expect(cases.events('a', id, { limit: 9 }, true).nextCursor).toBe('3');
  });

  it('a search finds the number, the links and the files of a case', async () => {
    const id = await made({
      ...{ title: 'sought', assignee: 'Zoe' },
      links: [
        { type: 'TRANSACTION', id: `0x${'ab'.repeat(32)}`, chain: 'ETH', label: 'the Payment' },
        { type: 'NAME', name: 'Ivan Ivanov' },
      ],
    });
    await addFile(id, 'Statement.txt', 'x');
    await made({ title: 'other' });
    for (const q of ['#1', '0xabab', 'payment', 'ivan i', 'statement', 'zoe'])
      expect(titles({ q }), q).toEqual(['sought']);
    expect(titles({ q: 'case' })).toEqual([]);
    expect(titles({ q: '#', priority: 'MEDIUM' })).toEqual(['other', 'sought']);
  });

  it('a due date and an assignee are cleared by null, and a date at the limit is not before it', async () => {
    const id = await made({ dueAt: '2026-12-01', assignee: 'ann' });
    expect(titles({ dueBefore: '2026-12-01' })).toEqual([]);
    await cases.change(ANN, id, { dueAt: null, assignee: null });
    expect(cases.one('a', id)).toMatchObject({ dueAtMs: null, assignee: null, version: 3 });
    expect(titles({ dueBefore: '2030-01-01' })).toEqual([]);
    await expect(cases.change(ANN, id, { assignee: ' ' })).rejects.toMatchObject({ field: 'assignee' });
    await expect(made({ assignee: ' ' })).rejects.toMatchObject({ field: 'assignee' });
    await expect(cases.addEvent(ANN, id, { type: 'ASSIGNEE', assignee: 'a\nb' }, null)).rejects.toMatchObject(
      { field: 'assignee' },
    );
  });

  it('the four-eyes rule can be set for one case, and is not taken back', async () => {
    const id = await made();
    expect(cases.one('a', id).fourEyes).toBe(false);
    await cases.change(ANN, id, { fourEyes: true });
    await propose(id);
    expect(cases.one('a', id)).toMatchObject({ status: 'IN_REVIEW', fourEyes: true });
    await expect(propose(id)).rejects.toThrow(/waits for approval/);
    const own = answerOf<{ case: { id: string } }>(await fourEyes.create(ANN, { title: 'x' }, null)).case.id;
    expect(cases.one('a', own).fourEyes).toBe(true);
    await expect(
      cases.addEvent(ANN, own, { type: 'DECISION', decision: { action: 'APPROVE', proposal: 1 } }, null),
    ).rejects.toThrow(/no decision waits/);
    for (const [decision, field] of [
      [{ action: 'PROPOSE', reasonCode: 'SAR' }, 'decision.disposition'],
      [{ action: 'PROPOSE', disposition: 'REPORTED' }, 'decision.reasonCode'],
      [{ action: 'APPROVE' }, 'decision.proposal'],
      [{ action: 'REJECT' }, 'decision.proposal'],
    ] as const)
      await expect(cases.addEvent(ANN, own, { type: 'DECISION', decision }, null)).rejects.toMatchObject({
        field,
      });
  });

  it('a closed case takes notes, but no link, assignee or new decision', async () => {
    const id = await made();
    await propose(id);
    await expect(propose(id)).rejects.toMatchObject({ field: 'decision' });
    await expect(
      cases.addEvent(ANN, id, { type: 'LINK', link: { type: 'NAME', name: 'x' } }, null),
    ).rejects.toThrow(/^link: the case is closed/);
    await expect(cases.addEvent(ANN, id, { type: 'ASSIGNEE', assignee: 'bob' }, null)).rejects.toThrow(
      /^assignee: the case is closed/,
    );
    await expect(cases.change(ANN, id, { status: 'IN_REVIEW' })).rejects.toThrow(/must be one of OPEN/);
    await add(id, 'late');
    expect(cases.one('a', id)).toMatchObject({ links: [], assignee: null, events: 3 });
  });

  it('a link to a transfer names its chain with an address, and a trace belongs to a trace only', async () => {
    const id = await made();
    const link = (draft: object) =>
      cases.addEvent(ANN, id, { type: 'LINK', link: draft as { type: 'NAME' } }, null);
    await expect(link({ type: 'NAME', name: 'x', trace: {} })).rejects.toThrow(
      /^link\.trace: must not be given/,
    );
    await expect(link({ type: 'NAME', name: 'x', label: ' ' })).rejects.toThrow(/^link\.label/);
    await expect(link({ type: 'SCREENING' })).rejects.toThrow(
      /^link\.answer: is required for SCREENING without/,
    );
    await expect(link({ type: 'WALLET', id: 'w' })).rejects.toThrow(/^link\.id: there is no wallet/);
    await link({ type: 'TRANSACTION', id: '0xabc', chain: 'ETH' });
    expect(cases.one('a', id).links).toMatchObject([
      { id: '0xabc', chain: 'ETH', address: null, answer: null },
    ]);
  });
});

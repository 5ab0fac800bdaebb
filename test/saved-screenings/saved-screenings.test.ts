/**
 * Saved screenings and their charges, over both kinds of live state and both ledgers: what is kept, lists, bounds, retention, and an
 * interruption at any step of a purchase.
 */
import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { answerSlot, hashBody } from '../../src/accounts/idempotency.ts';
import type { Ledger } from '../../src/accounts/ledger.ts';
import { openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { balanceId, POOLS } from '../../src/accounts/pools.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { startRetention } from '../../src/base/retention.ts';
import type { StagedCharge } from '../../src/base/staged-purchases.ts';
import { CASE_LIMITS } from '../../src/cases/limits.ts';
import { packed, storedText } from '../../src/saved-screenings/content.ts';
import { SAVED_LIMITS } from '../../src/saved-screenings/limits.ts';
import { SAVED_KINDS, type SavedKind, type StagedScreening } from '../../src/saved-screenings/records.ts';
import type { SavedQuery } from '../../src/saved-screenings/service.ts';
import { type LiveRoot, openLiveStore } from '../../src/state/live-store.ts';
import { accountsAt } from '../accounts/redis/world.ts';
import { memoryFolder } from '../accounts/temp-folder.ts';
import { replicatedState } from '../setup/live-state.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { type OpenedSaved, openedSaved } from './opened.ts';

const ACCOUNT = 'a';
const WHO = { accountId: ACCOUNT, who: 'key_ann' };
const ADDRESS = '0x28C6c06298d514Db089934071355E5743bf21d60';
const OTHER = `0x${'1'.padStart(40, '0')}`;
const SLOT = answerSlot(ACCOUNT, 'POST', '/screening', 'key-1');
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const WITH_KEY: StagedCharge = {
  type: 'SCREENING',
  amount: 1,
  reference: 'screening',
  keep: { slot: hex(SLOT), bodyHash: hex(hashBody({ a: 1 })) },
  ignored: null,
};
const WITHOUT_KEY: StagedCharge = { ...WITH_KEY, keep: null };
const present = (): void => {};

/** Not as JSON.stringify would write it: the bytes must come back. */
const textOf = (address = ADDRESS, more = ''): Buffer =>
  Buffer.from(
    `{"address":"${address}", "chain":"ETH","riskScore":90.0,"riskLevel":"HIGH","dataVersion":"v1","policyVersion":"p1"${more}}`,
  );

interface Opened extends OpenedSaved {
  readonly ledger: Ledger;
  close(): Promise<void>;
}

type Options = Parameters<typeof openedSaved>[2];

interface SavedWorld {
  /** Opens the stores as a process does; the one before must be closed. */
  open(options?: Options): Promise<Opened>;
  dispose(): void;
}

function embeddedWorld(): SavedWorld {
  const folder = memoryFolder();
  return {
    async open(options = {}) {
      const ledger = openLedger(
        { path: `${folder.path}/ledger.mdb` },
        {
          clock: { now: Date.now, monotonic: () => performance.now() },
          log: silentLogger,
          freeCredits: () => 10,
        },
      );
      const opened = openedSaved(folder.path, () => ledger, options);
      return {
        ...{ ...opened, ledger },
        async close() {
          await opened.store.close();
          await ledger.close();
        },
      };
    },
    dispose: () => folder.remove(),
  };
}

function redisWorld(url: string, name: string): SavedWorld {
  const folders: ReturnType<typeof memoryFolder>[] = [];
  const accounts = accountsAt(url);
  return {
    async open(options = {}) {
      const folder = memoryFolder();
      folders.push(folder);
      const node = accounts.node();
      const state = replicatedState({ url }, name);
      const opened = openedSaved(folder.path, () => node.ledger, { openStore: state.openStore, ...options });
      await state.ready();
      return {
        ...{ ...opened, ledger: node.ledger },
        async close() {
          await opened.store.close();
          await node.close();
          await state.close();
        },
      };
    },
    dispose() {
      for (const folder of folders) folder.remove();
    },
  };
}

describe.each(['one machine', 'Redis'])('saved screenings: %s', (kind) => {
  const isRedis = kind === 'Redis';
  if (isRedis && !hasRedis) return;
  let redis: RedisServer | null = null;
  let worlds = 0;
  let world: SavedWorld;
  let opened: Opened;
  let nowMs = 0;
  const clock = { now: () => nowMs, monotonic: () => performance.now() };

  beforeAll(async () => {
    if (isRedis) redis = await startRedis();
  });
  afterAll(() => redis?.stop());
  beforeEach(async () => {
    nowMs = Date.parse('2026-11-23T10:00:00Z');
    world = redis === null ? embeddedWorld() : redisWorld(redis.url, `saved${worlds++}`);
    opened = await world.open({ clock });
  });
  afterEach(async () => {
    await opened.close();
    world.dispose();
  });

  const reopen = async (options: Options = {}): Promise<void> => {
    await opened.close();
    opened = await world.open({ clock, ...options });
  };
  const save = (
    charge: StagedCharge = WITHOUT_KEY,
    data: Buffer = textOf(),
    of: { readonly kind?: SavedKind; readonly accountId?: string } = {},
  ) =>
    opened.saved.save(
      { ...WHO, ...of },
      { kind: of.kind ?? 'SCREENING', request: { address: ADDRESS, chain: 'eth' }, data },
      charge,
      present,
    );
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
  const read = (bytes: Uint8Array): any => JSON.parse(Buffer.from(bytes).toString());
  const savedId = async (...parameters: Parameters<typeof save>): Promise<string> =>
    read((await save(...parameters)).body).data.screeningId;
  const ids = (query: SavedQuery = {}, kinds: readonly SavedKind[] = SAVED_KINDS, accountId = ACCOUNT) =>
    opened.saved.list(accountId, kinds, query, { limit: 100 }).screenings.map(({ id }) => id);
  const entries = async (): Promise<string[]> =>
    (await opened.ledger.usage(ACCOUNT, { limit: 100 })).history
      .filter(({ type }) => type !== 'GRANT')
      .map(({ type, amount }) => `${type} ${amount}`);

  /** Completes what was interrupted, as the background work of a process does. */
  async function finishUntil(isDone: () => boolean): Promise<void> {
    const stopped = new AbortController();
    const finishing = opened.saved.finish(stopped.signal);
    await expect.poll(isDone, { timeout: 10_000 }).toBe(true);
    stopped.abort();
    await finishing;
  }

  it('keep the bytes that the client got, with their facts, through a restart and for their account only', async () => {
    await reopen({
      softwareVersion: '2.1.0',
      lists: () => [{ list: 'OFAC_SDN', publishedAt: '2026-11-20', checkedAt: null }],
    });
    const { body, replayed } = await save();
    expect([replayed, read(body).credits]).toEqual([false, { remaining: 9 }]);
    const id = read(body).data.screeningId;
    await reopen();
    const screening = opened.saved.one(ACCOUNT, SAVED_KINDS, id);
    const text = opened.saved.answer(screening).toString();
    // The envelope of the response has the same text.
    expect(Buffer.from(body).toString()).toBe(`{"success":true,"data":${text},"credits":{"remaining":9}}`);
    expect(text).toBe(textOf(ADDRESS, `,"screeningId":"${id}"`).toString());
    expect(screening).toMatchObject({
      ...{ kind: 'SCREENING', chain: 'ETH', riskScore: 90, riskLevel: 'HIGH', decision: null },
      ...{ dataVersion: 'v1', policyVersion: 'p1', softwareVersion: '2.1.0', savedBy: 'key_ann' },
      addresses: [ADDRESS],
      request: { address: ADDRESS, chain: 'eth' },
      lists: [{ list: 'OFAC_SDN', publishedAt: '2026-11-20', checkedAt: null }],
      savedAtMs: nowMs,
      bytes: text.length,
      sha256: createHash('sha256').update(text).digest('hex'),
    });
    expect(await entries()).toEqual(['SCREENING -1']);
    for (const attempt of [
      () => opened.saved.one('b', SAVED_KINDS, id),
      () => opened.saved.one(ACCOUNT, ['KYT'], id),
      () => opened.saved.one(ACCOUNT, SAVED_KINDS, 'none'),
      () => opened.saved.compare('b', SAVED_KINDS, id, id),
    ])
      expect(attempt).toThrow(/there is no saved screening/);
    expect([ids({}, SAVED_KINDS, 'b'), ids({}, ['KYT'])]).toEqual([[], []]);
  });

  it('are listed by chain, address, level and time, newest first, in pages', async () => {
    const first = await savedId();
    nowMs += 60_000;
    const pair = await savedId(
      WITHOUT_KEY,
      Buffer.from(
        `{"chain":"ETH","from":{"address":"${OTHER}"},"to":{"address":"${ADDRESS}"},"riskScore":1,"riskLevel":"LOW","decision":"ALLOW"}`,
      ),
      { kind: 'KYT' },
    );
    nowMs += 60_000;
    const other = await savedId(WITHOUT_KEY, textOf(OTHER));
    const last = await savedId(WITHOUT_KEY, textOf(OTHER));
    for (const [query, expected] of [
      [{}, [last, other, pair, first]],
      [{ chain: 'eth' }, [last, other, pair, first]],
      [{ chain: 'BASE' }, []],
      [{ chain: 'ETH', address: ADDRESS.toLowerCase() }, [pair, first]],
      [{ chain: 'ETH', address: OTHER }, [last, other, pair]],
      [{ riskLevel: 'LOW' }, [pair]],
      [{ riskLevel: 'HIGH', chain: 'ETH', address: ADDRESS }, [first]],
      [{ from: '2026-11-23T10:01:00Z' }, [last, other, pair]],
      [{ to: '2026-11-23T10:01:00Z' }, [first]],
      [{ from: '2026-11-23T10:01:00Z', to: '2026-11-23T10:02:00Z' }, [pair]],
    ] as const)
      expect(ids(query), JSON.stringify(query)).toEqual(expected);
    const page = opened.saved.list(ACCOUNT, SAVED_KINDS, {}, { limit: 3 });
    expect(page.screenings.map(({ id }) => id)).toEqual([last, other, pair]);
    const rest = opened.saved.list(ACCOUNT, SAVED_KINDS, {}, { limit: 3, cursor: page.nextCursor ?? '' });
    expect([rest.screenings.map(({ id }) => id), rest.nextCursor]).toEqual([[first], null]);
    for (const [query, message] of [
      [{ address: ADDRESS }, /^chain: is required/],
      [{ chain: 'EHT' }, /chain/],
      [{ chain: 'ETH', address: 'x' }, /address/],
      [{ from: 'yesterday' }, /^from: must be an ISO 8601/],
    ] as const)
      expect(() => ids(query)).toThrow(message);
    expect(() => opened.saved.list(ACCOUNT, SAVED_KINDS, {}, { limit: 1, cursor: 'x' })).toThrow(/cursor/);
  });

  it('refuse an answer above the limit, and charge nothing', async () => {
    const pad = (length: number): Buffer => textOf(ADDRESS, `,"pad":"${'x'.repeat(length)}"`);
    await expect(save(WITHOUT_KEY, pad(SAVED_LIMITS.savedAnswerBytesMax))).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      field: 'save',
    });
    expect([ids(), await entries()]).toEqual([[], []]);
    // The largest one fits, in the link of a case too.
    const shortest = opened.saved.one(ACCOUNT, SAVED_KINDS, await savedId(WITHOUT_KEY, pad(0)));
    const room = SAVED_LIMITS.savedAnswerBytesMax - shortest.bytes;
    const id = await savedId(WITHOUT_KEY, pad(room));
    expect(opened.saved.one(ACCOUNT, SAVED_KINDS, id).bytes).toBe(SAVED_LIMITS.savedAnswerBytesMax);
    await expect(save(WITHOUT_KEY, pad(room + 1))).rejects.toMatchObject({ field: 'save' });
    expect(SAVED_LIMITS.savedAnswerBytesMax).toBeLessThanOrEqual(CASE_LIMITS.linkedAnswerBytesMax);
  });

  it('are compared with answers of the same kind, chain and addresses only', async () => {
    const [first, other] = [await savedId(), await savedId(WITHOUT_KEY, textOf(OTHER))];
    const onBsc = Buffer.from(textOf().toString().replace('"ETH"', '"BSC"'));
    for (const id of [
      other,
      await savedId(WITHOUT_KEY, onBsc),
      await savedId(WITHOUT_KEY, textOf(), { kind: 'KYT' }),
    ])
      expect(() => opened.saved.compare(ACCOUNT, SAVED_KINDS, first, id)).toThrow(
        `b: must be a SCREENING of ETH ${ADDRESS.toLowerCase()}, as \`a\` is.`,
      );
    opened.saved.compare(ACCOUNT, SAVED_KINDS, first, await savedId());
  });

  it('come back exactly if they are stored in several pieces', async () => {
    const noise = Array.from({ length: 6_000 }, (_, n) => createHash('sha256').update(`${n}`).digest('hex'));
    const data = textOf(ADDRESS, `,"pad":"${noise.join('')}"`);
    const id = await savedId(WITHOUT_KEY, data);
    await reopen();
    const screening = opened.saved.one(ACCOUNT, SAVED_KINDS, id);
    expect(screening.storedBytes).toBeGreaterThan(2 * SAVED_LIMITS.savedPieceBytes);
    const text = opened.saved.answer(screening);
    // Not as `toEqual` compares them: by each of 400,000 bytes, as properties.
    expect(Buffer.compare(text.subarray(0, data.length - 1), data.subarray(0, -1))).toBe(0);
    expect(createHash('sha256').update(text).digest('hex')).toBe(screening.sha256);
  });

  it('are refused if their stored bytes were altered', async () => {
    const id = await savedId();
    const screening = opened.saved.one(ACCOUNT, SAVED_KINDS, id);
    const content = opened.store.content(screening);
    for (const altered of [packed(textOf(OTHER)), content.subarray(0, -5), Buffer.from('no deflate')])
      expect(() => storedText({ content: () => altered }, screening)).toThrow(
        expect.objectContaining({ code: 'STORE_CORRUPT' }),
      );
    expect(storedText({ content: () => content }, screening)).toEqual(opened.saved.answer(screening));
  });

  describe('with an Idempotency-Key', () => {
    it('the ledger stores the response, and another body is refused while the first is not complete', async () => {
      const { body } = await save(WITH_KEY);
      const stored = await opened.ledger.storedAnswer(ACCOUNT, SLOT);
      expect(hex(stored?.body ?? Buffer.of())).toBe(hex(body));
      const row = await interrupt({ ...WITH_KEY, keep: { slot: 'ff', bodyHash: '01' } }, 'staged');
      await expect(save({ ...WITH_KEY, keep: { slot: 'ff', bodyHash: '02' } })).rejects.toMatchObject({
        field: 'Idempotency-Key',
      });
      expect(opened.store.staged.list(10)).toMatchObject([{ screening: { id: row.screening.id } }]);
    });

    it('a request that another node answered meanwhile gets that answer', async () => {
      const first = await save(WITH_KEY);
      // This node looked for a stored response before the first one was stored.
      const second = await save(WITH_KEY, textOf(ADDRESS, ',"newer":true'));
      expect([second.replayed, hex(second.body)]).toEqual([true, hex(first.body)]);
      expect([ids().length, await entries()]).toEqual([1, ['SCREENING -1']]);
      await expect(save({ ...WITH_KEY, keep: { slot: hex(SLOT), bodyHash: '00' } })).rejects.toMatchObject({
        field: 'Idempotency-Key',
      });
    });

    it('two equal requests at the same time save one answer', async () => {
      const [one, other] = await Promise.all([save(WITH_KEY), save(WITH_KEY)]);
      expect(read(other.body).data.screeningId).toBe(read(one.body).data.screeningId);
      expect([ids().length, await entries()]).toEqual([1, ['SCREENING -1']]);
    });
  });

  describe('requested with a key and with a session at the same time, under one Idempotency-Key', () => {
    const BY_SESSION: StagedCharge = { ...WITH_KEY, pool: 'dashboard' };
    const charged = async (): Promise<string[]> => {
      const pools = [ACCOUNT, balanceId(ACCOUNT, 'dashboard')];
      const usages = await Promise.all(pools.map((pool) => opened.ledger.usage(pool, { limit: 100 })));
      return usages.flatMap(({ history }, at) =>
        history.filter(({ type }) => type === 'SCREENING').map(({ amount }) => `${POOLS[at]} ${amount}`),
      );
    };

    it.each([
      ['a key', WITH_KEY, BY_SESSION, 'api -1'],
      ['a session', BY_SESSION, WITH_KEY, 'dashboard -1'],
    ] as const)('the balance of the first pays alone: %s', async (_, first, second, expected) => {
      await opened.ledger.book({
        ...{ accountId: balanceId(ACCOUNT, 'dashboard'), type: 'PURCHASE', amount: 10, reference: null },
      });
      const one = await save(first);
      await reopen();
      const other = await save(second, textOf(ADDRESS, ',"newer":true'));
      expect([other.replayed, hex(other.body)]).toEqual([true, hex(one.body)]);
      expect([ids().length, await charged()]).toEqual([1, [expected]]);
    });

    it.runIf(isRedis)('on two nodes, one balance pays', async () => {
      await opened.ledger.book({
        ...{ accountId: balanceId(ACCOUNT, 'dashboard'), type: 'PURCHASE', amount: 10, reference: null },
      });
      const node = await world.open({ clock, isShared: true });
      try {
        const body = {
          kind: 'SCREENING',
          request: { address: ADDRESS, chain: 'eth' },
          data: textOf(),
        } as const;
        const one = await save(WITH_KEY);
        // The other node looked for a stored response before the first one stored it.
        const other = await node.saved.save(WHO, body, BY_SESSION, present);
        expect(read(other.body).data.screeningId).toBe(read(one.body).data.screeningId);
        expect([ids().length, await charged()]).toEqual([1, ['api -1']]);
      } finally {
        await node.close();
      }
    });
  });

  /** Leaves a purchase as a process does that was killed. */
  async function interrupt(
    charge: StagedCharge,
    after: 'staged' | 'charged' | 'answered',
  ): Promise<StagedScreening> {
    const fault = new AssayError('NOT_READY', 'killed', { retryAfterSeconds: 1 });
    let staged: StagedScreening | null = null;
    await reopen({
      billing: {
        async charge(row) {
          staged = row;
          throw fault;
        },
        refund: () => Promise.reject(fault),
      },
    });
    // Refunding fails as well, so that the row stays as a killed process leaves it.
    await expect(save(charge)).rejects.toThrow();
    const row = staged as unknown as StagedScreening;
    await reopen();
    if (after === 'charged') await opened.billing.charge({ ...row, charge: { ...charge, keep: null } });
    if (after === 'answered') await opened.billing.charge(row);
    return row;
  }

  it.each(['staged', 'charged', 'answered'] as const)(
    'interrupted when %s: the next start completes the purchase',
    async (after) => {
      const { screening } = await interrupt(WITH_KEY, after);
      expect([ids(), opened.store.get(ACCOUNT, screening.id)]).toEqual([[], null]);
      await finishUntil(() => opened.store.staged.list(10).length === 0);
      expect(ids()).toEqual([screening.id]);
      expect(await entries()).toEqual(['SCREENING -1']);
      const stored = await opened.ledger.storedAnswer(ACCOUNT, SLOT);
      expect(read(stored?.body ?? Buffer.of()).data.screeningId).toBe(screening.id);
    },
  );

  it.each(['staged', 'charged', 'answered'] as const)(
    'interrupted when %s: the repeated request gets the answer of the first one',
    async (after) => {
      const { screening } = await interrupt(WITH_KEY, after);
      // The repeated request was answered from newer data.
      const { body, replayed } = await save(WITH_KEY, textOf(ADDRESS, ',"newer":true'));
      expect(read(body).data).toMatchObject({ screeningId: screening.id });
      expect(read(body).data.newer).toBeUndefined();
      expect(replayed).toBe(after === 'answered');
      expect([ids(), await entries()]).toEqual([[screening.id], ['SCREENING -1']]);
    },
  );

  it('an interrupted purchase without the credits for it is undone', async () => {
    await interrupt(WITH_KEY, 'staged');
    await opened.ledger.book({ accountId: ACCOUNT, type: 'ADJUSTMENT', amount: -10, reference: null });
    await finishUntil(() => opened.store.staged.list(10).length === 0);
    expect([ids(), await entries()]).toEqual([[], ['ADJUSTMENT -10']]);
  });

  it('an abandoned purchase is refunded, and never read', async () => {
    const row = await interrupt(WITHOUT_KEY, 'charged');
    await opened.store.staged.abandon(row);
    expect(await opened.store.staged.activate(row)).toBe(false);
    await finishUntil(() => opened.store.staged.list(10).length === 0);
    expect([ids(), opened.store.content(row.screening).length]).toEqual([[], 0]);
    expect((await opened.ledger.balance(ACCOUNT)).balance).toBe(10);
  });

  it('a client that is gone before the charge leaves nothing', async () => {
    const gone = new AssayError('INTERNAL', 'The client disconnected.');
    await expect(
      opened.saved.save(WHO, { kind: 'SCREENING', request: {}, data: textOf() }, WITHOUT_KEY, () => {
        throw gone;
      }),
    ).rejects.toBe(gone);
    expect([ids(), opened.store.staged.list(10), await entries()]).toEqual([[], [], []]);
  });

  it('a charge that is refused leaves nothing, and frees the room of the answer', async () => {
    await opened.ledger.book({ accountId: ACCOUNT, type: 'ADJUSTMENT', amount: -10, reference: null });
    await expect(save()).rejects.toMatchObject({ code: 'CREDITS_EXHAUSTED' });
    expect([ids(), opened.store.staged.list(10)]).toEqual([[], []]);
  });

  it('are deleted when their retention has ended, and not before', async () => {
    const old = await savedId();
    nowMs += 3_600_000;
    const young = await savedId();
    const deleted: string[] = [];
    const retention = startRetention(
      { days: 30, what: 'saved screenings', atOnce: 1 },
      {
        deleteBefore: (beforeMs, limit) => opened.store.deleteSavedBefore(beforeMs, limit),
        ...{ clock, log: silentLogger },
        onDeleted: async ({ id }) => void deleted.push(id),
      },
    );
    const record = opened.saved.one(ACCOUNT, SAVED_KINDS, old);
    nowMs += 30 * 86_400_000 - 3_600_000;
    expect(await retention.look()).toBe(0);
    nowMs += 1;
    expect(await retention.look()).toBe(1);
    await retention.stop();
    expect([deleted, ids(), ids({ riskLevel: 'HIGH' })]).toEqual([[old], [young], [young]]);
    expect(opened.store.content(record)).toHaveLength(0);
  });

  it.skipIf(isRedis)('leave nothing in the file when they are deleted, except counts', async () => {
    const roots: LiveRoot[] = [];
    await reopen({
      openStore(...store) {
        const live = openLiveStore(...store);
        roots.push(live.root);
        return live;
      },
    });
    await save();
    const tables = ['screenings', 'numbers', 'pieces', 'staged', 'terms', 'times'];
    const filled = (): string[] =>
      tables.filter((name) =>
        roots.some((root) => root.openDB({ name, encoding: 'binary' }).getKeysCount({}) > 0),
      );
    expect(filled()).toEqual(tables.filter((name) => name !== 'staged'));
    expect(await opened.store.deleteSavedBefore(nowMs + 1, 1)).toHaveLength(1);
    expect(filled()).toEqual([]);
  });
});

describe('room of an account', () => {
  it('is bounded by the number of screenings and by their compressed bytes', async () => {
    const folder = memoryFolder();
    const limits = SAVED_LIMITS as { savedScreeningsMax: number; savedAccountBytesMax: number };
    const { savedScreeningsMax, savedAccountBytesMax } = limits;
    const free = {
      charge: async () => ({ body: Buffer.of(), replayed: false }),
      refund: async () => {},
    };
    const opened = openedSaved(folder.path, () => undefined as never, { billing: free });
    const save = () =>
      opened.saved.save(WHO, { kind: 'SCREENING', request: {}, data: textOf() }, WITHOUT_KEY, present);
    try {
      limits.savedScreeningsMax = 2;
      await save();
      await save();
      await expect(save()).rejects.toThrow(/^save: the account has 2 saved screenings/);
      limits.savedScreeningsMax = 10;
      const used = opened.saved
        .list(ACCOUNT, SAVED_KINDS, {}, { limit: 10 })
        .screenings.reduce((sum, { storedBytes }) => sum + storedBytes, 0);
      limits.savedAccountBytesMax = used + 10;
      await expect(save()).rejects.toThrow(/compressed bytes; the maximum is/);
      // What is deleted makes room.
      expect(await opened.store.deleteSavedBefore(Date.now() + 1_000, 1)).toHaveLength(1);
      await save();
      expect(opened.saved.list(ACCOUNT, SAVED_KINDS, {}, { limit: 10 }).screenings).toHaveLength(2);
    } finally {
      Object.assign(limits, { savedScreeningsMax, savedAccountBytesMax });
      await opened.store.close();
      folder.remove();
    }
  });
});

describe('guards of the store', () => {
  const limits = SAVED_LIMITS as { -readonly [Name in keyof typeof SAVED_LIMITS]: number };
  const usual = { ...SAVED_LIMITS };
  let nowMs = 0;
  let folder: ReturnType<typeof memoryFolder>;
  let opened: OpenedSaved;
  /** Reasons for which charges fail. */
  let refusal: Error | null = null;
  const charged: string[] = [];
  const open = (isShared = false): OpenedSaved =>
    openedSaved(folder.path, () => undefined as never, {
      isShared,
      clock: { now: () => nowMs, monotonic: () => performance.now() },
      billing: {
        async charge({ screening }) {
          if (refusal !== null) throw refusal;
          charged.push(screening.id);
          return { body: Buffer.from(screening.id), replayed: false };
        },
        refund: async () => {},
      },
    });

  beforeEach(() => {
    nowMs = Date.parse('2026-11-23T10:00:00Z');
    refusal = null;
    charged.length = 0;
    folder = memoryFolder();
    opened = open();
  });
  afterEach(async () => {
    Object.assign(limits, usual);
    await opened.store.close();
    folder.remove();
  });

  const save = (charge: StagedCharge = WITHOUT_KEY, data = textOf()) =>
    opened.saved.save(WHO, { kind: 'SCREENING', request: {}, data }, charge, present);
  const savedId = async (...parameters: Parameters<typeof save>): Promise<string> =>
    Buffer.from((await save(...parameters)).body).toString();
  const list = (query: SavedQuery = {}, limit = 100, cursor?: string) => {
    const page = opened.saved.list(
      ACCOUNT,
      SAVED_KINDS,
      query,
      cursor === undefined ? { limit } : { limit, cursor },
    );
    return { ids: page.screenings.map(({ id }) => id), nextCursor: page.nextCursor };
  };
  const withBody = (bodyHash: string): StagedCharge => ({ ...WITH_KEY, keep: { slot: 'ab', bodyHash } });

  it('an Idempotency-Key refuses another body for 24 hours, and no longer', async () => {
    const first = await savedId(withBody('01'));
    nowMs += 24 * 3_600_000 - 1;
    await expect(save(withBody('02'))).rejects.toMatchObject({ field: 'Idempotency-Key' });
    expect(await savedId(withBody('01'))).toBe(first);
    nowMs += 1;
    const second = await savedId(withBody('02'));
    expect(second).not.toBe(first);
    await expect(save(withBody('01'))).rejects.toMatchObject({ field: 'Idempotency-Key' });
    expect(list().ids).toEqual([second, first]);
  });

  it('an abandoned purchase does not hold its Idempotency-Key, and takes it from no later request', async () => {
    const row = (id: string, bodyHash: string): StagedScreening => ({
      screening: { ...opened.saved.one(ACCOUNT, SAVED_KINDS, model), id },
      charge: withBody(bodyHash),
      isAbandoned: false,
    });
    const model = await savedId();
    const { staged } = opened.store;
    const first = row('00000000-0000-4000-8000-000000000001', '01');
    expect(await staged.stage(first, Buffer.from('x'))).toEqual(first);
    // It is not removed before it is abandoned.
    await staged.remove(first);
    expect(staged.list(10)).toHaveLength(1);
    expect(await staged.abandon(first)).toBe(true);
    const second = row('00000000-0000-4000-8000-000000000002', '02');
    expect(await staged.stage(second, Buffer.from('y'))).toEqual(second);
    await staged.remove(first);
    expect(await staged.abandon(first)).toBe(false);
    await expect(
      staged.stage(row('00000000-0000-4000-8000-000000000003', '03'), Buffer.from('z')),
    ).rejects.toMatchObject({ field: 'Idempotency-Key' });
    // A repeated request gets the row of the second one.
    expect(
      (await staged.stage(row('00000000-0000-4000-8000-000000000004', '02'), Buffer.from('y'))).screening.id,
    ).toBe(second.screening.id);
    // Once the second one is removed, the key is free.
    await staged.abandon(second);
    await staged.remove(second);
    const third = row('00000000-0000-4000-8000-000000000005', '03');
    expect(await staged.stage(third, Buffer.from('z'))).toEqual(third);
  });

  it('a charge that is refused frees the room of its answer', async () => {
    await save();
    const [{ storedBytes } = { storedBytes: 0 }] = opened.saved.list(
      ACCOUNT,
      SAVED_KINDS,
      {},
      { limit: 1 },
    ).screenings;
    limits.savedScreeningsMax = 2;
    limits.savedAccountBytesMax = 2 * storedBytes + 40;
    refusal = new AssayError('CREDITS_EXHAUSTED', 'No credits.');
    for (let attempt = 0; attempt < 3; attempt++)
      await expect(save()).rejects.toMatchObject({ code: 'CREDITS_EXHAUSTED' });
    refusal = null;
    await save();
    await expect(save()).rejects.toThrow(/has 2 saved screenings/);
  });

  it('an account is filled up to exactly its maximum of bytes', async () => {
    const first = await savedId();
    const { storedBytes } = opened.saved.one(ACCOUNT, SAVED_KINDS, first);
    const second = await savedId(WITHOUT_KEY, textOf(OTHER));
    const next = opened.saved.one(ACCOUNT, SAVED_KINDS, second).storedBytes;
    expect(await opened.store.deleteSavedBefore(nowMs + 1, 1)).toMatchObject([{ id: first }]);
    const row = {
      screening: {
        ...opened.saved.one(ACCOUNT, SAVED_KINDS, second),
        id: '00000000-0000-4000-8000-000000000001',
        storedBytes,
      },
      ...{ charge: WITHOUT_KEY, isAbandoned: false },
    };
    limits.savedAccountBytesMax = next + storedBytes - 1;
    await expect(opened.store.staged.stage(row, Buffer.from('x'))).rejects.toThrow(/compressed bytes/);
    limits.savedAccountBytesMax = next + storedBytes;
    expect(await opened.store.staged.stage(row, Buffer.from('x'))).toEqual(row);
  });

  it('a list reads a bounded number of records for a page, and its cursor continues', async () => {
    const low = textOf().toString().replace('"HIGH"', '"LOW"');
    const kyt = await savedId(WITHOUT_KEY, Buffer.from(low));
    for (let at = 0; at < 4; at++) await save();
    limits.savedRecordsReadMax = 2;
    const from = { from: '2026-11-23T09:00:00Z', to: '2026-11-23T10:00:00Z' };
    const first = list(from);
    expect(first.ids).toEqual([]);
    const second = list(from, 100, first.nextCursor ?? '');
    const third = list(from, 100, second.nextCursor ?? '');
    expect([second.nextCursor === null, third]).toEqual([false, { ids: [], nextCursor: null }]);
    const read: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = list({}, 100, cursor);
      read.push(...page.ids);
      cursor = page.nextCursor ?? undefined;
      pages++;
    } while (cursor !== undefined);
    expect([pages, read.length, new Set(read).size, read.at(-1)]).toEqual([3, 5, 5, kyt]);
    // A page that ends with the last screening has no cursor.
    expect(list({}, 2, list({}, 2, list({}, 1).nextCursor ?? '').nextCursor ?? '').nextCursor).toBeNull();
  });

  it('a level and a chain are required together, and a chain excludes others', async () => {
    const onBsc = await savedId(WITHOUT_KEY, Buffer.from(textOf().toString().replace('"ETH"', '"BSC"')));
    const onEth = await savedId();
    expect(list({ riskLevel: 'HIGH', chain: 'BSC' }).ids).toEqual([onBsc]);
    expect(list({ riskLevel: 'HIGH', chain: 'ETH' }).ids).toEqual([onEth]);
    expect(list({ riskLevel: 'LOW', chain: 'ETH', address: ADDRESS }).ids).toEqual([]);
    expect(list({ chain: 'BSC' }).ids).toEqual([onBsc]);
    expect(list({ from: '2026-11-23T10:00:00Z' }).ids).toEqual([onEth, onBsc]);
    expect(list({ to: '2026-11-23T10:00:00Z' }).ids).toEqual([]);
  });

  it('an answer that is no object is a fault of the program, and nothing is staged', async () => {
    await expect(save(WITHOUT_KEY, Buffer.from('["x"]'))).rejects.toMatchObject({ code: 'INTERNAL' });
    expect([opened.store.staged.list(1), charged]).toEqual([[], []]);
  });

  it('an answer without a score, a decision and versions is saved without them', async () => {
    const id = await savedId(
      WITHOUT_KEY,
      Buffer.from(`{"from":null,"to":"${OTHER}","chain":"ETH","riskLevel":"LOW"}`),
    );
    expect(opened.saved.one(ACCOUNT, SAVED_KINDS, id)).toMatchObject({
      ...{ addresses: [OTHER], riskScore: 0, decision: null, dataVersion: '', policyVersion: '' },
    });
  });

  it('the field of a comparison says which of the two is unknown', async () => {
    const id = await savedId();
    const other = '00000000-0000-4000-8000-000000000009';
    expect(() => opened.saved.compare(ACCOUNT, SAVED_KINDS, other, id)).toThrow(/^a: there is no/);
    expect(() => opened.saved.compare(ACCOUNT, SAVED_KINDS, id, other)).toThrow(/^b: there is no/);
    expect(opened.saved.find(ACCOUNT, ['KYT'], id)).toBeNull();
    expect(opened.saved.find(ACCOUNT, SAVED_KINDS, id)?.id).toBe(id);
  });

  it('one of several nodes completes the purchase of another one after half a minute, not before', async () => {
    const id = await savedId();
    const row = {
      screening: {
        ...opened.saved.one(ACCOUNT, SAVED_KINDS, id),
        id: '00000000-0000-4000-8000-000000000001',
      },
      ...{ charge: WITHOUT_KEY, isAbandoned: false },
    };
    await opened.store.close();
    opened = open(true);
    await opened.store.staged.stage(row, Buffer.from('x'));
    const look = async (isDone: () => boolean): Promise<boolean> => {
      const stopped = new AbortController();
      const finishing = opened.saved.finish(stopped.signal);
      for (let waits = 0; waits < 20 && !isDone(); waits++) await new Promise((done) => setTimeout(done, 10));
      stopped.abort();
      await finishing;
      return isDone();
    };
    const isDone = (): boolean => opened.store.staged.list(1).length === 0;
    nowMs += 29_999;
    expect(await look(isDone)).toBe(false);
    nowMs += 1;
    expect(await look(isDone)).toBe(true);
  });
});

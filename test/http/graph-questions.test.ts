/** POST /screening, /kyt and /trace over HTTP with the real use cases: every option, every error, and every charge. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LOCAL_ACCOUNT } from '../../src/accounts/keys.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { UseCases } from '../../src/http/ports.ts';
import { createTaskTable } from '../../src/pool/task.ts';
import { TASKS } from '../../src/pool/tasks/index.ts';
import { createTaskServices } from '../../src/pool/worker-services.ts';
import { type BalanceSource, balanceFacts } from '../../src/screening/balances.ts';
import { type NameResolver, resolveNames } from '../../src/screening/ens-names.ts';
import { createTransactionSearch } from '../../src/screening/transaction-search.ts';
import { createWorld, type World as Graph, WALLETS } from '../screening/world.ts';
import { openWorld, type World } from './world.ts';

const NAME = 'payer.eth';

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly success: boolean;
    readonly data: Record<string, unknown>;
    readonly credits: { readonly remaining: number };
    readonly ignored: readonly string[];
    readonly error: string;
  };
}

const names: NameResolver = {
  async resolve(name) {
    return name === NAME ? WALLETS.payer : null;
  },
};

const balances: BalanceSource = {
  async balancesOf(chain) {
    if (chain === 'BTC') throw new Error('nobody answered');
    return {
      status: 'PARTIAL',
      asOf: '2026-11-21T11:00:00.000Z',
      chains: [
        { chain, balance: 1.5, balanceUsd: 3_000 },
        { chain: 'BASE', balance: 2, balanceUsd: null },
      ],
    };
  },
};

let graph: Graph;
let world: World;
let key: string;

/** Wires the use cases as the program does, but without its threads. */
function useCases(resolver: NameResolver | null): Partial<UseCases> {
  const tasks = createTaskTable(
    TASKS,
    createTaskServices(graph.deps, () => {
      throw new Error('this test does not screen names');
    }),
  );
  return {
    screening: async (request) =>
      tasks.screening({ request, facts: await balanceFacts(request, balances, silentLogger) }),
    async kyt(asked) {
      const { request, resolved } = await resolveNames(asked, resolver);
      return tasks.kyt({ request, facts: { resolved } });
    },
    trace: async (request) => tasks.trace(request),
    transaction: createTransactionSearch({
      clock: systemClock,
      search: async (asked) => tasks.chainTransaction(asked),
    }),
  };
}

async function ask(path: string, body: unknown, asker = key, on = world): Promise<Reply> {
  const response = await fetch(`${on.url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${asker}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Reply['body'],
  };
}

const remaining = async (): Promise<number> => {
  const response = await fetch(`${world.url}/api/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
  return ((await response.json()) as { data: { balance: number } }).data.balance;
};

/** Sends a request and returns its reply with the credits that it cost. */
async function charged(request: () => Promise<Reply>): Promise<{ reply: Reply; credits: number }> {
  const before = await remaining();
  const reply = await request();
  return { reply, credits: before - (await remaining()) };
}

const grant = (on: World): Promise<unknown> =>
  on.access.ledger().book({ accountId: LOCAL_ACCOUNT, type: 'GRANT', amount: 10_000, reference: null });

beforeAll(async () => {
  graph = await createWorld();
  world = await openWorld({ backend: 'uws', useCases: useCases(names) });
  key = await world.key({ rateLimits: { screening: 10_000, kyt: 10_000, trace: 10_000 } });
  await grant(world);
});
afterAll(async () => {
  await world.close();
  await graph.close();
});

describe('POST /screening', () => {
  const screening = (body: object) => ask('/screening', { chain: 'ETH', ...body });

  it('returns only the named sections, with the score of the whole answer', async () => {
    const whole = await screening({ address: WALLETS.payer });
    const part = await screening({ address: WALLETS.payer, sections: ['exposures'], limit: 1 });
    const { data } = part.body as { data: Record<string, unknown> };
    expect([part.status, data.riskScore, data.coverage]).toEqual([
      200,
      whole.body.data.riskScore,
      whole.body.data.coverage,
    ]);
    const exposures = whole.body.data.exposures as object[];
    expect(exposures.length).toBeGreaterThan(1);
    expect(data.exposures).toEqual(exposures.slice(0, 1));
    expect([data.entityLabels, data.taint, data.transactionFlow]).toEqual([undefined, undefined, undefined]);
  });

  it('fills its sections from labels, transfers and balances, for 1 credit', async () => {
    const { reply, credits } = await charged(() => screening({ address: WALLETS.payer, jurisdiction: 'de' }));
    expect(reply.status).toBe(200);
    expect(credits).toBe(1);
    expect(reply.body).toMatchObject({
      success: true,
      ignored: [],
      credits: { remaining: expect.any(Number) },
    });
    expect(reply.body.data).toMatchObject({
      exposureReceiving: { MIXER: 100 },
      exposureSending: { EXCHANGE: 25, UNKNOWN: 75 },
      balance: 1.5,
      balanceUsd: 3_000,
      crossChainBalances: {
        ETH: { balance: 1.5, balanceUsd: 3_000 },
        BASE: { balance: 2, balanceUsd: null },
      },
      coverage: {
        graph: { status: 'PARTIAL' },
        balances: { status: 'PARTIAL', asOf: '2026-11-21T11:00:00.000Z' },
      },
      legalInterpretation: { jurisdiction: 'DE' },
      stoppedAt: [],
    });
  });

  it('accepts maxHops and asOf', async () => {
    const near = await screening({ address: WALLETS.unknown, maxHops: 1 });
    expect(near.body.data).toMatchObject({ exposureReceiving: { UNKNOWN: 100 } });
    const far = await screening({ address: WALLETS.unknown, maxHops: 5 });
    expect(far.body.data).toMatchObject({ exposureReceiving: { MIXER: 100 } });
    const then = await screening({ address: WALLETS.delisted, asOf: '2024-01-01' });
    expect(then.body.data).toMatchObject({ sanctioned: true, riskScore: 100 });
  });

  it('responds without balances if their source fails', async () => {
    const { status, body } = await ask('/screening', {
      chain: 'BTC',
      address: '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2',
    });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({
      balance: null,
      crossChainBalances: {},
      coverage: { balances: { status: 'NONE', asOf: null } },
    });
  });

  it('lists unknown fields', async () => {
    expect((await screening({ address: WALLETS.payer, maxHop: 2 })).body.ignored).toEqual(['maxHop']);
  });
});

describe('POST /kyt', () => {
  it('checks a pair for 1 credit', async () => {
    const { reply, credits } = await charged(() =>
      ask('/kyt', { chain: 'eth', from: WALLETS.payer, to: WALLETS.sanctioned }),
    );
    expect(reply.body.data).toMatchObject({
      chain: 'ETH',
      riskScore: 100,
      decision: 'BLOCK',
      from: { address: WALLETS.payer, entity: null, sanctioned: false },
      to: { entity: { name: 'LAZARUS GROUP' }, sanctioned: true },
      flags: expect.arrayContaining([expect.objectContaining({ code: 'SANCTIONED', party: 'to' })]),
    });
    expect(credits).toBe(1);
  });

  it('lists the allowed values if direction is not one of them', async () => {
    const { body } = await ask('/kyt', { chain: 'ETH', address: WALLETS.payer, direction: 'sideways' });
    expect(body).toEqual({ error: 'direction: must be one of in, out, both.' });
  });

  it('checks one address in a direction', async () => {
    const { body } = await ask('/kyt', { chain: 'ETH', address: WALLETS.payer, direction: 'out' });
    expect(body.data).toMatchObject({ direction: 'out', decision: 'ALLOW', flags: [], resolved: {} });
    expect(body.data.from).toBeUndefined();
  });

  it('resolves names and returns the resolved addresses', async () => {
    const { body } = await ask('/kyt', { chain: 'ETH', from: NAME, to: WALLETS.exchange });
    expect(body.data).toMatchObject({
      from: { address: WALLETS.payer },
      resolved: { [NAME]: WALLETS.payer },
    });
  });

  it('rejects a name that cannot be resolved, and charges nothing', async () => {
    const { reply, credits } = await charged(() => ask('/kyt', { chain: 'ETH', address: 'nobody.eth' }));
    expect([reply.status, credits]).toEqual([400, 0]);
    expect(reply.body.error).toMatch(/^address: 'nobody.eth'/);
    const alone = await openWorld({ backend: 'node', useCases: useCases(null) });
    try {
      const asked = await ask(
        '/kyt',
        { chain: 'ETH', to: NAME, from: WALLETS.payer },
        await alone.key(),
        alone,
      );
      expect(asked.status).toBe(400);
      expect(asked.body.error).toMatch(/^to: .*no Ethereum node/);
    } finally {
      await alone.close();
    }
  });

  it('accepts a key with kyt or screening, and no other', async () => {
    const body = { chain: 'ETH', address: WALLETS.exchange };
    for (const permission of ['kyt', 'screening'] as const)
      expect((await ask('/kyt', body, await world.key({ permissions: [permission] }))).status).toBe(200);
    const refused = await ask('/kyt', body, await world.key({ permissions: ['entity', 'intel'] }));
    expect(refused.status).toBe(403);
    expect(refused.body.error).toContain("'kyt' or 'screening'");
  });
});

describe('POST /trace', () => {
  it('costs 5 credits, and 10 with a target', async () => {
    const graphMode = await charged(() => ask('/trace', { chain: 'ETH', address: WALLETS.payer }));
    expect(graphMode.credits).toBe(5);
    expect(graphMode.reply.body.data).toMatchObject({
      stats: { totalNodes: 4, totalEdges: 3, maxDepthReached: 1 },
      stoppedAt: expect.arrayContaining([{ address: WALLETS.exchange, reason: 'SERVICE' }]),
    });
    expect(graphMode.reply.body.data.paths).toBeUndefined();
    const pathMode = await charged(() =>
      ask('/trace', {
        chain: 'ETH',
        address: WALLETS.mixer,
        targetAddress: WALLETS.unknown,
        direction: 'out',
        maxDepth: 7,
        hops: 3,
        crossChain: true,
        timeRespecting: true,
      }),
    );
    expect(pathMode.credits).toBe(10);
    expect(pathMode.reply.body.data).toMatchObject({
      target: WALLETS.unknown,
      truncated: false,
      crossChain: [],
    });
  });

  it('finds a path', async () => {
    const { body } = await ask('/trace', {
      chain: 'ETH',
      address: WALLETS.mixer,
      targetAddress: WALLETS.unknown,
      direction: 'out',
    });
    expect(body.data).toMatchObject({
      found: true,
      paths: [{ addresses: [WALLETS.mixer, WALLETS.payer, WALLETS.unknown], hops: 2, bottleneckUsd: 6_000 }],
    });
  });

  it('costs nothing if no transfer of the address is known', async () => {
    for (const targetAddress of [undefined, WALLETS.payer]) {
      const { reply, credits } = await charged(() =>
        ask('/trace', { chain: 'ETH', address: WALLETS.seeded, targetAddress }),
      );
      expect([reply.status, credits]).toEqual([200, 0]);
      expect(reply.body.data).toMatchObject({ nodes: [], edges: [] });
    }
  });

  it('requires the permission screening', async () => {
    const asker = await world.key({ permissions: ['kyt'] });
    expect((await ask('/trace', { chain: 'ETH', address: WALLETS.payer }, asker)).status).toBe(403);
  });

  it('is limited to five requests a minute', async () => {
    const asker = await world.key();
    const statuses: number[] = [];
    for (let at = 0; at < 6; at++)
      statuses.push((await ask('/trace', { chain: 'ETH', address: WALLETS.payer }, asker)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  });
});

describe('rejected requests name the field and are not charged', () => {
  it.each<[string, string, object]>([
    ['/screening', 'maxHops', { maxHops: 6 }],
    ['/screening', 'maxHops', { maxHops: 0 }],
    ['/screening', 'maxHops', { maxHops: '3' }],
    ['/screening', 'jurisdiction', { jurisdiction: 'XX' }],
    ['/screening', 'asOf', { asOf: '2026-02-30' }],
    ['/screening', 'chain', { chain: 'NOPE' }],
    ['/screening', 'address', { address: 'junk' }],
    ['/kyt', 'direction', { direction: 'sideways' }],
    ['/kyt', 'address', { address: undefined }],
    ['/kyt', 'to', { address: undefined, from: WALLETS.payer }],
    ['/kyt', 'from', { address: undefined, to: WALLETS.payer }],
    ['/kyt', 'address', { to: WALLETS.payer }],
    ['/kyt', 'chain', { chain: undefined }],
    ['/trace', 'hops', { hops: 0 }],
    ['/trace', 'hops', { hops: 4 }],
    ['/trace', 'maxDepth', { targetAddress: WALLETS.exchange, maxDepth: 8 }],
    ['/trace', 'targetAddress', { targetAddress: 'junk' }],
    ['/trace', 'targetAddress', { targetAddress: WALLETS.payer }],
    ['/trace', 'crossChain', { crossChain: 'yes' }],
    ['/trace', 'direction', { direction: 'up' }],
  ])('%s: %s %j', async (path, field, change) => {
    const { reply, credits } = await charged(() =>
      ask(path, { chain: 'ETH', address: WALLETS.payer, ...change }),
    );
    expect(reply.status).toBe(400);
    expect(reply.body.error).toContain(field);
    expect(credits).toBe(0);
  });

  it.each(['/screening', '/kyt', '/trace'])(
    '%s: rejects a missing key and a malformed body',
    async (path) => {
      expect((await ask(path, {}, 'assay_live_nobody')).status).toBe(401);
      expect((await ask(path, '{"chain":')).status).toBe(400);
    },
  );

  it('rejects an account without credits', async () => {
    const poor = await openWorld({ backend: 'uws', useCases: useCases(names) });
    try {
      const asker = await poor.key({ rateLimits: { trace: 100 } });
      const trace = () => ask('/trace', { chain: 'ETH', address: WALLETS.payer }, asker, poor);
      const statuses = [await trace(), await trace(), await trace()].map(({ status }) => status);
      expect(statuses).toEqual([200, 200, 402]);
    } finally {
      await poor.close();
    }
  });
});

describe.each(['uws', 'node'] as const)('GET /transactions/{hash} on %s', (backend) => {
  let on: World;
  beforeAll(async () => {
    on = await openWorld({ backend, useCases: useCases(null) });
  });
  afterAll(() => on.close());
  const get = async (hash: string, query = '', asker?: string): Promise<Reply> => {
    const authorization = `Bearer ${asker ?? (await on.key())}`;
    const url = `${on.url}/api/v1/transactions/${encodeURIComponent(hash)}${query}`;
    const response = await fetch(url, { headers: { authorization } });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Reply['body'],
    };
  };
  const HASH = `0x${'3'.padStart(64, '0')}`;

  it('lists the transfers with both sides, for nothing', async () => {
    const { status, body } = await get(HASH, '?chain=eth');
    expect(status).toBe(200);
    expect(body.data).toMatchObject({
      hash: HASH,
      searched: ['ETH'],
      transactions: [
        {
          chain: 'ETH',
          transfers: [{ from: WALLETS.mixer, to: WALLETS.payer, valueUsd: 10_000 }],
          parties: [
            { address: WALLETS.mixer, category: 'MIXER' },
            { address: WALLETS.payer, label: null },
          ],
        },
      ],
    });
    expect(body.credits).toBeUndefined();
  });

  it('answers with what was searched if nothing is stored', async () => {
    const { status, body } = await get('ef'.repeat(32));
    expect([status, body.data.transactions, body.data.searched]).toEqual([200, [], ['ETH']]);
    expect(body.data.notSearched).toContainEqual({ chain: 'BTC', reason: 'NO_TRANSFERS' });
  });

  it.each([
    ['<img src=x onerror=alert(1)>', 400],
    ['x'.repeat(129), 400],
    [`${HASH}0`, 400],
  ])('rejects %j', async (hash, status) => {
    expect((await get(hash)).status).toBe(status);
  });

  it('rejects an unknown chain, and a key without the permission', async () => {
    expect((await get(HASH, '?chain=NONE')).status).toBe(400);
    expect((await get(HASH, '', await on.key({ permissions: ['entity'] }))).status).toBe(403);
  });
});

/**
 * Charges over two nodes while Redis fails. Every acknowledged charge is in the ledger once. Every other charge took nothing, or is found
 * again under its Idempotency-Key. When the fault ends, its errors end too.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { answerSlot, hashBody } from '../../../src/accounts/idempotency.ts';
import type { LedgerEntry } from '../../../src/accounts/ledger.ts';
import { AssayError, messageOf } from '../../../src/base/errors.ts';
import {
  hasRedis,
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../../setup/redis.ts';
import { sleep, until } from '../../support/wait.ts';
import { accountsAt } from './world.ts';

const GRANT = 100_000;

type Node = ReturnType<ReturnType<typeof accountsAt>['node']>;

/** One charge, and the outcome that its client got. */
interface Sent {
  readonly name: string;
  readonly keyed: boolean;
  readonly node: Node;
  outcome: 'acknowledged' | 'failed';
  readonly begunMs: number;
  endedMs: number;
}

/** Runs gate, work and commit as the pipeline does, and throws their errors. */
async function charge({ name, keyed, node }: Pick<Sent, 'name' | 'keyed' | 'node'>): Promise<void> {
  const bodyHash = hashBody(Buffer.from(name));
  const slot = keyed ? answerSlot('a', 'POST', '/screening', name) : null;
  const admission = await node.gate.admit(
    { rate: null, accountId: 'a', slot, quota: null, credits: 1 },
    performance.now(),
  );
  if (admission.refused !== null) throw admission.refused;
  if (admission.storedAnswer !== null) {
    expect(Buffer.from(admission.storedAnswer.body).toString()).toMatch(new RegExp(`^${name} \\d+$`));
    return;
  }
  if (admission.reservation === null) throw new Error('Let in without a reservation.');
  await sleep(Math.random() * 5);
  await node.ledger.commit(admission.reservation, {
    type: 'SCREENING',
    amount: 1,
    reference: name,
    answer: (remaining) => Buffer.from(`${name} ${remaining}`),
    ...(slot === null ? {} : { keep: { slot, bodyHash } }),
  });
}

async function entriesOf(node: Node): Promise<LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await node.ledger.usage('a', { limit: 100, ...(cursor === undefined ? {} : { cursor }) });
    entries.push(...page.history);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return entries;
}

/** Enough charges that every sender is in the middle of its load, however slow the machine. */
const SENT_BEFORE = 100;

/** Sends charges over the nodes until `during` has ended and each sender has had one more charge acknowledged. */
async function underLoad(nodes: readonly Node[], during: () => Promise<void>): Promise<Sent[]> {
  const sent: Sent[] = [];
  let over = false;
  const senders = Array.from({ length: 16 }, async (_, sender) => {
    const node = nodes[sender % nodes.length] as Node;
    for (let number = 0; ; number++) {
      const keyed = number % 2 === 0;
      const begunMs = performance.now();
      const one: Sent = { name: `s${sender}n${number}`, keyed, node, outcome: 'failed', begunMs, endedMs: 0 };
      const wasOver = over;
      sent.push(one);
      try {
        await charge(one);
        one.outcome = 'acknowledged';
        if (wasOver) return;
      } catch (error) {
        if (!isNotReady(error)) throw error;
        await sleep(20);
      } finally {
        one.endedMs = performance.now();
      }
    }
  });
  await Promise.race([
    Promise.all(senders),
    until(() => sent.filter(({ outcome }) => outcome === 'acknowledged').length >= SENT_BEFORE),
  ]);
  await during();
  over = true;
  await Promise.all(senders);
  return sent;
}

/** Outcomes of charges that ended between two times, without acknowledged charges that began before `fromMs`. */
const outcomes = (sent: readonly Sent[], fromMs: number, toMs: number): Set<string> =>
  new Set(
    sent
      .filter(({ endedMs }) => endedMs > fromMs && endedMs < toMs)
      .filter(({ outcome, begunMs }) => outcome === 'failed' || begunMs > fromMs)
      .map(({ outcome }) => outcome),
  );

const isNotReady = (error: unknown): boolean => error instanceof AssayError && error.code === 'NOT_READY';

/** Retries `work` while it fails with NOT_READY. */
async function patiently(work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isNotReady(error)) throw error;
      await sleep(20);
    }
  }
}

/** Repeats failed charges under their keys, waits until the others are reverted, and compares all with the ledger. */
async function checkAll(nodes: readonly Node[], sent: readonly Sent[]): Promise<void> {
  const [node] = nodes as [Node, ...Node[]];
  const failed = sent.filter(({ outcome }) => outcome === 'failed');
  for (const one of failed) if (one.keyed) await patiently(() => charge(one));
  const count = async (): Promise<Map<string, { charged: number; refunded: number }>> => {
    const counts = new Map(sent.map(({ name }) => [name, { charged: 0, refunded: 0 }]));
    for (const { type, reference } of await entriesOf(node)) {
      const own = counts.get(reference ?? '');
      if (own === undefined) continue;
      if (type === 'SCREENING') own.charged++;
      else if (type === 'REFUND') own.refunded++;
    }
    return counts;
  };
  const wrong = async (): Promise<string[]> => {
    const counts = await count();
    return sent
      .filter(({ name, keyed, outcome }) => {
        const own = counts.get(name) ?? { charged: 0, refunded: 0 };
        const isPaid = keyed || outcome === 'acknowledged';
        return isPaid ? own.charged !== 1 || own.refunded !== 0 : own.charged !== own.refunded;
      })
      .map((one) => `${one.name} ${one.outcome} ${JSON.stringify(counts.get(one.name))}`);
  };
  await expect.poll(wrong, { interval: 250 }).toEqual([]);
  const paid = sent.filter(({ keyed, outcome }) => keyed || outcome === 'acknowledged').length;
  await expect
    .poll(() => node.ledger.balance('a'), { interval: 250 })
    .toMatchObject({ balance: GRANT - paid, held: 0 });
  expect((await node.ledger.verify()).faults).toEqual([]);
}

describe.skipIf(!hasRedis)('charges while a Redis Cluster fails', () => {
  let cluster: RedisCluster;
  let nodes: readonly [Node, Node];
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(async () => {
    await cluster.stop();
  });
  beforeEach(async () => {
    const world = accountsAt(cluster.url, 1, 'server');
    world.freeCredits = 0;
    nodes = [world.node(), world.node()];
    const grant = { accountId: 'a', type: 'GRANT', amount: GRANT, reference: null, once: 'grant' } as const;
    const [{ ledger }] = nodes;
    await expect.poll(() => ledger.book(grant).then(() => 'booked', messageOf)).toBe('booked');
  });
  afterEach(async () => {
    await Promise.all(nodes.map((node) => node.close()));
  });
  const master = (): RedisServer => cluster.masterOf(nodes[0].steps.logOf('a'));
  const replaced = async (old: RedisServer): Promise<void> => {
    await expect.poll(() => master().port, { interval: 100 }).not.toBe(old.port);
  };

  it('lose nothing acknowledged if a master is killed and its replica takes over', async () => {
    const old = master();
    const sent = await underLoad(nodes, async () => {
      await old.kill();
      await replaced(old);
      // Until the old master is back as a replica, nothing can be acknowledged.
      await old.restart();
    });
    await checkAll(nodes, sent);
  });

  it('ignore the writes of a master that was frozen, replaced and thawed', async () => {
    const old = master();
    const sent = await underLoad(nodes, async () => {
      old.freeze();
      await replaced(old);
      await sleep(500);
      old.thaw();
      await sleep(500);
    });
    expect(sent.some(({ outcome }) => outcome === 'failed')).toBe(true);
    await checkAll(nodes, sent);
  });

  it('acknowledge nothing without the replica, and continue with it', async () => {
    const of = master();
    await expect.poll(() => of.run('role')).toContain('127.0.0.1');
    const replica = cluster.nodes.find(
      (each) => each.port !== of.port && each.run('role').split('\n')[2] === String(of.port),
    );
    if (replica === undefined) throw new Error('The master has no replica.');
    let [frozenAt, thawedAt] = [0, 0];
    const sent = await underLoad(nodes, async () => {
      replica.freeze();
      frozenAt = performance.now();
      await sleep(2_500);
      thawedAt = performance.now();
      replica.thaw();
    });
    expect(outcomes(sent, frozenAt, thawedAt)).toEqual(new Set(['failed']));
    await checkAll(nodes, sent);
  });
});

/** A connection to a server that can be cut (nothing passes, nothing is closed) and healed. */
async function startLine(port: number) {
  const sockets = new Set<Socket>();
  let isCut = false;
  const line: Server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => void to.write(bytes));
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      if (isCut) from.pause();
    }
  });
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve));
  return {
    url: `redis://127.0.0.1:${(line.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.pause();
    },
    heal() {
      isCut = false;
      for (const socket of sockets) socket.resume();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      line.close();
    },
  };
}

describe.skipIf(!hasRedis)('charges while one server fails', () => {
  let server: RedisServer;
  let line: Awaited<ReturnType<typeof startLine>>;
  let accounts: ReturnType<typeof accountsAt>;
  let nodes: readonly [Node, Node];
  beforeAll(async () => {
    server = await startRedis();
    line = await startLine(server.port);
  });
  afterAll(async () => {
    line.close();
    await server.stop();
  });
  beforeEach(async () => {
    accounts = accountsAt(server.url, 0, 'server');
    accounts.freeCredits = 0;
    nodes = [accounts.node(), accounts.node(line.url)];
    await nodes[0].ledger.book({ accountId: 'a', type: 'GRANT', amount: GRANT, reference: null });
  });
  afterEach(async () => {
    await Promise.all(nodes.map((node) => node.close()));
  });

  it('fail on a node that is cut off until it recovers, and continue on the other', async () => {
    const [well, cutOff] = nodes;
    let [cutAt, healedAt] = [0, 0];
    const sent = await underLoad(nodes, async () => {
      line.cut();
      cutAt = performance.now();
      await sleep(4_500);
      healedAt = performance.now();
      line.heal();
    });
    const during = (node: Node): Set<string> =>
      outcomes(
        sent.filter((one) => one.node === node),
        cutAt,
        healedAt,
      );
    expect(during(cutOff)).toEqual(new Set(['failed']));
    expect(during(well)).toEqual(new Set(['acknowledged']));
    await checkAll(nodes, sent);
  });

  it('are exact after a freeze longer than every timeout', async () => {
    const sent = await underLoad(nodes, async () => {
      server.freeze();
      await sleep(4_000);
      server.thaw();
    });
    expect(sent.some(({ outcome }) => outcome === 'failed')).toBe(true);
    await checkAll(nodes, sent);
  });

  it('do not count requests after a freeze that timed out during it', async () => {
    const [node] = nodes;
    try {
      const asked = { rate: { subject: 'key', rateClass: 'intel' }, accountId: 'a', slot: null } as const;
      const admit = () =>
        node.gate.admit({ ...asked, quota: { meter: 'intel', units: 1 }, credits: null }, 0);
      accounts.setRateLimit(5);
      expect((await admit()).rate).toMatchObject({ remaining: 4 });
      server.freeze();
      const lost = await Promise.allSettled(Array.from({ length: 20 }, admit));
      expect(lost.map(({ status }) => status)).toEqual(lost.map(() => 'rejected'));
      await sleep(100);
      server.thaw();
      // A request behind them on the same connection is answered when they are done.
      expect((await admit()).rate).toMatchObject({ allowed: true, remaining: 3 });
      expect(await node.quota.used('a', 'intel')).toBe(2);
    } finally {
      server.thaw();
    }
  });

  it('are exact after the server is killed and restarted over its files', async () => {
    const sent = await underLoad(nodes, async () => {
      await server.kill();
      await sleep(500);
      await server.restart();
    });
    await checkAll(nodes, sent);
  });
});

/** A running server on a disk that becomes full: every read is answered, every write is refused, and all works again when there is room. */
import { createHmac } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { type SmallDisk, smallDisk, smallDiskRefusal } from '../setup/small-disk.ts';
import { newEmptyWorld, type RunningServer, type World } from './program.ts';

const ADDRESS = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';
const MIB = 48;
/** Bytes left free at a first start, from none to nearly enough. The short suite takes one before the stores and one amid the builds. */
const SPARES =
  process.env.ASSAY_TEST_LONG === '1' ? [0, 64_000, 256_000, 1_000_000, 2_500_000] : [64_000, 2_500_000];
const JOBS = '/api/v1/jobs?kind=labels&chain=ETH';

const STRIPE = '/api/v1/payments/stripe';
const STRIPE_SECRET = 'whsec_test_secret';
const STARTER = { credits: 100, cents: 19_900 };

/** A paid checkout of the smallest package; sent again, it is the same event. */
const checkout = (n: number): object => ({
  id: `evt_${n}`,
  type: 'checkout.session.completed',
  data: {
    object: {
      id: `cs_${n}`,
      payment_status: 'paid',
      payment_intent: `pi_${n}`.padEnd(200, 'x'),
      client_reference_id: 'local',
      currency: 'usd',
      amount_total: STARTER.cents,
      metadata: { package: 'Starter' },
    },
  },
});

function signatureOf(body: string): string {
  const at = Math.floor(Date.now() / 1_000);
  return `t=${at},v1=${createHmac('sha256', STRIPE_SECRET).update(`${at}.${body}`).digest('hex')}`;
}

interface Told {
  readonly status: number;
  readonly code: string | null;
  readonly retryAfter: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

async function ask(server: RunningServer, method: string, path: string, body?: unknown): Promise<Told> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(server.url + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(path === STRIPE ? { 'stripe-signature': signatureOf(text ?? '') } : {}),
      'content-type': path.includes('/jobs') ? 'application/x-ndjson' : 'application/json',
    },
    ...(text === undefined ? {} : { body: text }),
  });
  const { headers } = answer;
  const json = (headers.get('content-type') ?? '').includes('json');
  return {
    status: answer.status,
    code: headers.get('x-error-code'),
    retryAfter: headers.get('retry-after'),
    body: (json ? await answer.json() : { text: await answer.text() }) as Told['body'],
  };
}

let key = '';

/** Operations that are answered from stored data. */
const READS: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ['GET', '/health'],
  ['GET', '/ready'],
  ['GET', '/metrics'],
  ['GET', `/api/v1/oracle/address/ETH/${ADDRESS}`],
  ['GET', `/api/v1/sanctions/check?address=${ADDRESS}&chain=ETH`],
  ['POST', '/api/v1/screen/bulk', { addresses: [{ address: ADDRESS, chain: 'ETH' }] }],
  ['GET', `/api/v1/address/ETH/${ADDRESS}/labels`],
  ['GET', '/api/v1/usage'],
  ['GET', '/api/v1/monitoring/wallets'],
  ['GET', '/api/v1/monitoring/alerts'],
  ['GET', '/api/v1/monitoring/channels'],
  ['GET', '/api/v1/jobs'],
  ['GET', '/api/v1/namescreen/cleared'],
  ['GET', '/api/v1/cases'],
  ['GET', '/api/v1/screenings'],
  ['GET', '/.well-known/jwks.json'],
];

/** Operations that store something, each with bodies that never repeat. */
const WRITES: readonly (readonly [method: string, path: string, body: (n: number) => unknown])[] = [
  [
    'POST',
    '/api/v1/monitoring/wallets',
    (n) => ({ walletAddress: `0x${n.toString(16).padStart(40, '0')}`, chain: 'ETH' }),
  ],
  ['POST', '/api/v1/screening', () => ({ address: ADDRESS, chain: 'ETH' })],
  ['POST', '/api/v1/screening', () => ({ address: ADDRESS, chain: 'ETH', save: true })],
  ['POST', '/api/v1/kyt', () => ({ address: ADDRESS, chain: 'ETH', receipt: 'jws' })],
  ['POST', '/api/v1/keys', (n) => ({ name: `key ${n}`.padEnd(60, 'x') })],
  ['POST', '/api/v1/cases', (n) => ({ title: `case ${n}`, note: 'x'.repeat(4_000) })],
  ['POST', '/api/v1/monitoring/webhook-secret', () => undefined],
  [
    'POST',
    '/api/v1/namescreen/cleared',
    // A match of a shipped list, under a new name each time.
    (n) => ({
      name: `Emmanuel Macron Q${String.fromCharCode(97 + (n % 26), 97 + ((n / 26) % 26))}`,
      source: 'seed:heads-of-state:pep',
      entityId: 'fr-emmanuel-macron',
    }),
  ],
  ['POST', STRIPE, checkout],
];

/** Stores of which a test holds a reader, so that no commit finds a free page in their files. */
const STORES = [
  'accounts/audit.mdb',
  'accounts/cleared-names.lmdb',
  'accounts/keys.mdb',
  'accounts/ledger.mdb',
  'accounts/payments.mdb',
  'accounts/people.mdb',
  'accounts/quotas.mdb',
  'cases.mdb',
  'invoices.mdb',
  'jobs.mdb',
  'log.mdb',
  'monitoring/monitoring.lmdb',
  'receipts.mdb',
  'screenings.mdb',
];

function holdPages(store: string): () => Promise<void> {
  const held = STORES.map((name) => {
    const root = openEnvironment(join(store, name), { readOnly: true });
    return { root, reading: root.useReadTransaction() };
  });
  return async () => {
    for (const { root, reading } of held) {
      reading.done();
      await root.close();
    }
  };
}

for (const kind of ['tmpfs', 'ext4'] as const) {
  const refusal = smallDiskRefusal(kind);
  describe.skipIf(refusal !== null)(
    `a server on a full ${kind}${refusal === null ? '' : ` (${refusal})`}`,
    () => {
      let world: World;
      let disk: SmallDisk;
      let store: string;
      let server: RunningServer;
      let environment: Record<string, string>;
      beforeAll(() => {
        world = newEmptyWorld();
        disk = smallDisk(kind, MIB);
        store = join(disk.path, 'store');
        environment = { ASSAY_DATA_DIR: store, ASSAY_STRIPE_SECRET: STRIPE_SECRET };
      });
      afterAll(async () => {
        await world.end();
        disk.remove();
      });

      // The tests follow each other on one disk: a first start takes two seconds of processor time.
      it('fails its first start without space, gives the reason in one line, and damages nothing', async () => {
        for (const spare of SPARES) {
          disk.fill(spare);
          const refused = await world.run(['serve'], { environment });
          expect(refused.code, refused.err).toBe(1);
          expect(refused.err.split('\n').filter((line) => line.startsWith('assay: '))).toHaveLength(1);
          expect(refused.err).toContain(disk.path);
          disk.free();
        }
        server = await world.serve(environment);
        key = server.firstKey;
        expect((await ask(server, 'GET', `/api/v1/oracle/address/ETH/${ADDRESS}`)).status).toBe(200);
        // Jobs are opened after the first answer, and their file may be in the middle of its write.
        await expect.poll(() => readdirSync(store).filter((name) => name.includes('.tmp'))).toEqual([]);
      });

      it('answers every read, rejects every write with STORAGE_FULL, and recovers when there is space', async () => {
        for (const [method, path, body] of READS)
          expect((await ask(server, method, path, body)).status, path).toBe(200);
        for (const [method, path, body] of WRITES) {
          const first = await ask(server, method, path, body(1));
          expect(first.status, `${path} ${JSON.stringify(first.body)}`).toBeLessThan(300);
        }
        const before = await ask(server, 'GET', '/api/v1/usage');
        const release = holdPages(store);
        disk.fill();
        await expect
          .poll(async () => (await ask(server, 'GET', '/ready')).body)
          .toMatchObject({
            success: true,
            // On a slow machine, the minute's write of the keys' last use was refused as well.
            data: {
              ready: true,
              degraded: expect.arrayContaining([expect.objectContaining({ path: store })]),
            },
          });
        expect(await ask(server, 'GET', '/ready?for=writes')).toMatchObject({
          status: 503,
          body: { error: expect.stringContaining(store) },
        });
        // Small commits find free pages in the files for a while: these calls succeed and are stored.
        let charged = 0;
        let bought = 0;
        for (const [method, path, body] of WRITES)
          for (let call = 100; ; call++) {
            const { status } = await ask(server, method, path, body(call));
            if (status === 500) break;
            expect(status, path).toBe(200);
            if (path.endsWith('/screening')) charged++;
            if (path === STRIPE) bought++;
          }
        let refused = 0;
        for (let round = 0; round < 3; round++) {
          for (const [method, path, body] of READS)
            expect((await ask(server, method, path, body)).status, path).toBe(200);
          for (const [method, path, body] of WRITES) {
            const response = await ask(server, method, path, body(10 + round));
            expect(response, path).toMatchObject({ status: 500, code: 'STORAGE_FULL' });
            expect(Number(response.retryAfter)).toBeGreaterThan(0);
            expect(Object.keys(response.body)).toEqual(['error']);
            refused++;
          }
          // Jobs are refused before the disk is full.
          expect(await ask(server, 'POST', JOBS, `{"address":"${ADDRESS}"}`)).toMatchObject({
            status: 429,
            code: 'OVERLOADED',
            retryAfter: expect.stringMatching(/^[1-9]/),
          });
          // The first use of the store of people, by a client without a key.
          const login = { email: 'a@example.com', password: 'x'.repeat(20) };
          expect((await ask(server, 'POST', '/api/v1/auth/login', login)).status).not.toBe(200);
        }
        expect(refused).toBe(3 * WRITES.length);
        const metrics = await ask(server, 'GET', '/metrics');
        expect(metrics.body.text).toMatch(/^assay_storage_refused [1-9]/m);
        for (let call = 0; call < 300; call++)
          expect((await ask(server, 'GET', `/api/v1/oracle/address/ETH/${ADDRESS}`)).status).toBe(200);
        const balanceOf = ({ body }: Told): number => (body.data as { balance: number }).balance;
        const usage = await ask(server, 'GET', '/api/v1/usage');
        expect(usage.body).toMatchObject({
          data: {
            balance: balanceOf(before) - charged + bought * STARTER.credits,
            credits: { held: 0 },
          },
        });

        await release();
        disk.free();
        await expect.poll(async () => (await ask(server, 'GET', '/ready?for=writes')).status).toBe(200);
        for (const [method, path, body] of WRITES) {
          const response = await ask(server, method, path, body(20));
          expect(response.status, `${path} ${JSON.stringify(response.body)}`).toBeLessThan(300);
        }
        // The refused events are delivered again, some of them twice: each is booked once.
        const between = await ask(server, 'GET', '/api/v1/usage');
        for (const n of [10, 11, 10, 12, 11])
          expect(await ask(server, 'POST', STRIPE, checkout(n))).toMatchObject({ status: 200 });
        expect(balanceOf(await ask(server, 'GET', '/api/v1/usage'))).toBe(
          balanceOf(between) + 3 * STARTER.credits,
        );
        expect(await server.stop()).toBe(0);
        for (const command of ['ledger', 'audit']) {
          const verified = await world.run([command, 'verify', '--json'], { environment });
          expect(JSON.parse(verified.out), verified.err).toMatchObject({ faults: [] });
        }
      });

      it('starts on the full disk, and answers', async () => {
        disk.fill();
        const second = await world.serve(environment);
        expect((await ask(second, 'GET', `/api/v1/oracle/address/ETH/${ADDRESS}`)).status).toBe(200);
        expect((await ask(second, 'GET', '/api/v1/monitoring/wallets')).status).toBe(200);
        expect((await ask(second, 'GET', '/ready')).status).toBe(200);
        disk.free();
        await expect.poll(async () => (await ask(second, 'GET', '/ready?for=writes')).status).toBe(200);
        expect((await ask(second, 'POST', '/api/v1/keys', { name: 'k' })).status).toBe(200);
        expect(await second.stop()).toBe(0);
      });
    },
  );
}

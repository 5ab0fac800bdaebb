/**
 * The built program with everything that is sold: a real EVM node, a stand-in for Stripe, an account for wires, prices of a price server, and
 * sanctions lists that were checked today. The person of the account `local` buys over HTTP.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { writeListChecks } from '../../src/labels/freshness.ts';
import { LISTS } from '../../src/sources/lists.ts';
import { KEYS } from '../billing/crypto/world.ts';
import { type StripeStandIn, startStripe, WEBHOOK_SECRET } from '../billing/stripe-stand-in.ts';
import { type Anvil, startAnvil } from '../setup/anvil.ts';
import { startPriceServer, type TestPriceServer } from '../setup/price-server.ts';
import { newWorld, patiently, type RunningServer, type World } from './program.ts';

const EMAIL = 'ann@example.org';
const PASSWORD = 'correct horse battery';
const SAMPLE_MS = 600_000;
export const USD = 2_000;
export const IBAN = 'CH9300762011623852957';

/** Confirmations of an invoice in ETH below 1,000 USD. */
export const DEPTH = 12;

// biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
type Json = any;

export interface PaymentsWorld {
  readonly world: World;
  readonly anvil: Anvil;
  readonly stripe: StripeStandIn;
  readonly environment: Record<string, string>;
  /** Starts a server, and states that all sanctions lists were checked today. */
  serve(node?: World): Promise<RunningServer>;
  /** Creates the person, and returns the cookie of a session. */
  login(server: RunningServer): Promise<string>;
  end(): Promise<void>;
}

/**
 * Opens the world. Nothing of the program runs yet.
 *
 * @param more - further settings
 * @param node - the chain of the EVM node; default: ETH
 */
export async function openPaymentsWorld(
  more: Record<string, string> = {},
  { chain = 'ETH', chainId = 1 }: { readonly chain?: string; readonly chainId?: number } = {},
): Promise<PaymentsWorld> {
  const [anvil, stripe, prices] = await Promise.all([
    startAnvil({ chainId }),
    startStripe(),
    startPriceServer(),
  ]);
  samples(prices);
  const world = newWorld();
  const environment: Record<string, string> = {
    ASSAY_WORKERS: '1',
    ASSAY_STRIPE_KEY: 'sk_test_0123456789',
    ASSAY_STRIPE_SECRET: WEBHOOK_SECRET,
    ASSAY_STRIPE_URL: stripe.url,
    ASSAY_SELLER_NAME: 'Example AG',
    ASSAY_SELLER_IBAN: IBAN,
    ASSAY_SELLER_BIC: 'KBZHCH22',
    ASSAY_SELLER_POSTCODE: '8001',
    ASSAY_SELLER_TOWN: 'Zürich',
    ASSAY_SELLER_COUNTRY: 'CH',
    ASSAY_PAYMENT_KEY_EVM: KEYS.EVM,
    [`ASSAY_RPC_${chain}`]: anvil.url,
    ASSAY_PRICE_URL: prices.url,
    ASSAY_WEBHOOK_TRUSTED_HOSTS: '127.0.0.1',
    ...more,
  };
  return {
    ...{ world, anvil, stripe, environment },
    async serve(node = world) {
      checkLists(join(node.folder, 'store', 'labels'));
      return node.serve(environment);
    },
    async login(server) {
      await world.run(['accounts', 'add-person', 'local', '--email', EMAIL], {
        environment,
        input: `${PASSWORD}\n`,
      });
      const response = await fetch(`${server.url}/api/v1/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: EMAIL, password: PASSWORD }),
      });
      expect(response.status, await response.text()).toBe(200);
      return (response.headers.get('set-cookie') ?? '').split(';')[0] as string;
    },
    async end() {
      await world.end();
      await Promise.all([anvil.stop(), stripe.close(), prices.close()]);
    },
  };
}

/** A price every ten minutes. */
function samples(prices: TestPriceServer): void {
  prices.answer = ({ query }, response) => {
    const from = Number(query.get('from')) * 1_000;
    // As a server does: no price of the future.
    const to = Math.min(Number(query.get('to')) * 1_000, Date.now());
    const rows: [number, number][] = [];
    for (let at = Math.max(from, to - 200 * SAMPLE_MS); at <= to; at += SAMPLE_MS) rows.push([at, USD]);
    response.end(JSON.stringify({ prices: rows, market_caps: [], total_volumes: [] }));
  };
}

/** Records what an import records: all lists were checked now. */
function checkLists(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const now = new Date().toISOString();
  const check = { publishedAt: now.slice(0, 10), checkedAt: now, checkedBy: 'DOWNLOAD', records: 1 } as const;
  const lists = LISTS.groups.flatMap((group) => group.lists);
  writeListChecks(folder, Object.fromEntries(lists.map((list) => [list, check])));
}

/** Sends a request with a session or a key, and returns `data`. Waits if there were too many. */
export async function call(
  { url }: RunningServer,
  as: string,
  path: string,
  { method, body }: { readonly method?: string; readonly body?: unknown } = {},
): Promise<Json> {
  const headers: Record<string, string> = as.includes('=')
    ? { cookie: as, origin: url }
    : { authorization: `Bearer ${as}` };
  const response = await patiently(() =>
    fetch(`${url}/api/v1${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
  const text = await response.text();
  expect(response.status, `${path}: ${text}`).toBe(200);
  return text.startsWith('{') ? JSON.parse(text).data : text;
}

/** Orders a package in ETH. */
export async function orderEth(server: RunningServer, cookie: string): Promise<Json> {
  const body = { package: 'Starter', method: 'CRYPTO', currency: 'ETH' };
  return (await call(server, cookie, '/billing/invoices', { body })).invoice;
}

/** Waits until an invoice has a state, and returns it. */
export async function untilState(
  server: () => RunningServer,
  as: string,
  id: string,
  state: string,
): Promise<Json> {
  let invoice: Json = null;
  await expect
    .poll(
      async () => {
        ({ invoice } = await call(server(), as, `/billing/invoices/${id}`));
        return [invoice.state, invoice.reason];
      },
      { interval: 1_000, timeout: 170_000 },
    )
    .toEqual([state, expect.toSatisfy((reason: unknown) => state === 'HELD' || reason === null)]);
  return invoice;
}

/** The withdrawal guard on Express and on Fastify, before a real front end of Assay. */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { CHAINS } from '../../src/chains/registry.ts';
import { EXCHANGE, SANCTIONED, UNKNOWN } from '../http/world.ts';
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts';
import { installedPackages } from '../setup/installed-packages.ts';
import { copyExample, type Example, type RunningExample } from './example.ts';
import { type OracleWorld, openOracleWorld, WARNED } from './oracle-world.ts';

const packages = installedPackages(
  'example-withdrawal-guard',
  join(projectRoot, 'examples', 'withdrawal-guard'),
);

interface Reply {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

async function withdraw(service: RunningExample, body: unknown): Promise<Reply> {
  const response = await fetch(`${service.url}/withdrawals`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    body: (await response.json()) as Reply['body'],
  };
}

const to = (address: unknown, chain: unknown = 'ETH') => ({ chain, address, amount: '1.5' });

it('pays out on chains of Assay by default, as its page says', () => {
  const folder = join(projectRoot, 'examples', 'withdrawal-guard');
  const chains = /CHAINS \?\? '([\w,]+)'/.exec(readFileSync(join(folder, 'setup.js'), 'utf8'))?.[1] ?? '';
  expect(CHAINS.map(({ id }): string => id)).toEqual(expect.arrayContaining(chains.split(',')));
  expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain(`| \`CHAINS\` | \`${chains}\` |`);
});

describe('the call to Assay of the examples', () => {
  const load = (file: string) => import(pathToFileURL(join(projectRoot, 'examples', file)).href);

  it('takes a redirect for a refusal, so that a wrong URL does not open a gate that fails open', async () => {
    const server = createServer((_, response) => response.writeHead(301, { location: '/elsewhere' }).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { createAssayClient } = await load('shared/assay-client.js');
      const { createWithdrawalGuard } = await load('withdrawal-guard/guard.js');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const client = createAssayClient({ url, apiKey: 'assay_live_x' });
      const guard = createWithdrawalGuard({ client, chains: ['ETH'], failOpen: true, log() {} });
      expect(await guard(to(EXCHANGE))).toMatchObject({ allow: false, status: 503 });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('rejects a key that no header can hold when it is created, not as an outage at each call', async () => {
    const { createAssayClient } = await load('shared/assay-client.js');
    const url = 'http://127.0.0.1:1';
    for (const apiKey of ['', ' ', 'assay_live_…', 'assay_live_x\nassay_live_x'])
      expect(() => createAssayClient({ url, apiKey })).toThrow(
        /^apiKey: must be a whole API key\.(?!.*_live_)/,
      );
    expect(() => createAssayClient({ url, apiKey: 'assay_live_x\n' })).not.toThrow();
  });
});

describe.skipIf(packages === null).each(['express', 'fastify'])('the withdrawal guard on %s', (framework) => {
  let world: OracleWorld;
  let example: Example;
  let proxy: FaultProxy;
  let silent: Server;
  let settings: Readonly<Record<string, string>>;
  let service: RunningExample;
  let open: RunningExample;

  beforeAll(async () => {
    world = await openOracleWorld();
    proxy = await startFaultProxy(world.url);
    silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    example = copyExample('withdrawal-guard', packages);
    settings = {
      ASSAY_BASE_URL: proxy.url,
      ASSAY_API_KEY: await world.key({ permissions: ['oracle'] }),
      CHAINS: 'ETH,BTC',
    };
    [service, open] = await Promise.all([
      example.serve(`${framework}-server.js`, { ...settings, HOLD_NOT_ASSESSED: 'on' }),
      example.serve(`${framework}-server.js`, { ...settings, FAIL_OPEN: 'on' }),
    ]);
  });
  afterAll(async () => {
    await example?.remove();
    silent?.closeAllConnections();
    silent?.close();
    await proxy?.close();
    await world?.close();
  });

  it('sends a withdrawal to a safe address', async () => {
    expect(await withdraw(service, to(EXCHANGE))).toMatchObject({
      status: 201,
      body: { status: 'SENT', address: EXCHANGE, amount: '1.5', screened: true },
    });
  });

  it('blocks a withdrawal to a sanctioned address with the reasons, also if it fails open', async () => {
    for (const each of [service, open])
      expect(await withdraw(each, to(SANCTIONED))).toMatchObject({
        status: 403,
        body: { verdict: 'danger', reasons: [{ code: 'SANCTIONED', source: 'OFAC' }] },
      });
    expect(service.log()).toContainEqual(
      expect.objectContaining({
        message: 'withdrawal blocked',
        address: SANCTIONED,
        reasons: ['SANCTIONED'],
      }),
    );
  });

  it('holds a warning, and an address about which nothing is known if that is set', async () => {
    expect(await withdraw(service, to(WARNED))).toMatchObject({
      status: 202,
      body: { status: 'HELD_FOR_REVIEW', reviewId: '1' },
    });
    expect((await withdraw(service, to(UNKNOWN))).status).toBe(202);
    expect((await withdraw(open, to(UNKNOWN))).status).toBe(201);
    const reviews = await (await fetch(`${service.url}/reviews`)).json();
    expect(reviews).toMatchObject([
      {
        id: '1',
        withdrawal: { address: WARNED, amount: '1.5' },
        verdict: 'warning',
        reasons: [{ code: 'EXPOSURE' }],
      },
      { id: '2', withdrawal: { address: UNKNOWN }, verdict: 'safe' },
    ]);
  });

  it('rejects an invalid chain or address without a request to Assay', async () => {
    const before = proxy.requests;
    for (const [body, error] of [
      [to(EXCHANGE, 'EHT'), 'chain: must be one of ETH, BTC.'],
      [to(EXCHANGE, ['ETH']), 'chain: must be one of ETH, BTC.'],
      [to(''), 'address: must be a string that is not empty.'],
      [to({ $ne: null }), 'address: must be a string that is not empty.'],
      [to('a'.repeat(201)), 'address: must have at most 200 characters.'],
      [to('..'), 'address: must have letters, digits and . _ : + / = - only.'],
      [to('0x1?chain=BTC'), 'address: must have letters, digits and . _ : + / = - only.'],
      [[], 'chain: must be one of ETH, BTC.'],
    ] as const)
      expect(await withdraw(service, body)).toMatchObject({ status: 400, body: { error } });
    expect(proxy.requests).toBe(before);
    // What only Assay knows, such as a checksum, is a 400 with its text.
    expect(await withdraw(open, to('0x12'))).toMatchObject({
      status: 400,
      body: { error: 'address: has not the form of an Ethereum address.' },
    });
  });

  it('refuses withdrawals while Assay is unavailable, or sends them if it is set to, and logs each', async () => {
    for (const fault of ['error-500', 'too-many', 'cut'] as const) {
      proxy.fault = fault;
      expect(await withdraw(service, to(EXCHANGE)), fault).toMatchObject({ status: 503, retryAfter: '5' });
      expect(await withdraw(open, to(EXCHANGE)), fault).toMatchObject({
        status: 201,
        body: { screened: false },
      });
    }
    const messages = (one: RunningExample) => one.log().map(({ message }) => message);
    expect(messages(service).filter((text) => text === 'withdrawal refused without a verdict')).toHaveLength(
      3,
    );
    expect(messages(open).filter((text) => text === 'withdrawal allowed without a verdict')).toHaveLength(3);
    proxy.fault = 'none';
    expect((await withdraw(service, to(EXCHANGE))).status).toBe(201);
  });

  it('never opens for a response that is not a verdict, or for a key that Assay refuses', async () => {
    for (const fault of ['html', 'half', 'empty', 'wrong-types'] as const) {
      proxy.fault = fault;
      expect((await withdraw(open, to(EXCHANGE))).status, fault).toBe(503);
    }
    proxy.fault = 'none';
    const wrong = {
      ...settings,
      ASSAY_BASE_URL: world.url,
      FAIL_OPEN: 'on',
      ASSAY_API_KEY: 'assay_live_wrong',
    };
    const refused = await example.serve(`${framework}-server.js`, wrong);
    expect((await withdraw(refused, to(EXCHANGE))).status).toBe(503);
    expect(refused.log()).toMatchObject([{ level: 'error', code: 'UNAUTHENTICATED' }]);
    expect(JSON.stringify(refused.log())).not.toContain('assay_live_wrong');
  });

  // The rest is not about the framework.
  it.runIf(framework === 'express')('does not wait longer than its timeout for Assay', async () => {
    const { port } = silent.address() as AddressInfo;
    const hasty = await example.serve(`${framework}-server.js`, {
      ...settings,
      ASSAY_BASE_URL: `http://127.0.0.1:${port}`,
      TIMEOUT_MS: '50',
    });
    expect(await withdraw(hasty, to(EXCHANGE))).toMatchObject({ status: 503 });
    expect(hasty.log()).toMatchObject([{ error: 'Assay did not answer: timeout.' }]);
  });

  it.runIf(framework === 'express')('names a setting that is missing or invalid', async () => {
    const { ASSAY_BASE_URL: _url, ...rest } = settings;
    const file = `${framework}-server.js`;
    expect(await example.run(file, [], rest)).toMatchObject({
      code: 2,
      err: 'ASSAY_BASE_URL: must be set.\n',
    });
    expect(await example.run(file, [], { ...settings, FAIL_OPEN: 'yes' })).toMatchObject({
      code: 2,
      err: 'FAIL_OPEN: must be on or off (got "yes").\n',
    });
  });
});

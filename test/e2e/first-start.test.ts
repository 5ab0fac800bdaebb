/** The first steps in a fresh clone: the first start, keys, bad settings, a taken port, a clean stop, list refresh from a mirror. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TOKEN_PREFIX } from '../../src/accounts/key-token.ts';
import { shippedData } from '../../src/base/paths.ts';
import { type ListServer, startListServer } from '../setup/list-server.ts';
import { prepareFolder } from '../setup/prepared-folder.ts';
import { execFileSync } from '../support/child-process.ts';
import { ask, newEmptyWorld, newWorld, type RunningServer, type World } from './program.ts';

const BINANCE = '0xbe0eb53f46cd790cd13851d5eff43d12404d33e8';
const LAZARUS = '0x098B716B8Aaf21512996dC57EB0615e2383E2f96';

describe('the first start', () => {
  let world: World;
  let server: RunningServer;
  beforeAll(async () => {
    world = newEmptyWorld();
    server = await world.serve();
  });
  afterAll(() => world.end());

  it('stores a key in a file of its owner, prints the path with a ready curl line, and never the key', async () => {
    const { out, err } = server.output();
    expect(server.firstKey.startsWith(TOKEN_PREFIX)).toBe(true);
    expect(out + err).not.toContain(TOKEN_PREFIX);
    const path = /^The first API key is in (.+)$/m.exec(out)?.[1] ?? '';
    const command = /^ {2}(curl .*)$/m.exec(out)?.[1];
    expect(path.startsWith(world.folder)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const answer = execFileSync('sh', ['-c', `${command} --silent --fail`], { encoding: 'utf8' });
    expect(JSON.parse(answer)).toMatchObject({ data: { entity: { name: 'Binance' } } });
  });

  it('has no quotas, charges its screenings, and says so', async () => {
    expect(server.output().out).toContain(
      "Account 'local' has the plan SELF_HOSTED: no quotas, 1,000,000,000 credits a month.\n",
    );
    const oracle = await ask(server, server.firstKey, `/api/v1/oracle/address/ETH/${BINANCE}`);
    expect(oracle.body.data).toMatchObject({ quota: { limit: null, remaining: null } });
    const screened = await ask(server, server.firstKey, '/api/v1/screening', {
      address: BINANCE,
      chain: 'ETH',
    });
    expect(screened.body).toMatchObject({ credits: { remaining: 999_999_999 } });
  });

  it('names Binance in the response to the printed command, and reports the missing lists', async () => {
    const [, path] = /(\/api\/v1\/oracle\/\S+)/.exec(server.output().out) ?? [];
    expect(await ask(server, server.firstKey, path ?? '')).toMatchObject({
      status: 200,
      body: {
        data: {
          verdict: 'warning',
          score: 0,
          entity: { name: 'Binance', category: 'EXCHANGE', threatLevel: 'SAFE' },
          reasons: [
            { code: 'STALE_OR_MISSING_DATA', message: expect.stringContaining('OFAC_SDN (never loaded)') },
          ],
        },
      },
    });
  });

  it('answers from the shipped data: a sanctioned wallet is danger, an exchange is known', async () => {
    const danger = await ask(server, server.firstKey, `/api/v1/oracle/address/ETH/${LAZARUS}`);
    expect(danger).toMatchObject({ status: 200, body: { data: { verdict: 'danger', sanctioned: true } } });
    const exchange = await ask(server, server.firstKey, `/api/v1/entity/${BINANCE}`);
    expect(exchange).toMatchObject({
      status: 200,
      body: { data: { labels: [{ name: 'Binance', category: 'EXCHANGE' }] } },
    });
  });

  it('reports nothing as safe while the lists are missing', async () => {
    const unknown = await ask(
      server,
      server.firstKey,
      '/api/v1/oracle/address/BTC/1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu',
    );
    expect(unknown.body.data).toMatchObject({ verdict: 'warning', assessed: false });
    expect(JSON.stringify(unknown.body)).toContain('STALE_OR_MISSING_DATA');
  });

  it('repeats asOf in the response, and rejects a future date by field', async () => {
    const body = { address: BINANCE, chain: 'ETH' };
    const then = await ask(server, server.firstKey, '/api/v1/screening', { ...body, asOf: '2020-01-01' });
    expect(then).toMatchObject({ status: 200, body: { data: { asOf: '2020-01-01', entity: null } } });
    const future = await ask(server, server.firstKey, '/api/v1/screening', { ...body, asOf: '2999-01-01' });
    expect(future.status).toBe(400);
    expect(future.body.error).toMatch(/^asOf: must not be in the future/);
  });

  it('answers health without a key, and lists the missing lists in /ready', async () => {
    const health = await fetch(`${server.url}/health`);
    expect(await health.json()).toMatchObject({ success: true, status: 'ok' });
    const ready = (await (await fetch(`${server.url}/ready`)).json()) as {
      data: { lists: { list: string; stale: boolean }[] };
    };
    expect(ready.data.lists.map((list) => list.list)).toEqual([
      'OFAC_SDN',
      'OFAC_CONS',
      'EU',
      'UN',
      'UK',
      'CH',
    ]);
    expect(ready.data.lists.every((list) => list.stale)).toBe(true);
  });

  it('applies keys created and revoked beside the running server at once', async () => {
    const made = await world.here([
      'keys',
      'create',
      '--name',
      'beside',
      '--permissions',
      'oracle',
      '--json',
    ]);
    expect(made.code).toBe(0);
    const { apiKey, id } = JSON.parse(made.out) as { apiKey: string; id: string };
    const oracle = `/api/v1/oracle/address/ETH/${BINANCE}`;
    expect((await ask(server, apiKey, oracle)).status).toBe(200);
    expect((await ask(server, apiKey, `/api/v1/entity/${BINANCE}`)).status).toBe(403);
    expect((await world.here(['keys', 'revoke', id])).code).toBe(0);
    expect((await ask(server, apiKey, oracle)).status).toBe(401);
    const listed = await world.here(['keys', 'list', '--json']);
    expect(listed.out).not.toContain(apiKey);
    expect(JSON.parse(listed.out)).toHaveLength(2);
  });

  it('rejects a second server on its port with an error, without any change', async () => {
    const { port } = new URL(server.url);
    const elsewhere = { ASSAY_PORT: port, ASSAY_DATA_DIR: join(world.folder, 'second') };
    prepareFolder(elsewhere.ASSAY_DATA_DIR);
    const second = await world.run(['serve'], { environment: elsewhere });
    expect(second.code).toBe(1);
    expect(second.err).toContain(port);
    expect(second.err.split('\n').filter((line) => line.startsWith('assay:'))).toHaveLength(1);
  });

  it('serves a snapshot built beside the running server within seconds', async () => {
    expect((await world.here(['index', 'synth', '--count', '1000', '--seed', '7'])).code).toBe(0);
    expect((await world.run(['index', 'build'])).code).toBe(0);
    const stats = JSON.parse((await world.here(['index', 'stats', '--json'])).out) as {
      meta: { dataVersion: string; synthetic: { labels: number } };
    };
    expect(stats.meta.synthetic.labels).toBeGreaterThan(990);
    expect(stats.meta.synthetic.labels).toBeLessThanOrEqual(1000);
    await expect
      .poll(
        async () => {
          const ready = (await (await fetch(`${server.url}/ready`)).json()) as {
            data: { snapshot: { dataVersion: string } };
          };
          return ready.data.snapshot.dataVersion;
        },
        { interval: 250 },
      )
      .toBe(stats.meta.dataVersion);
    const screened = await ask(server, server.firstKey, '/api/v1/screening', {
      address: LAZARUS,
      chain: 'ETH',
    });
    expect(screened.body.data).toMatchObject({ riskScore: 100, sanctioned: true });
    expect((await world.here(['index', 'verify'])).code).toBe(0);
  });

  it('stops cleanly on request, and creates no second key on restart', async () => {
    expect(await server.stop()).toBe(0);
    server = await world.serve();
    expect(server.firstKey).toBe('');
    expect(server.output().out).not.toContain('first API key');
    expect(await server.stop('SIGINT')).toBe(0);
  });
});

describe('the command line', () => {
  const world = newEmptyWorld();
  afterAll(() => world.end());

  it.each([
    [['serve'], { ASSAY_PORT: 'eighty' }, 1, 'ASSAY_PORT'],
    [['serve'], { ASSAY_HOSTNAME: 'x' }, 1, 'ASSAY_HOSTNAME: not a setting'],
    [['lookup', 'ETH', '0x12'], {}, 1, 'index build'],
    [['import', 'nonsense', 'file'], {}, 2, 'nonsense'],
    [['import', 'ofac', '/nowhere.xml'], {}, 1, '/nowhere.xml'],
    [['index', 'stats'], {}, 1, 'index build'],
    [['index', 'synth', '--count', 'many', '--seed', '1'], {}, 2, '--count'],
    [['keys', 'create', '--name', 'x', '--permissions', 'everything'], {}, 2, 'everything'],
    [['keys', 'revoke', 'nobody'], {}, 1, 'no key'],
    [['ingest', 'csv', 'file', '--chain', 'ETH'], {}, 2, 'csv'],
    [['sync', 'ofac', '--from', 'ftp://x'], {}, 2, '--from'],
  ])(
    '%j with %j fails with exit code %d and one line with the reason',
    async (args, environment, code, said) => {
      const outcome = args[0] === 'serve' ? await world.run(args, { environment }) : await world.here(args);
      expect(outcome.code).toBe(code);
      expect(outcome.out).toBe('');
      const lines = outcome.err.trimEnd().split('\n');
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain(said);
    },
  );

  it.each(['serve', 'sync', 'import', 'index', 'lookup', 'screen', 'bulk', 'ingest', 'keys'])(
    '%s --help describes its options',
    async (command) => {
      const outcome = await world.here([command, '--help']);
      expect(outcome.code).toBe(0);
      expect(outcome.out).toContain(`Usage: assay ${command}`);
    },
  );
});

describe('bulk', () => {
  const world = newEmptyWorld();
  beforeAll(async () => {
    const files = ['sanctioned', 'exchanges'].map((name) => shippedData('seed', `${name}.ndjson`));
    expect(await world.here(['import', 'seed', ...files])).toMatchObject({ code: 0, err: '' });
    expect((await world.here(['index', 'build'])).code).toBe(0);
  });
  afterAll(() => world.end());

  it.each([
    [['lookup', 'ETH', '0x12'], 'address'],
    [['lookup', 'DOGECOIN', BINANCE], '(got "DOGECOIN")'],
    [['screen', 'ETH', BINANCE, '--jurisdiction', 'XX'], 'jurisdiction'],
    [['screen', 'ETH', BINANCE, '--taint', 'fifo'], 'taint: fifo requires transaction outputs'],
    [['screen', 'ETH', BINANCE, '--max-hops', '6'], 'a whole number from 1 to 5'],
  ])('%j reports the invalid option', async (args, said) => {
    const outcome = await world.here(args);
    expect(outcome).toMatchObject({ code: 2, out: '', err: expect.stringContaining(said) });
  });

  it('answers piped addresses in order, invalid lines in their place', async () => {
    const outcome = await world.run(['bulk', '--chain', 'ETH'], {
      input: `${BINANCE}\nnonsense\n${LAZARUS}\n`,
    });
    expect(outcome.code).toBe(0);
    const answers = outcome.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(answers).toMatchObject([
      { address: BINANCE, sanctioned: false },
      { address: 'nonsense', error: expect.stringContaining('address') },
      { address: LAZARUS.toLowerCase(), sanctioned: true },
    ]);
  });

  it('accepts a reader that closes early', async () => {
    // Answers of several megabytes, of which a pipe holds 64 KiB.
    const input = `${BINANCE}\n`.repeat(20_000);
    const outcome = await world.run(['bulk', '--chain', 'ETH'], { input, readerLeavesAfter: 1 });
    expect(outcome.err).not.toContain('EPIPE');
    expect(outcome.code).toBe(0);
  });
});

describe('a refresh from a mirror', () => {
  const world = newWorld();
  let mirror: ListServer;
  beforeAll(async () => {
    mirror = await startListServer();
  });
  afterAll(async () => {
    await mirror.close();
    await world.end();
  });

  it('without a file keeps the data in service, and logs it', async () => {
    const server = await world.serve({ ASSAY_SYNC: 'on', ASSAY_SYNC_FROM: mirror.url });
    await expect
      .poll(() => server.output().err, { interval: 250 })
      .toMatch(
        /no sanctions list could be downloaded from 127\.0\.0\.1:\d+ .*ASSAY_SYNC_FROM, or import the files by hand/,
      );
    expect(mirror.requests.length).toBeGreaterThan(3);
    const answer = await ask(server, server.firstKey, `/api/v1/oracle/address/ETH/${LAZARUS}`);
    expect(answer.status).toBe(200);
    expect(await server.stop()).toBe(0);
  });
});

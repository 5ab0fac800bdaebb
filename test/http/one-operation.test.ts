/** Adds an endpoint by one value, and shows that everything else is derived from it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { docsPage } from '../../src/http/docs-page.ts';
import { openApiDocument } from '../../src/http/openapi.ts';
import { callerOf, operation } from '../../src/http/operation.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import { LOG_TILES } from '../../src/http/operations/log-tiles.ts';
import { routesMarkdown } from '../../src/http/routes.ts';
import { openWorld, type World } from './world.ts';

const received: object[] = [];

const repeatName = operation({
  id: 'repeatName',
  sdk: 'names.repeat',
  tag: 'Names',
  method: 'POST',
  path: '/repeat/{times}',
  permission: 'entity',
  rateClass: 'entity',
  pathParameters: { times: Type.Integer({ minimum: 1, maximum: 3, description: 'Number of repetitions.' }) },
  query: {
    separator: Type.String({ default: ' ', description: 'Text between the names.' }),
    case: Type.Optional(Type.Enum(['upper', 'lower'], { description: 'Letter case.' })),
  },
  body: Type.Object(
    {
      name: Type.String({ minLength: 2, examples: ['Ann'] }),
      tags: Type.Optional(Type.Array(Type.Object({ tag: Type.String() }))),
    },
    { title: 'RepeatNameBody' },
  ),
  response: Type.Object({ text: Type.String(), by: Type.String() }, { title: 'RepeatedName' }),
  examples: [{ summary: 'Twice', body: { name: 'Ann' }, data: { text: 'Ann Ann', by: 'key_1' } }],
  summary: 'Repeat a name',
  description: 'Returns the name several times.',
  run({ call, body, path, query }) {
    received.push(body);
    const name = query.case === 'upper' ? body.name.toUpperCase() : body.name;
    return { text: Array(path.times).fill(name).join(query.separator), by: callerOf(call).id };
  },
});

const LIST = [...OPERATIONS, repeatName];

describe.each(['uws', 'node'] as const)('an operation declared by one value, on %s', (backend) => {
  let world: World;
  let key: string;
  beforeAll(async () => {
    world = await openWorld({ backend, list: LIST });
    key = await world.key({ permissions: ['entity'] });
  });
  afterAll(() => world.close());

  async function post(path: string, body: unknown, as = key) {
    const response = await fetch(`${world.url}/api/v1${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${as}`,
        accept: 'application/problem+json',
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
    const { status, headers } = response;
    return { status, headers, body: (await response.json()) as Record<string, unknown> };
  }

  it('is routed, with path, query and body typed by their schemas', async () => {
    const plain = await post('/repeat/2', { name: 'Ann' });
    expect(plain).toMatchObject({
      status: 200,
      body: { success: true, data: { text: 'Ann Ann', by: expect.any(String) }, ignored: [] },
    });
    const { body } = await post('/repeat/3?separator=-&case=upper', { name: 'Ann' });
    expect(body.data).toMatchObject({ text: 'ANN-ANN-ANN' });
  });

  it('rejects a bad body, path and query with 400 and the field', async () => {
    const fault = async (path: string, body: unknown) => {
      const answer = await post(path, body);
      return [answer.status, answer.body.field, answer.body.detail];
    };
    expect(await fault('/repeat/1', {})).toEqual([400, 'name', 'name is required.']);
    expect(await fault('/repeat/1', { name: 7 })).toEqual([400, 'name', 'name: must be a string.']);
    expect(await fault('/repeat/1', { name: 'Ann', tags: [{}] })).toEqual([
      400,
      'tags[0].tag',
      'tags[0].tag is required.',
    ]);
    expect(await fault('/repeat/4', { name: 'Ann' })).toEqual([
      400,
      'times',
      'times: must be a whole number from 1 to 3.',
    ]);
    expect(await fault('/repeat/1?case=title', { name: 'Ann' })).toEqual([
      400,
      'case',
      'case: must be one of upper, lower.',
    ]);
  });

  it('receives only fields of its schema, and lists the unknown ones', async () => {
    received.length = 0;
    const { body } = await post('/repeat/1?color=red', {
      name: 'Ann',
      tags: [{ tag: 'a', more: 1 }],
      history: 1,
    });
    expect(body.ignored).toEqual(['tags[0].more', 'history', 'color']);
    expect(received).toEqual([{ name: 'Ann', tags: [{ tag: 'a' }] }]);
  });

  it('requires its permission, and counts against its rate limit', async () => {
    expect((await post('/repeat/1', { name: 'Ann' }, 'x')).status).toBe(401);
    const other = await world.key({ permissions: ['oracle'] });
    expect((await post('/repeat/1', { name: 'Ann' }, other)).status).toBe(403);
    const slow = await world.key({ permissions: ['entity'], rateLimits: { entity: 1 } });
    const statuses = [
      await post('/repeat/1', { name: 'Ann' }, slow),
      await post('/repeat/1', { name: 'Ann' }, slow),
    ];
    expect(statuses.map(({ status }) => status)).toEqual([200, 429]);
    expect(statuses[0]?.headers.get('x-ratelimit-limit')).toBe('1');
  });

  it('appears in the metrics, the OpenAPI document and the API reference', async () => {
    await post('/repeat/1', { name: 'Ann' });
    const text = async (path: string) => (await fetch(`${world.url}${path}`)).text();
    expect(await text('/metrics')).toContain('route="POST /repeat/{times}",status="200"');
    expect(await text('/openapi.json')).toContain('"operationId":"repeatName"');
    expect(await text('/docs')).toContain('<h2 id="repeatName">');
  });
});

describe('a list of operations', () => {
  it('generates the OpenAPI document', () => {
    const document = JSON.parse(JSON.stringify(openApiDocument('1', [repeatName]))) as {
      tags: object[];
      paths: Record<string, object>;
      components: { schemas: Record<string, object> };
    };
    expect(Object.keys(document.paths)).toEqual(['/repeat/{times}']);
    expect(document.tags).toMatchObject([{ name: 'Names' }]);
    expect(Object.keys(document.components.schemas)).toEqual([
      'ErrorBody',
      'Problem',
      'RepeatNameBody',
      'RepeatedName',
    ]);
    expect(document.paths['/repeat/{times}']).toMatchObject({
      post: {
        operationId: 'repeatName',
        tags: ['Names'],
        parameters: [
          { name: 'times', in: 'path', required: true, schema: { type: 'integer', maximum: 3 } },
          { name: 'separator', in: 'query', required: false },
          { name: 'case', in: 'query', required: false, schema: { enum: ['upper', 'lower'] } },
        ],
        requestBody: {
          content: {
            'application/json': {
              schema: { $ref: '#/components/schemas/RepeatNameBody' },
              examples: { example1: { summary: 'Twice', value: { name: 'Ann' } } },
            },
          },
        },
        responses: {
          200: {
            content: {
              'application/json': {
                examples: {
                  example1: {
                    value: { success: true, data: { text: 'Ann Ann', by: 'key_1' }, ignored: [] },
                  },
                },
              },
            },
          },
          400: {},
          401: {},
          403: {},
          429: { headers: { 'Retry-After': {} } },
          500: {},
        },
      },
    });
  });

  it('generates the API reference, with a command that the operation accepts', () => {
    const page = docsPage('1', [repeatName]);
    expect(page).toContain('<a href="#repeatName">');
    expect(page).toContain('/api/v1/repeat/1');
    expect(page).toContain(`-d '{&quot;name&quot;:&quot;Ann&quot;}'`);
  });

  it('generates the table in the README', () => {
    expect(routesMarkdown([repeatName]).split('\n').at(-1)).toBe(
      '| `POST /api/v1/repeat/{times}` | Repeat a name | entity, or session | entity | none | 0 |',
    );
  });

  it('is rejected if its properties contradict each other', () => {
    const facts = {
      id: 'x',
      sdk: null,
      tag: 'Names',
      method: 'POST',
      path: '/x',
      response: Type.Object({}),
      summary: 'x',
      description: 'x',
    } as const;
    expect(() => operation({ ...facts })).toThrow('exactly one kind of work');
    expect(() => operation({ ...facts, run: () => ({}), write: () => 0 })).toThrow(
      'exactly one kind of work',
    );
    expect(() => operation({ ...facts, credits: 1, run: () => ({}) })).toThrow('needs a body');
    expect(() => operation({ ...facts, path: '/x/{id}', run: () => ({}) })).toThrow('differ');
    expect(() =>
      openApiDocument('1', [repeatName, { ...repeatName, body: Type.Object({}, { title: 'Problem' }) }]),
    ).toThrow('Two different schemas have the title Problem');
  });
});

describe('the operations of the program', () => {
  const folder = join(projectRoot, 'src/http/operations');
  const sources = (path: string): string[] =>
    readdirSync(join(projectRoot, path), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(path, name));

  it('match the files of their folder, each listed once', () => {
    const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && name !== 'index.ts');
    // One file has the tiles of the log, whose paths differ in their depth.
    expect(OPERATIONS).toHaveLength(files.length - 1 + LOG_TILES.length);
    expect(new Set(OPERATIONS.map(({ id }) => id)).size).toBe(OPERATIONS.length);
    const listed = OPERATIONS.filter(({ isListed }) => isListed !== false);
    expect(new Set(listed.map(({ summary }) => summary)).size).toBe(listed.length);
    expect(new Set(OPERATIONS.map(({ method, path }) => `${method} ${path}`)).size).toBe(OPERATIONS.length);
  });

  it('never cast a request body to a type', () => {
    const casts = [...sources('src/http'), 'src/screening/bulk.ts'].filter((path) =>
      /\b(body|said|asked|item|row)\)? as ([A-Z{]|unknown|never)/.test(
        readFileSync(join(projectRoot, path), 'utf8'),
      ),
    );
    expect(casts).toEqual([]);
  });
});

/** The OpenAPI 3.1 document, generated from the list of operations and the schemas that validate requests. */
import type { TSchema } from 'typebox';
import { CLIENT_ERROR_CODES } from '../base/errors.ts';
import type { CodeSample } from './code-samples.ts';
import { HTTP_LIMITS } from './limits.ts';
import {
  API_BASE,
  acceptsKey,
  acceptsSession,
  hasOptionalBody,
  isCharged,
  type Parameter,
  permissionsOf,
  type Route,
  TAGS,
} from './routes.ts';
import { exampleOf } from './schema-example.ts';
import { ErrorBody, Problem } from './schemas/envelopes.ts';
import { text } from './schemas/fields.ts';
import { responsesOf, successHeaders } from './statuses.ts';

type JsonObject = { [name: string]: unknown };

const whole = (description: string): JsonObject => ({ description, schema: { type: 'integer' } });
const words = (description: string): JsonObject => ({ description, schema: { type: 'string' } });

/** All headers of responses. */
const HEADERS: Readonly<Record<string, JsonObject>> = {
  'X-Request-Id': words('Identifies the request: the client’s own X-Request-Id if it is valid.'),
  'X-RateLimit-Limit': whole('Requests allowed in any 60 seconds.'),
  'X-RateLimit-Remaining': whole('Requests left now.'),
  'X-RateLimit-Reset': whole('Epoch second at which more requests are allowed.'),
  'X-Quota-Remaining': words('Calls left this month, or `unlimited`.'),
  'X-Error-Code': {
    description: 'Code of the error.',
    schema: { type: 'string', enum: CLIENT_ERROR_CODES },
  },
  'WWW-Authenticate': words('`Bearer`.'),
  'Retry-After': whole('Seconds after which the request can be sent again.'),
  'Idempotency-Replayed': words(
    '`true` if the response was stored for an earlier request with the same key.',
  ),
  ETag: words('Version of the response.'),
  'Cache-Control': words('How caches may store the response.'),
  Vary: words('`Accept-Encoding`: responses of more than 1 KB are compressed if the client accepts it.'),
  'Content-Range': words('The bytes of the response, and the length of the whole.'),
  'Accept-Ranges': words('`bytes`.'),
  'Content-Disposition': words('File name of the result.'),
  'Content-Security-Policy': words('`sandbox`, and no source: nothing in the file runs or loads.'),
  'X-Result-Complete': words('`true` if the job has ended; `false` if more lines will follow.'),
  'Set-Cookie': words('The session cookie.'),
  Location: words('The same path and query on the configured host.'),
};

const IDEMPOTENCY_KEY: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: text(),
  description:
    'Printable ASCII, at most 255 characters. For 24 hours, a request with the same key and body gets the same response, with `Idempotency-Replayed: true`, and is charged once; another body is rejected with 400.',
};

/** The parameters of the operation, and Idempotency-Key if it is charged. */
const parametersOf = (route: Route): readonly Parameter[] =>
  isCharged(route) ? [...route.parameters, IDEMPOTENCY_KEY] : route.parameters;

function keyWords(route: Route): string {
  const { principal, role } = route;
  if (principal === 'signature') return 'Signed with the secret of the webhook.';
  const people = role === 'auditor' ? '' : ` of an owner${role === 'analyst' ? ' or analyst' : ''}`;
  if (!acceptsKey(route)) return acceptsSession(route) ? `Needs a session${people}.` : 'No key.';
  const permissions = permissionsOf(route);
  const key =
    permissions.length === 0 ? 'any API key' : `a key with the permission \`${permissions.join('` or `')}\``;
  return acceptsSession(route) ? `Needs ${key}, or a session${people}.` : `Needs ${key}.`;
}

/** Only the difference from the document's default security, which is an API key or a session. */
function securityOf(route: Route): JsonObject {
  const [byKey, bySession] = [acceptsKey(route), acceptsSession(route)];
  if (byKey && bySession) return {};
  return { security: [...(byKey ? [{ apiKey: [] }] : []), ...(bySession ? [{ session: [] }] : [])] };
}

function descriptionOf(route: Route): string {
  const { quota, credits } = route;
  const costs = [
    keyWords(route),
    quota === null
      ? ''
      : `Counts against the monthly ${quota.meter} quota, one ${quota.per === 'address' ? 'an address' : 'a request'}.`,
    credits === 0 ? '' : `Costs ${credits} credit${credits === 1 ? '' : 's'}.`,
    'An error is never charged.',
  ];
  return [route.description, ...costs].filter((part) => part !== '').join(' ');
}

/** Collects the schemas that have a title while it writes the document: each use of one becomes a reference. */
class Components {
  readonly #schemas = new Map<string, { readonly source: object; readonly text: unknown }>();

  /** @throws if two different schemas have the same title */
  json(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.json(item));
    const title = 'title' in value && 'type' in value ? value.title : undefined;
    const named =
      typeof title === 'string' ? title : 'enum' in value && 'title' in value ? value.title : undefined;
    if (typeof named !== 'string') return this.#plain(value);
    const known = this.#schemas.get(named);
    if (known === undefined) {
      this.#schemas.set(named, { source: value, text: null });
      this.#schemas.set(named, { source: value, text: this.#plain(value) });
    } else if (known.source !== value && JSON.stringify(known.source) !== JSON.stringify(value)) {
      throw new Error(`Two different schemas have the title ${named}.`);
    }
    return { $ref: `#/components/schemas/${named}` };
  }

  #plain(value: object): JsonObject {
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, item]) =>
        key === 'title' && typeof item === 'string' ? [] : [[key, this.json(item)]],
      ),
    );
  }

  /** Returns the collected schemas, sorted by name. */
  schemas(): JsonObject {
    const entries = [...this.#schemas].map(([name, { text: schema }]) => [name, schema] as const);
    return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}

const headersOf = (names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** Servers of operations at the root, without the prefix of the version. */
const ROOT_SERVERS = [{ url: '/' }];

/** Returns the code samples of an operation. */
type SamplesOf = (route: Route) => readonly CodeSample[];

/** Writes the operations of one document. */
class OperationWriter {
  readonly #components: Components;
  readonly #samplesOf: SamplesOf;

  constructor(components: Components, samplesOf: SamplesOf) {
    this.#components = components;
    this.#samplesOf = samplesOf;
  }

  #content(schema: TSchema, examples: readonly (readonly [summary: string, value: unknown])[]): JsonObject {
    const named = examples.map(([summary, value], at) => [`example${at + 1}`, { summary, value }]);
    return {
      'application/json': {
        schema: this.#components.json(schema),
        ...(examples.length === 0 ? {} : { examples: Object.fromEntries(named) }),
      },
    };
  }

  /** Examples of the whole response: those of the operation, else one that is made from the schema. */
  #responseExamples(route: Route, schema: TSchema): readonly (readonly [string, unknown])[] {
    const made = exampleOf(schema);
    const given = route.examples.filter(({ data }) => data !== undefined);
    if (given.length === 0 || typeof made !== 'object') return [[route.summary, made]];
    return given.map(({ summary, data }) => [summary, { ...made, data }]);
  }

  #responses(route: Route): JsonObject {
    const { response } = route;
    const responses: JsonObject = {
      200: {
        description: 'Success.',
        headers: headersOf(successHeaders(route)),
        content:
          typeof response === 'string'
            ? Object.fromEntries([response, ...route.otherTypes].map((type) => [type, { schema: {} }]))
            : this.#content(response, this.#responseExamples(route, response)),
      },
    };
    for (const { status, description, headers, schema, problem } of responsesOf(route)) {
      const content = this.#contentOf(route, status, schema, description, problem);
      responses[status] = {
        description,
        headers: headersOf(headers),
        ...(content === null ? {} : { content }),
      };
    }
    return responses;
  }

  #contentOf(
    { response }: Route,
    status: number,
    schema: TSchema | null,
    description: string,
    problem: TSchema | undefined,
  ): JsonObject | null {
    if (status === 206 && typeof response === 'string') return { [response]: { schema: {} } };
    if (schema === ErrorBody) return this.#errorContent();
    if (schema === null) return null;
    return {
      ...this.#content(schema, [[description, exampleOf(schema)]]),
      ...(problem === undefined
        ? {}
        : { 'application/problem+json': { schema: this.#components.json(problem) } }),
    };
  }

  #errorContent(): JsonObject {
    return {
      'application/json': { schema: this.#components.json(ErrorBody) },
      'application/problem+json': { schema: this.#components.json(Problem) },
    };
  }

  #body(route: Route): JsonObject {
    const { body, upload, examples } = route;
    if (upload !== null) {
      const content = Object.fromEntries(upload.map((type) => [type, { schema: {} }]));
      return { requestBody: { required: true, content } };
    }
    if (body === null) return {};
    const given = examples.flatMap(({ summary, body: value }) =>
      value === undefined ? [] : [[summary, value] as const],
    );
    const shown = given.length > 0 ? given : [[route.summary, exampleOf(body)] as const];
    return { requestBody: { required: !hasOptionalBody(route), content: this.#content(body, shown) } };
  }

  #parameter({ name, in: place, required, description, schema }: Parameter): JsonObject {
    const { description: _, ...shape }: JsonObject = { ...schema };
    const isList = shape.type === 'array';
    return {
      name,
      in: place,
      required,
      description,
      ...(isList ? { style: 'form', explode: false } : {}),
      schema: this.#components.json(shape),
    };
  }

  operation(route: Route): JsonObject {
    const samples = this.#samplesOf(route);
    return {
      operationId: route.id,
      tags: [route.tag],
      summary: route.summary,
      description: descriptionOf(route),
      ...securityOf(route),
      // Also on the path; some viewers read only one of the two.
      ...(route.mount === 'root' ? { servers: ROOT_SERVERS } : {}),
      parameters: parametersOf(route).map((parameter) => this.#parameter(parameter)),
      ...this.#body(route),
      responses: this.#responses(route),
      ...(samples.length === 0 ? {} : { 'x-codeSamples': samples }),
    };
  }
}

/**
 * Returns the whole document as a value that can be serialised to JSON.
 *
 * @param samplesOf - returns the `x-codeSamples` of an operation. Default: the document has none
 */
export function openApiDocument(
  version: string,
  all: readonly Route[],
  samplesOf: SamplesOf = () => [],
): JsonObject {
  const components = new Components();
  const writer = new OperationWriter(components, samplesOf);
  const operations = all.filter(({ isListed }) => isListed);
  const paths: { [path: string]: JsonObject } = {};
  for (const route of operations) {
    const item = paths[route.path] ?? (route.mount === 'root' ? { servers: ROOT_SERVERS } : {});
    paths[route.path] = { ...item, [route.method.toLowerCase()]: writer.operation(route) };
  }
  const used = new Set(operations.map(({ tag }) => tag));
  const tags = Object.entries(TAGS).flatMap(([name, description]) =>
    [...used].some((tag) => tag === name) ? [{ name, description }] : [],
  );
  return {
    openapi: '3.1.0',
    info: {
      title: 'Assay',
      version,
      description: `Wallet risk screening and entity intelligence. Bodies are JSON of at most ${HTTP_LIMITS.bodyBytesMax} bytes (of operations without a key or session, ${HTTP_LIMITS.openBodyBytesMax}), nested at most ${HTTP_LIMITS.jsonDepthMax} levels, with at most ${HTTP_LIMITS.jsonValuesMax} fields and elements.`,
    },
    servers: [{ url: API_BASE }],
    security: [{ apiKey: [] }, { session: [] }],
    tags,
    paths,
    components: {
      schemas: components.schemas(),
      headers: HEADERS,
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'Authorization: Bearer assay_live_…' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'assay_session',
          description: 'Of POST /auth/login. Over TLS its name is `__Host-assay_session`.',
        },
      },
    },
  };
}

/** The OpenAPI 3.1 document, generated from the table of routes and the schemas that validate requests. */
import type { TSchema } from 'typebox';
import { LIMITS } from '../base/limits.ts';
import { API_BASE, type Parameter, permissionsOf, ROUTES, type Route } from './routes.ts';
import * as auth from './schemas/auth.ts';
import * as common from './schemas/common.ts';
import * as jobs from './schemas/jobs.ts';
import * as keys from './schemas/keys.ts';
import * as kyt from './schemas/kyt.ts';
import * as labels from './schemas/labels.ts';
import * as registers from './schemas/registers.ts';
import * as screening from './schemas/screening.ts';
import * as service from './schemas/service.ts';
import * as trace from './schemas/trace.ts';
import * as usage from './schemas/usage.ts';

type JsonObject = { [name: string]: unknown };

/** Schemas listed in `components` under their own name. Each use of one becomes a reference. */
const COMPONENTS: Readonly<Record<string, TSchema>> = {
  ChainId: common.ChainIdSchema,
  Category: common.CategorySchema,
  Label: common.Label,
  Coverage: common.Coverage,
  Reason: common.Reason,
  SanctionsEntry: common.SanctionsEntry,
  SanctionsDetail: common.SanctionsDetail,
  EntityLabelSet: common.EntityLabelSet,
  SanctionsCheck: common.SanctionsCheck,
  OracleVerdict: common.OracleVerdict,
  BulkResult: labels.BulkResult,
  ScoreFactor: screening.ScoreFactor,
  ScreeningResult: screening.ScreeningResult,
  KytResult: kyt.KytResult,
  TraceNode: trace.TraceNode,
  TraceEdge: trace.TraceEdge,
  TraceResult: trace.TraceResult,
  ReadyData: service.ReadyData,
  ExchangeRegistration: registers.ExchangeRegistration,
  ExchangeStatusData: registers.ExchangeStatusData,
  UsageEntry: usage.UsageEntry,
  UsageRecord: usage.UsageRecord,
  AccountView: auth.AccountView,
  SessionData: auth.SessionData,
  KeyView: keys.KeyView,
  Job: jobs.Job,
  Error: common.ErrorBody,
  Problem: common.Problem,
};

const nameOf = new Map<unknown, string>(Object.entries(COMPONENTS).map(([name, schema]) => [schema, name]));

/** Converts a schema to plain JSON with references to the components. `whole` itself is written out. */
function plain(value: unknown, whole: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const name = nameOf.get(value);
  if (name !== undefined && value !== whole) return { $ref: `#/components/schemas/${name}` };
  if (Array.isArray(value)) return value.map((item) => plain(item, whole));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item, whole)]));
}

const schemaJson = (schema: TSchema): unknown => plain(schema, null);

const jsonContent = (schema: TSchema): JsonObject => ({ 'application/json': { schema: schemaJson(schema) } });

const ERROR_CONTENT: JsonObject = {
  'application/json': { schema: { $ref: '#/components/schemas/Error' } },
  'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
};

const REQUEST_ID = { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } };

const RATE_HEADERS = {
  'X-RateLimit-Limit': { $ref: '#/components/headers/X-RateLimit-Limit' },
  'X-RateLimit-Remaining': { $ref: '#/components/headers/X-RateLimit-Remaining' },
  'X-RateLimit-Reset': { $ref: '#/components/headers/X-RateLimit-Reset' },
};

const whole = (description: string): JsonObject => ({ description, schema: { type: 'integer' } });

const HEADERS: JsonObject = {
  'X-Request-Id': {
    description: 'Names the request; the client’s own X-Request-Id where it sent a sane one.',
    schema: { type: 'string' },
  },
  'X-RateLimit-Limit': whole('Requests allowed in any 60 seconds.'),
  'X-RateLimit-Remaining': whole('Requests left now.'),
  'X-RateLimit-Reset': whole('Epoch second at which more are allowed again.'),
  'X-Quota-Remaining': {
    description: 'Calls left this month, or `unlimited`.',
    schema: { type: 'string' },
  },
};

const IDEMPOTENCY_KEY: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: common.text(),
  about:
    'Printable ASCII, at most 255 characters. For 24 hours the same key and body is answered with the same answer, with `Idempotency-Replayed: true`, and charged once; another body is 400.',
};

const UNAUTHENTICATED_VISITOR = 'No session, a wrong password or signature, or a key that is not valid.';

/** Derives the errors of an operation from its row. */
function errorsOf(route: Route): readonly (readonly [status: number, about: string])[] {
  const { visitor } = route;
  const limited = route.rateClass !== null;
  const rows: readonly (readonly [boolean, number, string])[] = [
    [route.permission !== null || visitor !== null, 400, 'Invalid or missing parameters.'],
    [route.permission !== null, 401, 'Missing, invalid or revoked API key.'],
    [visitor !== null, 401, UNAUTHENTICATED_VISITOR],
    [route.quota !== null, 402, 'Monthly quota exhausted.'],
    [route.credits > 0, 402, 'Credits exhausted: says how many are left and when free ones come.'],
    [
      permissionsOf(route).length > 0,
      403,
      `The key lacks the permission ${permissionsOf(route).join(' or ')}.`,
    ],
    [
      visitor !== null,
      403,
      'Registration is closed, the page that asks is of another host, or the key lacks what it would grant.',
    ],
    [visitor !== null, 404, 'There is none of this id in the account, or the operation is not set up.'],
    [limited, 429, 'Rate limit exceeded, or too much work is waiting. `Retry-After` says when to come back.'],
    [true, 500, 'Internal server error.'],
  ];
  return rows.filter(([applies]) => applies).map(([, status, about]) => [status, about]);
}

function responsesOf(route: Route): JsonObject {
  const limited = route.rateClass !== null ? RATE_HEADERS : {};
  const own =
    route.handler === 'oracle'
      ? { 'X-Quota-Remaining': { $ref: '#/components/headers/X-Quota-Remaining' } }
      : {};
  const content =
    typeof route.answer === 'string' ? { [route.answer]: { schema: {} } } : jsonContent(route.answer);
  const responses: JsonObject = {
    200: { description: 'Success.', headers: { ...REQUEST_ID, ...limited, ...own }, content },
  };
  for (const [status, { about, schema }] of Object.entries(route.otherAnswers)) {
    responses[status] = {
      description: about,
      headers: { ...REQUEST_ID, ...limited },
      ...(schema === null ? {} : { content: jsonContent(schema) }),
    };
  }
  for (const [status, about] of errorsOf(route)) {
    const headers = status === 401 ? REQUEST_ID : { ...REQUEST_ID, ...limited };
    responses[status] = { description: about, headers, content: ERROR_CONTENT };
  }
  return responses;
}

/** The parameters of the row, and Idempotency-Key if the operation is charged. */
const parametersOf = (route: Route): readonly Parameter[] =>
  route.credits > 0 || route.takes !== undefined ? [...route.parameters, IDEMPOTENCY_KEY] : route.parameters;

function keyWords(route: Route): string {
  const { permission, visitor } = route;
  if (visitor === 'session') return 'Needs a session.';
  if (visitor === 'session or key') return 'Needs a session or an API key.';
  if (visitor === 'signature') return 'Signed with the secret of the webhook.';
  if (permission === null) return 'No key.';
  return permission === 'any' ? 'Any key.' : `Permission \`${permissionsOf(route).join('` or `')}\`.`;
}

/** Only the difference from the document's default security, which is an API key. */
function securityOf({ permission, visitor }: Route): JsonObject {
  if (visitor === 'session') return { security: [{ session: [] }] };
  if (visitor === 'session or key') return { security: [{ session: [] }, { apiKey: [] }] };
  return permission === null ? { security: [] } : {};
}

function bodyOf({ body, upload }: Route): JsonObject {
  if (upload !== undefined) {
    const content = Object.fromEntries(upload.map((type) => [type, { schema: {} }]));
    return { requestBody: { required: true, content } };
  }
  return body === null ? {} : { requestBody: { required: true, content: jsonContent(body) } };
}

function operationOf(route: Route): JsonObject {
  const costs = [
    keyWords(route),
    route.quota === null
      ? ''
      : `Counts against the monthly ${route.quota.meter} quota, one ${route.quota.per === 'address' ? 'an address' : 'a request'}.`,
    route.credits === 0 ? '' : `Costs ${route.credits} credit${route.credits === 1 ? '' : 's'}.`,
    'An error is never charged.',
  ];
  return {
    operationId: route.handler,
    summary: route.summary,
    description: [route.description, ...costs].filter((part) => part !== '').join(' '),
    ...securityOf(route),
    parameters: parametersOf(route).map((parameter) => ({
      name: parameter.name,
      in: parameter.in,
      required: parameter.required,
      description: parameter.about,
      schema: parameter.in === 'header' ? { type: 'string' } : schemaJson(parameter.schema),
    })),
    ...bodyOf(route),
    responses: responsesOf(route),
  };
}

/** Returns the whole document as a value that can be serialised to JSON. */
export function openApiDocument(version: string): JsonObject {
  const paths: { [path: string]: JsonObject } = {};
  for (const route of ROUTES) {
    const item = paths[route.path] ?? (route.stands === 'root' ? { servers: [{ url: '/' }] } : {});
    paths[route.path] = { ...item, [route.method.toLowerCase()]: operationOf(route) };
  }
  const schemas = Object.entries(COMPONENTS).map(([name, schema]) => [name, plain(schema, schema)]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Assay',
      version,
      description: `Wallet risk screening and entity intelligence. Bodies are JSON of at most ${LIMITS.bodyBytesMax} bytes, nested at most ${LIMITS.jsonDepthMax} levels.`,
    },
    servers: [{ url: API_BASE }],
    security: [{ apiKey: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(schemas),
      headers: HEADERS,
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'Authorization: Bearer assay_live_…' },
        session: { type: 'apiKey', in: 'cookie', name: 'assay_session', description: 'Of POST /auth/login.' },
      },
    },
  };
}

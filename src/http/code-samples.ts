/** Code that calls an operation: a curl command, and calls of the SDKs in TypeScript and Python, with the examples of the schemas. */
import { type Route, shownPath } from './routes.ts';
import { exampleOf } from './schema-example.ts';
import { SDK_NAMES, snakeCase } from './sdk-names.ts';

/** The server of all samples. /docs/api replaces it by its own host. */
export const SAMPLE_HOST = 'http://127.0.0.1:8080';

/** A sample as the extension `x-codeSamples` of OpenAPI has it. */
export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** An operation as a sample calls it. */
interface Call {
  /** Values of the path, in its order. An id is a placeholder in angle brackets, because each account has its own. */
  readonly path: readonly (readonly [name: string, value: string])[];
  /** Values of the query that the operation requires. */
  readonly query: readonly (readonly [name: string, value: string])[];
  /** Null if the operation has no JSON body. */
  readonly body: unknown;
}

function callOf(route: Route): Call {
  const valuesIn = (place: 'path' | 'query') =>
    route.parameters
      .filter((parameter) => parameter.in === place && parameter.required)
      .map(({ name, schema }) => [name, name === 'id' ? '<id>' : String(exampleOf(schema))] as const);
  return {
    path: valuesIn('path'),
    query: valuesIn('query'),
    body: route.body === null ? null : (route.examples[0]?.body ?? exampleOf(route.body)),
  };
}

/** Returns a value as it is written in a shell between single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Percent-encodes a value, unless it is a placeholder, which the reader replaces. */
const encoded = (text: string): string => (text.startsWith('<') ? text : encodeURIComponent(text));

/**
 * Returns a curl command that the operation accepts once its placeholders in angle brackets are replaced.
 *
 * @returns null for an operation that no client calls, because its body is signed by another service
 */
export function curlOf(route: Route): string | null {
  if (route.principal === 'signature') return null;
  const { path, query, body } = callOf(route);
  const values = new Map(path);
  const place = shownPath(route).replace(/\{(\w+)\}/g, (_whole, name: string) =>
    encoded(values.get(name) ?? ''),
  );
  const asked = query.map(([name, value]) => `${name}=${encoded(value)}`).join('&');
  const isImplied =
    route.method === 'GET' || (route.method === 'POST' && (body !== null || route.upload !== null));
  const parts = [
    // A stream is shown as it arrives.
    route.response === 'text/event-stream' ? 'curl -sN' : 'curl -s',
    ...(isImplied ? [] : [`-X ${route.method}`]),
    quoted(`${SAMPLE_HOST}${place}${asked === '' ? '' : `?${asked}`}`),
    ...(route.permission !== null || route.principal === 'session or key'
      ? ["-H 'Authorization: Bearer <API key>'"]
      : []),
    ...(route.principal === 'session'
      ? ["-H 'Cookie: assay_session=<session>'", `-H 'Origin: ${SAMPLE_HOST}'`]
      : []),
    // Without this header, curl sends the type of a form, which is refused.
    ...(body === null ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`]),
    ...(route.upload === null
      ? []
      : [`-H 'Content-Type: ${route.upload.at(-1)}'`, '--data-binary @addresses.csv']),
  ];
  return parts.join(' ');
}

/** Whether a field can be written without quotes in both languages. */
const isName = (text: string): boolean => /^[A-Za-z_]\w*$/.test(text);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Writes values as the literals of one language. */
interface Literals {
  readonly text: (text: string) => string;
  readonly field: (name: string) => string;
  readonly words: Readonly<Record<'null' | 'true' | 'false', string>>;
}

function literal(value: unknown, language: Literals): string {
  if (typeof value === 'string') return language.text(value);
  if (value === null || typeof value === 'boolean') return language.words[`${value}`];
  if (Array.isArray(value)) return `[${value.map((item) => literal(item, language)).join(', ')}]`;
  if (!isObject(value)) return String(value);
  const fields = Object.entries(value).map(
    ([name, item]) => `${language.field(name)}: ${literal(item, language)}`,
  );
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

const TYPESCRIPT: Literals = {
  text: (text) => `'${text.replace(/['\\]/g, '\\$&')}'`,
  field: (name) => (isName(name) ? name : `'${name}'`),
  words: { null: 'null', true: 'true', false: 'false' },
};

const PYTHON: Literals = {
  text: (text) => JSON.stringify(text).replace(/[\u007f-\uffff]/g, (sign) => sign),
  field: (name) => JSON.stringify(name),
  words: { null: 'None', true: 'True', false: 'False' },
};

/** Breaks a call whose only argument is a long object or whose keywords are many into one line each. */
const LINE_CHARS_MAX = 80;

/** Writes arguments between parentheses, on one line if they fit. */
function inParentheses(before: string, args: readonly string[]): string {
  const line = `${before}(${args.join(', ')})`;
  return line.length <= LINE_CHARS_MAX ? line : `${before}(\n${args.map((arg) => `  ${arg},\n`).join('')})`;
}

/** Text of a file that is uploaded. */
const UPLOADED = 'addresses.csv';

/** How the SDKs return the data of an operation: once, page by page, or as a stream. */
function shapeOf({ parameters, response }: Route): 'once' | 'rows' {
  const isList = parameters.some(({ name, in: place }) => place === 'query' && name === 'cursor');
  return isList || response === 'text/event-stream' || response === 'application/x-ndjson' ? 'rows' : 'once';
}

function typescriptOf(route: Route, name: string): string {
  const { path, query, body } = callOf(route);
  const values = isObject(body) ? { ...Object.fromEntries(query), ...body } : Object.fromEntries(query);
  const args = [
    ...(route.upload === null ? [] : ['file']),
    ...path.map(([, value]) => TYPESCRIPT.text(value)),
    ...(Object.keys(values).length === 0 ? [] : [literal(values, TYPESCRIPT)]),
  ];
  const call = inParentheses(`assay.${name}`, args);
  const lines = ["import { Assay } from '@assay/sdk';"];
  if (route.upload !== null) lines.push("import { openAsBlob } from 'node:fs';");
  lines.push('', `const assay = new Assay({ apiKey: '<API key>', baseUrl: '${SAMPLE_HOST}' });`);
  if (route.upload !== null) lines.push(`const file = await openAsBlob('${UPLOADED}');`);
  lines.push(
    shapeOf(route) === 'rows'
      ? `for await (const row of ${call}) console.log(row);`
      : `console.log(await ${call});`,
  );
  return lines.join('\n');
}

function pythonOf(route: Route, name: string): string {
  const { path, query, body } = callOf(route);
  const values = isObject(body) ? { ...Object.fromEntries(query), ...body } : Object.fromEntries(query);
  const args = [
    ...(route.upload === null ? [] : [`open("${UPLOADED}", "rb")`]),
    ...path.map(([, value]) => PYTHON.text(value)),
    ...Object.entries(values).map(([field, value]) => `${snakeCase(field)}=${literal(value, PYTHON)}`),
  ];
  const call = inParentheses(`assay.${snakeCase(name)}`, args);
  return [
    'from assay import Assay',
    '',
    `assay = Assay(api_key="<API key>", base_url="${SAMPLE_HOST}")`,
    shapeOf(route) === 'rows' ? `for row in ${call}:\n    print(row)` : `print(${call})`,
  ].join('\n');
}

/** Returns the samples of an operation: curl if a client can call it, and each SDK that has it. */
export function codeSamplesOf(route: Route): readonly CodeSample[] {
  const curl = curlOf(route);
  const name = SDK_NAMES[route.id];
  return [
    ...(curl === null ? [] : [{ lang: 'shell', label: 'curl', source: curl }]),
    ...(name === undefined
      ? []
      : [
          { lang: 'typescript', label: 'TypeScript', source: typescriptOf(route, name) },
          { lang: 'python', label: 'Python', source: pythonOf(route, name) },
        ]),
  ];
}

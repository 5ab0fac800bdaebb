/** Code that calls an operation: a curl command, and calls of the SDKs in TypeScript and Python, with the examples of the schemas. */
import { type Route, shownPath } from './routes.ts';
import { exampleOf } from './schema-example.ts';
import { pythonMethod, pythonName } from './sdk-names.ts';

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

/** Only the caller knows an id. `a` and `b` are the ids of two records that are compared. */
const isId = (name: string): boolean => name.endsWith('Id') || ['id', 'a', 'b'].includes(name);

function callOf(route: Route): Call {
  const valuesIn = (place: 'path' | 'query') =>
    route.parameters
      .filter((parameter) => parameter.in === place && parameter.required)
      .map(({ name, schema }) => [name, isId(name) ? `<${name}>` : String(exampleOf(schema))] as const);
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
 * @param separator - between its options
 * @returns null for an operation that no client calls, because its body is signed by another service
 */
export function curlOf(route: Route, separator = ' '): string | null {
  if (route.principal === 'signature') return null;
  const { path, query, body } = callOf(route);
  const values = new Map(path);
  const place = shownPath(route).replace(/\{(\w+)\}/g, (_whole, name: string) =>
    encoded(values.get(name) ?? ''),
  );
  const asked = query.map(([name, value]) => `${name}=${encoded(value)}`).join('&');
  const isImplied =
    route.method === 'GET' || (route.method === 'POST' && (body !== null || route.upload !== null));
  // A stream is shown while it arrives.
  const program = route.response === 'text/event-stream' ? 'curl -sN' : 'curl -s';
  const start = `${program} ${isImplied ? '' : `-X ${route.method} `}${quoted(`${SAMPLE_HOST}${place}${asked === '' ? '' : `?${asked}`}`)}`;
  const options = [
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
      : [
          `-H 'Content-Type: ${route.upload.includes('text/csv') ? 'text/csv' : route.upload.at(-1)}'`,
          '--data-binary @addresses.csv',
        ]),
  ];
  return [start, ...options].join(separator);
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
  text: (text) => JSON.stringify(text),
  field: (name) => JSON.stringify(name),
  words: { null: 'None', true: 'True', false: 'False' },
};

/** Columns of the narrow panel that shows samples. */
const LINE_CHARS_MAX = 60;
/** File of a bulk job. */
const UPLOADED = 'addresses.csv';
const PYTHON_INDENT = '    ';

/** How the SDKs return the response of an operation. */
function resultOf({ parameters, response }: Route): 'data' | 'rows' | 'lines' {
  if (response === 'application/x-ndjson') return 'lines';
  const isList = parameters.some(({ name, in: place }) => place === 'query' && name === 'cursor');
  return isList || response === 'text/event-stream' ? 'rows' : 'data';
}

/** Ids are arguments of their own; all other values are named: those of the path, the required ones of the query, and the body. */
function argumentsOf(route: Route): {
  readonly ids: readonly string[];
  readonly named: Readonly<Record<string, unknown>>;
} {
  const { path, query, body } = callOf(route);
  const others = path.filter(([name]) => !isId(name));
  const named = {
    ...Object.fromEntries([...others, ...query]),
    ...(!route.parameters.some(({ name }) => name === 'format') ? {} : { format: 'csv' }),
    ...(isObject(body) ? body : {}),
  };
  return { ids: path.filter(([name]) => isId(name)).map(([, id]) => id), named };
}

/** Writes a list between brackets, on one line if it fits behind the text before it. */
function listed(
  before: string,
  open: string,
  items: readonly string[],
  close: string,
  indent = '  ',
): string {
  const gap = open.endsWith('{') && items.length > 0 ? ' ' : '';
  const line = `${open}${gap}${items.join(', ')}${gap}${close}`;
  if (before.length + line.length <= LINE_CHARS_MAX || items.length === 0) return before + line;
  return `${before}${open}\n${items.map((item) => `${indent}${item},\n`).join('')}${close}`;
}

function typescriptOf(route: Route, name: string): string {
  const { ids, named } = argumentsOf(route);
  const first = [...ids.map(TYPESCRIPT.text), ...(route.upload === null ? [] : ['file'])];
  const fields = Object.entries(named).map(
    ([field, value]) => `${TYPESCRIPT.field(field)}: ${literal(value, TYPESCRIPT)}`,
  );
  const before = `assay.${name}(${first.map((value) => `${value}, `).join('')}`;
  const call = fields.length === 0 ? `assay.${name}(${first.join(', ')})` : listed(before, '{', fields, '})');
  const option = route.principal === 'session' ? "session: '<session>'" : "apiKey: '<API key>'";
  const uses = {
    data: `const result = await ${call};`,
    rows: `for await (const row of ${call}) {\n  console.log(row);\n}`,
    lines: `const result = await ${call};\nconst lines = await result.text();`,
  };
  return [
    ...(route.upload === null ? [] : ["import { readFile } from 'node:fs/promises';"]),
    "import { Assay } from 'assay-sdk';",
    '',
    listed('const assay = new Assay(', '{', [option, `baseUrl: '${SAMPLE_HOST}'`], '});'),
    ...(route.upload === null ? [] : [`const file = await readFile('${UPLOADED}');`]),
    uses[resultOf(route)],
  ].join('\n');
}

function pythonOf(route: Route, name: string): string {
  const { ids, named } = argumentsOf(route);
  const args = [
    ...ids.map(PYTHON.text),
    ...(route.upload === null ? [] : ['file']),
    ...Object.entries(named).map(([field, value]) => `${pythonName(field)}=${literal(value, PYTHON)}`),
  ];
  const option = route.principal === 'session' ? 'session="<session>"' : 'api_key="<API key>"';
  const call = (before: string): string =>
    listed(`${before}assay.${pythonMethod(name)}`, '(', args, ')', PYTHON_INDENT);
  const use =
    resultOf(route) === 'data' ? call('result = ') : `${call('for row in ')}:\n${PYTHON_INDENT}print(row)`;
  return [
    ...(route.upload === null ? [] : ['from pathlib import Path']),
    'from assay import Assay',
    '',
    listed('assay = Assay', '(', [option, `base_url="${SAMPLE_HOST}"`], ')', PYTHON_INDENT),
    ...(route.upload === null ? [] : [`file = Path("${UPLOADED}").read_bytes()`]),
    use,
  ].join('\n');
}

/** Returns the samples of an operation: curl if a client can call it, and each SDK that has it. */
export function codeSamplesOf(route: Route): readonly CodeSample[] {
  const curl = curlOf(route, ' \\\n  ');
  const name = route.sdk;
  return [
    ...(curl === null ? [] : [{ lang: 'shell', label: 'curl', source: curl }]),
    ...(name === null
      ? []
      : [
          { lang: 'typescript', label: 'TypeScript', source: typescriptOf(route, name) },
          { lang: 'python', label: 'Python', source: pythonOf(route, name) },
        ]),
  ];
}

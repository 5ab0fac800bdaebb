/**
 * JSON bodies. Request bodies are untrusted: depth, syntax and schema are checked in this order, and each error names the field.
 */
import { isUtf8 } from 'node:buffer';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { AssayError } from '../../base/errors.ts';
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../../base/json-bytes.ts';
import { HTTP_LIMITS } from '../limits.ts';

/** Result of one pass over the bytes of a body, before it is parsed. */
export interface BodyOutline {
  /** Names of the fields of the outermost object. */
  readonly fields: readonly string[];
  /** Number of elements of all arrays that are fields of the outermost object. */
  readonly elements: number;
  /** Whether an object is inside the outermost one. */
  readonly hasInnerObject: boolean;
}

const SPACE = 0x20;

const invalidJson = (reason: string): AssayError => new AssayError('INVALID_JSON', reason, { field: 'body' });

/** Offset of the quote that ends the string which begins after `from`; the end of the bytes if no quote follows. */
function endOfString(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** Resolves the escapes of a field name. Invalid escapes are kept; the parser reports them. */
function fieldName(raw: string): string {
  if (!raw.includes('\\')) return raw;
  try {
    return String(JSON.parse(`"${raw}"`));
  } catch {
    return raw;
  }
}

/**
 * Scans a body once: checks that it is UTF-8, nests at most `jsonDepthMax` levels and has few enough fields and elements, and collects its
 * outline. The syntax is not checked; if the JSON is invalid, the outline is meaningless and the parser reports the error.
 *
 * @throws INVALID_JSON
 */
export function outlineBody(bytes: Uint8Array, valuesMax: number = HTTP_LIMITS.jsonValuesMax): BodyOutline {
  if (bytes.length === 0) throw invalidJson('The request body is empty; it must be a JSON object.');
  if (!isUtf8(bytes)) throw invalidJson('The request body is not valid UTF-8.');
  const fields: string[] = [];
  let elements = 0;
  let hasInnerObject = false;
  let depth = 0;
  /** Fields and elements so far; an empty array or object counts as if it had one. */
  let values = 0;
  const countValue = (): void => {
    if (++values > valuesMax)
      throw invalidJson(`The request body has more than ${valuesMax} fields and elements.`);
  };
  /** The array at depth 2 has begun, and no element was seen yet. */
  let arrayBegins = false;
  let inTopArray = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte <= SPACE) continue;
    if (arrayBegins) {
      arrayBegins = false;
      if (byte !== CLOSE_ARRAY) elements++;
    }
    if (byte === QUOTE) {
      const end = endOfString(bytes, at + 1);
      if (depth === 1 && fields.length <= HTTP_LIMITS.bodyFieldsMax) {
        let next = end + 1;
        while (next < bytes.length && (bytes[next] as number) <= SPACE) next++;
        if (bytes[next] === COLON)
          fields.push(
            fieldName(Buffer.from(bytes.buffer, bytes.byteOffset + at + 1, end - at - 1).toString()),
          );
      }
      at = end;
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      countValue();
      depth++;
      if (depth > HTTP_LIMITS.jsonDepthMax)
        throw invalidJson(`The request body is nested more than ${HTTP_LIMITS.jsonDepthMax} levels deep.`);
      if (byte === OPEN_OBJECT && depth > 1) hasInnerObject = true;
      if (depth === 2) {
        inTopArray = byte === OPEN_ARRAY;
        arrayBegins = inTopArray;
      }
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      depth--;
    } else if (byte === COMMA) {
      countValue();
      if (depth === 2 && inTopArray) elements++;
    }
  }
  return { fields, elements, hasInnerObject };
}

/**
 * Parses the body.
 *
 * @throws INVALID_JSON with the position if the parser reports one, never with the client's own text
 */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch (cause) {
    const position = /at position (\d+)/.exec(cause instanceof Error ? cause.message : '')?.[1];
    const where = position === undefined ? '' : ` (at character ${position})`;
    throw invalidJson(`The request body is not valid JSON${where}.`);
  }
}

interface SchemaFault {
  readonly keyword: string;
  /** Place in the schema, a JSON pointer that begins with `#`. */
  readonly schemaPath: string;
  readonly instancePath: string;
  readonly params: unknown;
}

type Params = Readonly<Record<string, unknown>>;

const articleOf = (type: string): string => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`);

/** A description is a phrase, or sentences that end with a full stop. Sentences say what a text is, and not always its form: an example does. */
function formatSentence({ description, examples }: Params): string {
  if (typeof description !== 'string') return 'must be in the documented format';
  if (!description.endsWith('.')) return `must be ${description}`;
  const example =
    Array.isArray(examples) && typeof examples[0] === 'string' ? `, such as ${examples[0]}` : '';
  return `must be in the documented format: ${description.slice(0, -1)}${example}`;
}

/** Sentences for the schema keywords, appended to the name of the field. */
const SENTENCES: Readonly<Record<string, (params: Params, schema: Params) => string>> = {
  type: (params) => `must be ${articleOf(String(params.type))}`,
  minLength: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`),
  maxLength: (params) => `must have at most ${params.limit} characters`,
  minimum: (params) => `must be at least ${params.limit}`,
  maximum: (params) => `must be at most ${params.limit}`,
  minItems: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} items`),
  maxItems: (params) => `must have at most ${params.limit} items`,
  enum: (params) => `must be one of ${[params.allowedValues].flat().join(', ')}`,
  minProperties: (_params, { properties }) =>
    `must have at least one of the fields ${Object.keys(properties ?? {}).join(', ')}`,
  pattern: (_params, schema) => formatSentence(schema),
};

/** `/items/0/name` as `items[0].name`. */
const fieldOf = (path: string): string =>
  path
    .slice(1)
    .replace(/\/(\d+)(?=\/|$)/g, '[$1]')
    .replaceAll('/', '.');

/** Returns the schema at a JSON pointer. If a choice of `anyOf` has no description, it has that of the whole. */
function schemaAt(root: object, pointer: string): Params {
  let schema: Params = { ...root };
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    const { description } = schema;
    schema = { ...(Object(schema[name]) as Params) };
    if (part === 'anyOf' || /^\d+$/.test(part)) schema = { description, ...schema };
  }
  return schema;
}

function faultToError(fault: SchemaFault, root: object): AssayError {
  const params = fault.params as Params;
  if (fault.keyword === 'required') {
    const missing = [params.requiredProperties].flat().map(String);
    const prefix = fieldOf(fault.instancePath);
    const names = missing.map((name) => (prefix === '' ? name : `${prefix}.${name}`));
    const verb = names.length === 1 ? 'is' : 'are';
    return new AssayError('INVALID_REQUEST', `${names.join(', ')} ${verb} required.`, {
      field: names[0] ?? 'body',
    });
  }
  const field = fieldOf(fault.instancePath);
  const words =
    SENTENCES[fault.keyword]?.(params, schemaAt(root, fault.schemaPath)) ??
    'does not have the documented format';
  const subject = field === '' ? 'The request body' : `${field}:`;
  return new AssayError('INVALID_REQUEST', `${subject} ${words}.`, { field: field || 'body' });
}

/**
 * Validates a parsed value and returns it with the type of its schema, without the fields that the schema does not have.
 *
 * @param ignored - receives the removed fields, as in the response
 * @throws INVALID_REQUEST for the first error
 */
export type ReadBody<Body> = (value: unknown, ignored?: string[]) => Body;

interface ObjectShape {
  readonly properties?: Readonly<Record<string, ObjectShape>>;
  readonly items?: ObjectShape;
  readonly anyOf?: readonly ObjectShape[];
}

/** The known fields of a schema, at every depth. */
interface KnownFields {
  /** Null if the schema names no field, so that all are allowed. */
  readonly fields: ReadonlyMap<string, KnownFields> | null;
  readonly items: KnownFields | null;
}

const NO_FIELDS: KnownFields['fields'] & object = new Map();

/** Returns the known fields of a schema. Those of a choice (`anyOf`) are the fields of all its schemas. */
export function knownFields({ properties, items, anyOf = [] }: ObjectShape): KnownFields {
  const choices = anyOf.map(knownFields);
  const own = Object.entries(properties ?? {}).map(([name, schema]) => [name, knownFields(schema)] as const);
  const all = [...choices.flatMap(({ fields }) => [...(fields ?? [])]), ...own];
  return {
    fields: all.length === 0 ? null : new Map(all),
    items:
      items === undefined ? (choices.find((one) => one.items !== null)?.items ?? null) : knownFields(items),
  };
}

/** A field name as shown in `ignored`: long enough to recognise a misspelling. */
const SHOWN_FIELD_CHARS = 64;

/**
 * Removes the fields that the schema does not have, so that a client cannot pass more than its schema says to a use case.
 *
 * @param path - place of the value, such as `names[0].`; empty for the body
 * @param ignored - receives the removed fields
 */
function removeUnknown(
  value: unknown,
  { fields, items }: KnownFields,
  path: string,
  ignored: string[],
): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (items === null || (items.fields === null && items.items === null)) return;
    const place = path.slice(0, -1);
    for (const [at, item] of value.entries()) removeUnknown(item, items, `${place}[${at}].`, ignored);
  } else if (fields !== null) {
    for (const [field, inner] of Object.entries(value)) {
      const known = fields.get(field);
      if (known === undefined) {
        Reflect.deleteProperty(value, field);
        if (ignored.length < HTTP_LIMITS.bodyFieldsMax)
          ignored.push(`${path}${field}`.slice(0, SHOWN_FIELD_CHARS));
      } else if (known.fields !== null || known.items !== null) {
        removeUnknown(inner, known, `${path}${field}.`, ignored);
      }
    }
  }
}

interface BoundedShape {
  readonly properties?: Readonly<Record<string, BoundedShape>>;
  readonly items?: BoundedShape;
  readonly anyOf?: readonly BoundedShape[];
  readonly maxItems?: number;
}

/**
 * Returns the error of the first array that is longer than its schema allows; null if there is none. The validator would report all elements
 * of such an array, which takes a microsecond for each.
 */
function longArrayFault(value: unknown, schema: BoundedShape, path: string): AssayError | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const choice of schema.anyOf ?? []) {
    const fault = longArrayFault(value, choice, path);
    if (fault !== null) return fault;
  }
  if (Array.isArray(value)) {
    const { items, maxItems: limit = Number.POSITIVE_INFINITY } = schema;
    if (value.length > limit)
      return faultToError(
        { keyword: 'maxItems', schemaPath: '#', instancePath: path, params: { limit } },
        schema,
      );
    if (items === undefined) return null;
    for (const [at, item] of value.entries()) {
      const fault = longArrayFault(item, items, `${path}/${at}`);
      if (fault !== null) return fault;
    }
    return null;
  }
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const fault = longArrayFault((value as Params)[name], inner, `${path}/${name}`);
    if (fault !== null) return fault;
  }
  return null;
}

/**
 * Compiles the schema of an object into a function that validates values. Fields that are not in the schema are allowed, and are
 * removed from the value. The schema is compiled at the first value: all of them take 5 % of a start, and each of them a millisecond.
 */
export function compileBody<Schema extends TSchema>(schema: Schema): ReadBody<Static<Schema>> {
  let compiled: ReturnType<typeof Compile<Schema>> | null = null;
  const known = knownFields(schema);
  return (value, ignored = []) => {
    compiled ??= Compile(schema);
    const validator = compiled;
    if (validator.Check(value)) {
      removeUnknown(value, known, '', ignored);
      return value;
    }
    const longArray = longArrayFault(value, schema, '');
    if (longArray !== null) throw longArray;
    const [fault] = validator.Errors(value) as readonly SchemaFault[];
    if (!fault)
      throw new AssayError('INVALID_REQUEST', 'The request body does not have the documented format.');
    throw faultToError(fault, schema);
  };
}

/**
 * Returns the fields of a body that is parsed elsewhere which are not in its schema, as paths: at most `bodyFieldsMax`. Only a body with
 * inner objects is parsed for it.
 *
 * @throws INVALID_JSON
 */
export function unknownInBytes(
  bytes: Uint8Array,
  { fields, hasInnerObject }: BodyOutline,
  known: KnownFields,
): readonly string[] {
  if (!hasInnerObject) return unknownFields(fields, known.fields ?? NO_FIELDS);
  const ignored: string[] = [];
  removeUnknown(parseJson(bytes), known, '', ignored);
  return ignored;
}

/** Turns the errors of a validated set of parameters into the error of the first one. */
export function parameterFault(faults: readonly unknown[], properties: object): AssayError {
  const [fault] = faults as readonly SchemaFault[];
  if (!fault) return new AssayError('INVALID_REQUEST', 'A parameter is not of the documented form.');
  return faultToError(fault, { properties });
}

/** Returns the fields of a body that are not in its schema: at most `bodyFieldsMax`, each cut to 64 characters. */
export function unknownFields(
  fields: readonly string[],
  known: Pick<ReadonlySet<string>, 'has'>,
): readonly string[] {
  const unknown = fields.filter((field) => !known.has(field));
  return [...new Set(unknown)]
    .slice(0, HTTP_LIMITS.bodyFieldsMax)
    .map((field) => field.slice(0, SHOWN_FIELD_CHARS));
}

/** Returns the JSON text of a value as UTF-8 bytes, for the `data` of a response. */
export const jsonBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

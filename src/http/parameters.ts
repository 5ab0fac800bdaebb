/** Path, query and header parameters: read, converted and validated from their schemas. */
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { AssayError } from '../base/errors.ts';
import { parameterFault } from './pipeline/json-body.ts';
import { decodeParameter, queryList, queryValue } from './pipeline/query.ts';
import type { Exchange } from './server/port.ts';

/** The keywords of a parameter's schema that decide how its text is converted. */
export interface ParameterShape {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly items?: unknown;
  readonly description?: string;
}

/** Reads the parameters of one place of a request. */
export type ParameterReader<Properties extends TProperties> = (
  exchange: Exchange,
) => Static<TObject<Properties>>;

interface Column {
  readonly name: string;
  /** Name of a header in lower case, as servers report it. */
  readonly key: string;
  /** Index of a path segment among the parameters of the pattern. */
  readonly position: number;
  readonly shape: ParameterShape;
  readonly isRequired: boolean;
  readonly isText: boolean;
  /** Lengths, in UTF-16 units, between which a text is certainly valid; outside them the validator decides. */
  readonly surelyFrom: number;
  readonly surelyTo: number;
}

/** Keywords of texts that a length alone does not decide. */
const UNSURE = ['pattern', 'enum', 'format', 'anyOf', 'const'] as const;

function columnOf(name: string, schema: TSchema, position: number): Column {
  const shape = shapeOf(schema);
  const { type, minLength = 0, maxLength = Number.POSITIVE_INFINITY } = shape;
  const isText = type === 'string';
  // A character is one or more units, so `maxLength` units are never too many characters.
  const isSure = isText && minLength <= 1 && UNSURE.every((keyword) => !Object.hasOwn(schema, keyword));
  return {
    name,
    key: name.toLowerCase(),
    position,
    shape,
    isRequired: isRequired(schema),
    isText,
    surelyFrom: isSure ? minLength : Number.POSITIVE_INFINITY,
    surelyTo: maxLength,
  };
}

/** A parameter is required if it is neither optional nor has a default. */
export const isRequired = (schema: TSchema): boolean =>
  !Type.IsOptional(schema) && shapeOf(schema).default === undefined;

/** Returns the keywords of a schema. */
export const shapeOf = (schema: TSchema): ParameterShape => schema;

const refuse = (name: string, sentence: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${name}: ${sentence}`, { field: name });

const WHOLE = /^\d{1,15}$/;

/**
 * Converts the text of a parameter to the type of its schema.
 *
 * @throws INVALID_REQUEST
 */
function converted(text: string, { name, shape }: Column): string | number | boolean {
  if (shape.type === 'integer') {
    const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = shape;
    const value = Number(text);
    if (WHOLE.test(text) && value >= minimum && value <= maximum) return value;
    throw refuse(name, `must be a whole number from ${minimum} to ${maximum}.`);
  }
  if (shape.type === 'boolean') {
    if (text === 'true') return true;
    if (text === 'false') return false;
    throw refuse(name, 'must be one of true, false.');
  }
  return text;
}

/**
 * Creates a reader that finds each value by `textOf`.
 *
 * @param names - the parameters of a path in the order of its segments
 * @param textOf - returns the decoded text of a parameter, its parts if it is a list, or undefined if it is absent
 */
function createReader<Properties extends TProperties>(
  properties: Properties,
  textOf: (exchange: Exchange, column: Column) => string | readonly string[] | undefined,
  names: readonly string[] = [],
): ParameterReader<Properties> {
  const columns = Object.entries(properties).map(([name, schema]) =>
    columnOf(name, schema, names.indexOf(name)),
  );
  const schema = Type.Object(properties);
  // Compiled by the first request that needs it: most commands start no server.
  const compile = () => Compile(schema);
  let validator: ReturnType<typeof compile> | null = null;
  /** @param isSure - the conversion of the values has already proved that they are valid */
  function isValid(values: unknown, isSure: boolean): values is Static<TObject<Properties>> {
    if (isSure) return true;
    validator ??= compile();
    return validator.Check(values);
  }
  const fault = (values: unknown): AssayError => parameterFault(compile().Errors(values), properties);
  if (columns.length === 0) {
    const none = {};
    if (!isValid(none, true)) throw fault(none);
    return () => none;
  }
  return (exchange) => {
    const values: Record<string, unknown> = {};
    let isSure = true;
    for (const column of columns) {
      const { name } = column;
      const value = textOf(exchange, column);
      if (column.isRequired && (value === undefined || value === ''))
        throw new AssayError('INVALID_REQUEST', `${name} is required.`, { field: name });
      if (value === undefined) {
        if (column.shape.default !== undefined) values[name] = column.shape.default;
      } else if (typeof value !== 'string') {
        isSure = false;
        values[name] = value;
      } else if (column.isText) {
        if (value.length < column.surelyFrom || value.length > column.surelyTo) isSure = false;
        values[name] = value;
      } else {
        // The validator checks words of enumerations; numbers and flags are checked by their conversion.
        const result = converted(value, column);
        if (typeof result === 'string') isSure = false;
        values[name] = result;
      }
    }
    if (isValid(values, isSure)) return values;
    throw lengthFault(values, columns) ?? fault(values);
  };
}

/** Returns the error of a text that is too long, with both bounds. */
function lengthFault(
  values: Readonly<Record<string, unknown>>,
  columns: readonly Column[],
): AssayError | null {
  for (const { name, shape } of columns) {
    const { minLength, maxLength } = shape;
    const value = values[name];
    if (typeof value === 'string' && minLength !== undefined && maxLength !== undefined)
      if (value.length > maxLength) return refuse(name, `must have ${minLength} to ${maxLength} characters.`);
  }
  return null;
}

/**
 * Creates the reader of the `{name}` segments of a path.
 *
 * @throws if the pattern and the schemas do not name the same parameters
 */
export function pathReader<Properties extends TProperties>(
  pattern: string,
  properties: Properties,
): ParameterReader<Properties> {
  const names = [...pattern.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (names.toSorted().join() !== Object.keys(properties).toSorted().join())
    throw new Error(`${pattern}: the path parameters and their schemas differ.`);
  return createReader(
    properties,
    ({ params }, { name, position }) => decodeParameter(params[position] ?? '', name),
    names,
  );
}

/** Creates the reader of the query. A parameter of an array type is a list with commas. */
export const queryReader = <Properties extends TProperties>(
  properties: Properties,
): ParameterReader<Properties> =>
  createReader(properties, (exchange, { name, shape }) =>
    shape.type === 'array' ? queryList(exchange.query(), name) : queryValue(exchange.query(), name),
  );

/** Creates the reader of the headers. An empty header counts as absent. */
export const headerReader = <Properties extends TProperties>(
  properties: Properties,
): ParameterReader<Properties> =>
  createReader(properties, (exchange, { key }) => exchange.header(key) || undefined);

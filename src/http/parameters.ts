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
  readonly shape: ParameterShape;
  readonly isRequired: boolean;
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
  const { minLength, maxLength } = shape;
  if (minLength !== undefined && maxLength !== undefined && text.length > maxLength)
    throw refuse(name, `must have ${minLength} to ${maxLength} characters.`);
  return text;
}

/**
 * Creates a reader that finds each value by `textOf`.
 *
 * @param textOf - returns the decoded text of a parameter, its parts if it is a list, or undefined if it is absent
 */
function createReader<Properties extends TProperties>(
  properties: Properties,
  textOf: (exchange: Exchange, column: Column) => string | readonly string[] | undefined,
): ParameterReader<Properties> {
  const columns = Object.entries(properties).map(
    ([name, schema]): Column => ({ name, shape: shapeOf(schema), isRequired: isRequired(schema) }),
  );
  const schema = Type.Object(properties);
  // Compiled by the first request: most commands start no server, and most operations are not used in every process.
  const compile = () => Compile(schema);
  let validator: ReturnType<typeof compile> | null = null;
  const valid = (values: unknown): Static<TObject<Properties>> => {
    validator ??= compile();
    if (validator.Check(values)) return values;
    throw parameterFault(validator.Errors(values), properties);
  };
  if (columns.length === 0) {
    let none: Static<TObject<Properties>> | null = null;
    return () => {
      none ??= valid({});
      return none;
    };
  }
  return (exchange) => {
    const values: Record<string, unknown> = {};
    for (const column of columns) {
      const { name, shape } = column;
      const value = textOf(exchange, column);
      if (column.isRequired && (value === undefined || value === ''))
        throw new AssayError('INVALID_REQUEST', `${name} is required.`, { field: name });
      if (value === undefined) {
        if (shape.default !== undefined) values[name] = shape.default;
      } else values[name] = typeof value === 'string' ? converted(value, column) : value;
    }
    return valid(values);
  };
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
  const positions = new Map(names.map((name, position) => [name, position]));
  return createReader(properties, ({ params }, { name }) =>
    decodeParameter(params[positions.get(name) ?? 0] ?? '', name),
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
  createReader(properties, (exchange, { name }) => exchange.header(name.toLowerCase()) || undefined);

/** JSON Schemas of tools, from the schemas of the operations that they call. */
import { type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { MCP_LIMITS } from './limits.ts';
import type { ToolOperation } from './operations.ts';

interface Shape {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly TSchema[];
  readonly properties?: TProperties;
  readonly description?: string;
}

const shapeOf = (schema: TSchema): Shape => schema;

/** Returns the properties of an object schema; none if it is another schema. */
export const propertiesOf = (schema: TSchema | null): TProperties =>
  schema === null ? {} : (shapeOf(schema).properties ?? {});

/**
 * Returns schemas of fields of the body, or of parameters, of an operation.
 *
 * @throws if the operation does not have one of them
 */
export function inputFields({ id, body, parameters }: ToolOperation, names: readonly string[]): TProperties {
  const ofBody = propertiesOf(body);
  return Object.fromEntries(
    names.map((name) => {
      const parameter = parameters.find((one) => one.name === name);
      const schema = ofBody[name] ?? parameter?.schema;
      if (schema === undefined) throw new Error(`The operation ${id} has no field ${name}.`);
      return [name, parameter?.required === false ? Type.Optional(schema) : schema];
    }),
  );
}

/** Returns the same schema, of a field that must be given. */
export const required = (schema: TSchema): TSchema => Type.Unsafe(JSON.parse(JSON.stringify(schema)));

export const cursorField = {
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MCP_LIMITS.toolCursorCharsMax,
      description:
        'A `cursor` of `truncated`, or a name of `omitted`, of an earlier result of the same arguments.',
    }),
  ),
};

export const idempotencyField = {
  idempotencyKey: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'Any text that is new for each question or note. For 24 hours, calls with the same key and arguments are done and charged once.',
    }),
  ),
};

/** Returns the input schema of a tool: unknown arguments are refused, so that a misspelt one is noticed. */
export const inputSchemaOf = (fields: TProperties): TObject =>
  Type.Object(fields, { additionalProperties: false });

const typesOf = (schema: TSchema): readonly string[] => {
  const { type, enum: values, const: constant, anyOf } = shapeOf(schema);
  if (type !== undefined) return [type];
  if (anyOf !== undefined) return [...new Set(anyOf.flatMap(typesOf))];
  const texts = values ?? (constant === undefined ? [] : [constant]);
  return [...new Set(texts.map((value) => (value === null ? 'null' : typeof value)))];
};

/** Returns a schema of the type of a value, without what is inside it. */
function outlineOf(schema: TSchema): TSchema {
  const types = typesOf(schema);
  return Type.Unsafe(types.length === 0 ? {} : { type: types.length === 1 ? types[0] : types });
}

const optional = (properties: TProperties): TProperties =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)]));

/**
 * Returns the output schema of a tool. It has the fields of `data` and their types; the OpenAPI document of the server has their rows.
 * No field is required, because a result that is too long leaves fields out.
 */
export function outputSchemaOf(
  { data, credits }: Pick<ToolOperation, 'data' | 'credits'>,
  more: TProperties = {},
): TObject {
  const fields = Object.entries({ ...propertiesOf(data), ...more });
  const outline = Object.fromEntries(fields.map(([name, schema]) => [name, outlineOf(schema)]));
  return Type.Object(
    optional({
      data: Type.Object(optional(outline), { description: 'With a cursor: rows of one field.' }),
      notes: Type.Array(Type.String(), { description: 'Limits of this result as evidence.' }),
      truncated: Type.Array(Type.Object({}), {
        description: 'Lists and texts that are not complete: field, shown, total, cursor.',
      }),
      omitted: Type.Array(Type.String(), { description: 'Fields that a cursor of their name shows.' }),
      more: Type.String(),
      ...(credits > 0 ? { charge: Type.Object({}) } : {}),
      error: Type.Object({}, { description: 'code, message, field.' }),
    }),
  );
}

/** Whether an operation stores its response for an Idempotency-Key. */
export const isRepeatable = ({ credits, parameters }: ToolOperation): boolean =>
  credits > 0 || parameters.some(({ name }) => name === 'Idempotency-Key');

/** Validates a value of a schema, for the MCP library: returns null, or a sentence that names the wrong argument. */
export type SchemaCheck = (value: unknown) => string | null;

/** Compiles the check of a schema at its first use. */
export function checkOf(schema: TObject): SchemaCheck {
  let compiled: ReturnType<typeof Compile> | null = null;
  const names = Object.keys(propertiesOf(schema)).join(', ');
  return (value) => {
    compiled ??= Compile(schema);
    if (compiled.Check(value)) return null;
    const [first] = compiled.Errors(value);
    if (first === undefined) return 'The arguments are not valid.';
    const field = first.instancePath.slice(1).replaceAll('/', '.');
    if (first.keyword === 'additionalProperties' || first.keyword === 'boolean')
      return `${field === '' ? 'arguments' : field}: unknown argument. The arguments are ${names}.`;
    return `${field === '' ? 'arguments' : field}: ${first.message}.`;
  };
}

/** Examples that are made from schemas, for operations that do not give their own. */
import type { TSchema } from 'typebox';

interface Shape {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly anyOf?: readonly Shape[];
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly items?: Shape;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly minLength?: number;
  readonly minItems?: number;
  readonly patternProperties?: unknown;
}

/** Texts of the patterns that schemas have. */
const TEXTS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00.000Z',
  date: '2026-01-31',
  '^\\d{4}-\\d{2}-\\d{2}$': '2026-01-31',
  '^\\d{4}(-\\d{2}(-\\d{2})?)?$': '1972-05',
  '^[A-Za-z]{2}$': 'CH',
  '^[^\\s@<>,;"]+@[^\\s@<>,;"]+$': 'compliance@example.org',
  '^\\d{1,20}:[A-Za-z0-9_-]{1,100}$': '123456:token',
  '^(-?\\d{1,20}|@[A-Za-z0-9_]{1,64})$': '-1001',
};

/** Texts of fields by their names. */
const FIELDS: Readonly<Record<string, unknown>> = {
  address: '0x28c6c06298d514db089934071355e5743bf21d60',
  walletAddress: '0x28c6c06298d514db089934071355e5743bf21d60',
  chain: 'ETH',
  email: 'compliance@example.org',
  customWebhookUrl: 'https://example.org/hooks/assay',
  slackWebhookUrl: 'https://hooks.slack.com/services/T000/B000/XXXX',
};

/** Whether the field can be written in an example: its value by name has the type of its schema. */
const isText = ({ type, enum: words }: Shape): boolean => type === 'string' && words === undefined;

function textOf(shape: Shape, name: string): string {
  const known = TEXTS[shape.format ?? ''] ?? TEXTS[shape.pattern ?? ''];
  if (known !== undefined) return known;
  return (name === '' ? 'text' : name).padEnd(shape.minLength ?? 0, 'x');
}

function exampleValue(shape: Shape, name: string): unknown {
  if (shape.examples?.[0] !== undefined) return shape.examples[0];
  if (shape.const !== undefined) return shape.const;
  if (shape.default !== undefined) return shape.default;
  if (isText(shape) && Object.hasOwn(FIELDS, name)) return FIELDS[name];
  if (shape.enum !== undefined) return name === 'chain' && shape.enum.includes('ETH') ? 'ETH' : shape.enum[0];
  if (shape.anyOf !== undefined) {
    // A value that may be null is shown with its type, except an object or list: those make an example too long.
    const [first] = shape.anyOf;
    const isLong = first?.type === 'object' || first?.type === 'array';
    return first === undefined || (isLong && shape.anyOf.some(({ type }) => type === 'null'))
      ? null
      : exampleValue(first, name);
  }
  switch (shape.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(shape.properties ?? {})
          .filter(([field]) => shape.required?.includes(field) ?? false)
          .map(([field, inner]) => [field, exampleValue(inner, field)]),
      );
    case 'array':
      return shape.items === undefined ? [] : [exampleValue(shape.items, name.replace(/s$/, ''))];
    case 'string':
      return textOf(shape, name);
    case 'boolean':
      return false;
    case 'integer':
    case 'number':
      return shape.minimum ?? 0;
    default:
      return null;
  }
}

/** Returns a value that matches the schema: the given examples, defaults, first words, and required fields. */
export const exampleOf = (schema: TSchema): unknown => exampleValue(schema, '');

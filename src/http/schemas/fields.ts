/** Schemas of fields that many operations share: texts, amounts, times, chains, addresses and pages. */
import {
  type TArray,
  type TBoolean,
  type TEnum,
  type TInteger,
  type TNull,
  type TNumber,
  type TSchema,
  type TSchemaOptions,
  type TString,
  type TUnion,
  Type,
} from 'typebox';
import { CHAIN_LIMITS } from '../../chains/limits.ts';
import { CHAINS } from '../../chains/registry.ts';

/** One of a list of texts. */
export const oneOf = <Values extends string[]>(
  values: readonly [...Values],
  description?: string,
  options: TSchemaOptions = {},
): TEnum<Values> => Type.Enum(values, description === undefined ? options : { description, ...options });

/** A value of the schema, or null. */
export const nullable = <Schema extends TSchema>(
  schema: Schema,
  description?: string,
): TUnion<[Schema, TNull]> =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

/** Any text. */
export const text = (description?: string): TString =>
  Type.String(description === undefined ? {} : { description });

/** An amount of an asset: decimal text in native units, with the decimals of the asset (docs/decisions/amounts.md). */
export const amountFields = {
  amount: Type.String({ description: 'Native units, decimal; the smallest unit if `decimals` is null.' }),
  decimals: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'Decimals of the asset; null if they are not known.',
  }),
};

/** A point in time, ISO 8601 in UTC. */
export const time = (description?: string): TString =>
  Type.String({ format: 'date-time', ...(description === undefined ? {} : { description }) });

/** Any number. */
export const number = (description?: string): TNumber =>
  Type.Number(description === undefined ? {} : { description });

/** A whole number, not negative. */
export const count = (description?: string): TInteger =>
  Type.Integer(description === undefined ? { minimum: 0 } : { minimum: 0, description });

/** True or false. */
export const flag = (description?: string): TBoolean =>
  Type.Boolean(description === undefined ? {} : { description });

/** A list of values of the schema, of any length. */
export const listOf = <Item extends TSchema>(schema: Item, description?: string): TArray<Item> =>
  Type.Array(schema, description === undefined ? {} : { description });

export const ChainIdSchema = oneOf(
  CHAINS.map((chain) => chain.id),
  'Chain identifier, in upper case in every answer.',
  { title: 'ChainId' },
);

/** A chain as a client may write it. Not an enumeration, because any letter case is allowed. */
export const chainText = (
  description = 'Chain identifier, in any letter case.',
  options: TSchemaOptions = {},
): TString => Type.String({ minLength: 1, maxLength: 32, description, examples: ['ETH'], ...options });

export const ChainText = chainText();

/** An address as a client may write it, on any chain. */
export const addressText = (description = 'Address, in any form that is valid for the chain.'): TString =>
  Type.String({
    minLength: 1,
    maxLength: CHAIN_LIMITS.addressTextMax,
    description,
    examples: ['0x28c6c06298d514db089934071355e5743bf21d60'],
  });

export const AddressText = addressText();

/** Id of a record of the caller's account, in a path. */
export const idText = (description: string): TString =>
  Type.String({ minLength: 1, maxLength: 64, description });

/** Default number of rows of a page. */
export const PAGE_DEFAULT = 50;

/** Longest id of a row. */
const CURSOR_CHARS_MAX = 64;

/** The position of a row in its list. */
const Cursor = Type.String({
  title: 'Cursor',
  minLength: 1,
  maxLength: CURSOR_CHARS_MAX,
  description: 'Position in a list. Its form may change.',
});

/** A parameter with the cursor of a further page. */
export const cursorParameter = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: CURSOR_CHARS_MAX, description }));

/**
 * The parameters of every list.
 *
 * @param maximum - largest number of rows of a page
 * @param standard - default number of rows
 */
export const pageQuery = (maximum: number, standard = PAGE_DEFAULT) => ({
  limit: Type.Integer({
    minimum: 1,
    maximum,
    default: standard,
    description: `Rows of a page. Default ${standard}.`,
  }),
  cursor: cursorParameter('The `nextCursor` of the previous page.'),
});

/** The parameters of a list that can also be paged by `offset`. */
export const offsetQuery = (maximum: number, standard = PAGE_DEFAULT) => ({
  ...pageQuery(maximum, standard),
  offset: Type.Integer({
    minimum: 0,
    default: 0,
    description: 'Rows that are skipped, if no cursor is given. Default 0.',
  }),
});

/** The end of a page, in the response of every list. */
export const pageFields = {
  limit: count('Rows of a page, as requested.'),
  hasMore: flag('Whether a next page exists. A page may be short although it does.'),
  nextCursor: nullable(Cursor, 'Pass it as `cursor` for the next page; null at the end.'),
};

/** The end of a page of a list that can also be paged by `offset`. */
export const offsetFields = {
  total: count('Rows of all pages.'),
  ...pageFields,
  offset: count('Rows that were skipped, as requested.'),
};

/**
 * Answers of the use cases have the fields that their schemas describe, at every depth. The compiler checks it: its error names a field that
 * only one of the two has. Tests over HTTP see only the fields of the answers that their worlds give.
 */
import { type Static, type TSchema, Type } from 'typebox';
import { describe, expectTypeOf, it } from 'vitest';
import type { AttributionAnswer } from '../../src/attribution/explain.ts';
import type { Attribution } from '../../src/http/schemas/attribution.ts';
import type { EntityLabelSet as LabelSetSchema } from '../../src/http/schemas/facts.ts';
import type { KytResult } from '../../src/http/schemas/kyt.ts';
import type { ExchangeStatusData } from '../../src/http/schemas/registers.ts';
import type { ScreeningResult } from '../../src/http/schemas/screening.ts';
import type { TraceResult } from '../../src/http/schemas/trace.ts';
import type { TransactionResult } from '../../src/http/schemas/transaction.ts';
import type { OracleVerdict, SanctionsCheck } from '../../src/http/schemas/verdicts.ts';
import type { ExchangeStatus } from '../../src/registers/exchange-answer.ts';
import type {
  EntityLabelSet,
  OracleAnswer,
  SanctionsCheckAnswer,
  ScreeningAnswer,
} from '../../src/screening/answers.ts';
import type { KytAnswer } from '../../src/screening/kyt-answers.ts';
import type { TraceAnswer } from '../../src/screening/trace-answers.ts';
import type { TransactionAnswer } from '../../src/screening/transaction-answers.ts';

type KeysOf<Value> = Value extends unknown ? keyof Value : never;
type FieldOf<Value, Key> = Value extends unknown ? (Key extends keyof Value ? Value[Key] : never) : never;

/** The paths of the fields of `Value` that `Other` does not have. The members of a union count as one object, and keys that are any text are not compared. */
type Extra<Value, Other, Path extends string = 'data'> = [NonNullable<Value>] extends [never]
  ? never
  : NonNullable<Value> extends readonly (infer Item)[]
    ? Extra<Item, NonNullable<Other> extends readonly (infer Same)[] ? Same : never, `${Path}[]`>
    : NonNullable<Value> extends object
      ? {
          [Key in KeysOf<NonNullable<Value>> & string]: string extends Key
            ? never
            : Key extends KeysOf<NonNullable<Other>>
              ? Extra<FieldOf<NonNullable<Value>, Key>, FieldOf<NonNullable<Other>, Key>, `${Path}.${Key}`>
              : `${Path}.${Key}`;
        }[KeysOf<NonNullable<Value>> & string]
      : never;

/** The fields that only an answer or only its schema has. */
type Differing<Answer, Schema extends TSchema> =
  | Extra<Answer, Static<Schema>>
  | Extra<Static<Schema>, Answer>;

/** Fields that the HTTP interface adds if a request asks for them. */
type OnRequest = 'data.receipt' | 'data.screeningId' | 'data.batch';

describe('an answer and its schema', () => {
  it('have the same fields', () => {
    expectTypeOf<Exclude<Differing<ScreeningAnswer, typeof ScreeningResult>, OnRequest>>().toBeNever();
    expectTypeOf<Exclude<Differing<KytAnswer, typeof KytResult>, OnRequest>>().toBeNever();
    expectTypeOf<Differing<TraceAnswer, typeof TraceResult>>().toBeNever();
    expectTypeOf<Differing<TransactionAnswer, typeof TransactionResult>>().toBeNever();
    expectTypeOf<Differing<EntityLabelSet, typeof LabelSetSchema>>().toBeNever();
    expectTypeOf<Exclude<Differing<OracleAnswer, typeof OracleVerdict>, OnRequest>>().toBeNever();
    expectTypeOf<Exclude<Differing<SanctionsCheckAnswer, typeof SanctionsCheck>, OnRequest>>().toBeNever();
    expectTypeOf<Differing<AttributionAnswer, typeof Attribution>>().toBeNever();
    expectTypeOf<Differing<ExchangeStatus, typeof ExchangeStatusData>>().toBeNever();
  });

  it('differ if one has another field, at any depth', () => {
    interface Answer {
      readonly rows: readonly { readonly a: string; readonly b: number | null }[];
      readonly part: { readonly c: string } | null;
    }
    const rows = Type.Array(Type.Object({ a: Type.String() }));
    const part = Type.Union([Type.Object({ c: Type.String(), d: Type.String() }), Type.Null()]);
    const schema = Type.Object({ rows, part });
    expectTypeOf<Differing<Answer, typeof schema>>().toEqualTypeOf<'data.rows[].b' | 'data.part.d'>();
  });
});

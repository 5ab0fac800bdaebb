/** Types of arguments and results, by the id of the operation in the OpenAPI document. */
import type { operations } from './generated/api.ts';

/** Ids of all operations. */
export type OperationId = keyof operations;

type Json<Content> = Content extends { readonly 'application/json': infer Body } ? Body : never;

/** The whole JSON body of the successful response of an operation. */
export type ResponseOf<Id extends OperationId> = Json<operations[Id]['responses'][200]['content']>;

/** The data of the successful response of an operation, without the envelope. */
export type Data<Id extends OperationId> =
  ResponseOf<Id> extends { readonly data: infer Inner } ? Inner : ResponseOf<Id>;

/** The JSON body of the request of an operation, which may be optional. */
export type Body<Id extends OperationId> = operations[Id] extends {
  readonly requestBody?: infer Request;
}
  ? NonNullable<Request> extends { readonly content: infer Content }
    ? Json<Content>
    : never
  : never;

/** The query parameters of an operation. */
export type QueryOf<Id extends OperationId> = NonNullable<operations[Id]['parameters']['query']>;
/** The parameters in the path of an operation. */
export type PathOf<Id extends OperationId> = NonNullable<operations[Id]['parameters']['path']>;

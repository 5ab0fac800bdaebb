/** Schemas of responses as a whole: data in its envelope, and errors. */
import { type TSchema, Type } from 'typebox';
import { CLIENT_ERROR_CODES } from '../../base/errors.ts';
import { oneOf, text } from './fields.ts';

export const ErrorBody = Type.Object(
  { error: text('A sentence with the field, the problem and the allowed values.') },
  {
    title: 'ErrorBody',
    description: 'An error. With `Accept: application/problem+json`, errors are RFC 9457 problem details.',
  },
);

export const Problem = Type.Object(
  {
    type: text('Ends with the code: `urn:assay:error:INVALID_REQUEST`.'),
    title: text(),
    status: Type.Integer(),
    detail: text('The same sentence as `error`.'),
    instance: text(),
    code: oneOf(CLIENT_ERROR_CODES, 'Also in the header X-Error-Code.'),
    field: Type.Optional(Type.String()),
  },
  { title: 'Problem', description: 'Problem details (RFC 9457).' },
);

export const Ignored = Type.Array(Type.String(), {
  examples: [[]],
  description:
    'Unknown fields of the body and unknown query parameters, so that a misspelt option is noticed.',
});

/** Returns the envelope of a successful response. */
export const envelope = (data: TSchema): TSchema =>
  Type.Object({ success: Type.Literal(true), data, ignored: Type.Optional(Ignored) });

/** Returns the envelope of an operation with a body. */
export const bodyEnvelope = (data: TSchema): TSchema =>
  Type.Object({ success: Type.Literal(true), data, ignored: Ignored });

/** Returns the envelope of an operation that costs credits. */
export const chargedEnvelope = (data: TSchema): TSchema =>
  Type.Object({
    success: Type.Literal(true),
    data,
    credits: Type.Object({ remaining: Type.Integer({ description: 'Credits after the call.' }) }),
    ignored: Ignored,
  });

/** Schemas of receipts: a stored one with its evidence, and the keys that sign them. */
import { Type } from 'typebox';
import { RECEIPT_KINDS } from '../../receipts/kinds.ts';
import { listOf, nullable, oneOf, text, time } from './fields.ts';

export const OneReceipt = Type.Object(
  {
    id: text(),
    kind: oneOf(RECEIPT_KINDS, 'The operation.'),
    issuedAt: time(),
    expiresAt: time('Do not act on the verdict from this time on.'),
    issuedTo: text('Id of the key, or of the person of a session.'),
    sha256: text('SHA-256 of the receipt, hexadecimal. It stays if the content is erased.'),
    erasedAt: nullable(time(), 'Time at which the content was erased.'),
    jws: nullable(text(), 'The receipt as JWS in compact form; null if its content was erased.'),
    evidence: nullable(
      Type.Object({}, { additionalProperties: true }),
      'What entered the score: labels, exposures, and what else the kind of the receipt needs. The answer can be scored again from it.',
    ),
    policy: nullable(Type.Object({}, { additionalProperties: true }), 'The scoring policy.'),
  },
  { title: 'OneReceipt' },
);

export const ReceiptLine = Type.Object(
  {
    receipt: Type.Object({ id: text(), jws: text('The receipt of the batch.'), expiresAt: time() }),
    line: Type.Integer({ description: 'Number of the answer in its batch, from 0.' }),
    count: Type.Integer({ description: 'Answers of the batch.' }),
    path: listOf(
      text(),
      'Hashes from the sibling of the leaf to the child of the root (RFC 9162), hexadecimal.',
    ),
  },
  { title: 'ReceiptLine' },
);

export const Jwks = Type.Object(
  {
    keys: listOf(
      Type.Object({
        kty: oneOf(['OKP']),
        crv: oneOf(['Ed25519']),
        x: text('The public key, base64url.'),
        kid: text('Thumbprint of the key (RFC 7638).'),
        alg: oneOf(['Ed25519']),
        use: oneOf(['sig']),
        iat: Type.Integer({ description: 'Seconds since 1970; receipts of an earlier time are not valid.' }),
        exp: Type.Optional(
          Type.Integer({
            description: 'Of a retired key, seconds since 1970; receipts of a later time are not valid.',
          }),
        ),
      }),
      'Oldest first. Retired keys stay, because their receipts do.',
    ),
  },
  { title: 'Jwks', description: 'JSON Web Key Set (RFC 7517).' },
);

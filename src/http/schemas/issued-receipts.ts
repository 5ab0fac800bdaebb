/** Schemas of the receipt that a request asks for, and of the one that its response has. */

import { Type } from 'typebox';
import { ORACLE_RECEIPT_FORMS, RECEIPT_FORMS } from '../../receipts/kinds.ts';
import { flag, listOf, oneOf, text, time } from './fields.ts';

/** A CAIP-10 id of an EVM contract has at most 65 characters. */
const VERIFIER_CHARS_MAX = 80;

const receiptForm = () =>
  oneOf(
    RECEIPT_FORMS,
    'Form of the signed receipt in the response; eip712 adds the verdict for a contract to the JWS. Default: that of the API key, or else `none`.',
  );

/** The field or query parameter of operations with responses that may have a receipt. */
export const receiptField = {
  receipt: Type.Optional(receiptForm()),
  verifier: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: VERIFIER_CHARS_MAX,
      description:
        'With `receipt` eip712: CAIP-10 id of the contract that verifies the verdict, eip155:<chain id>:0x<40 digits>. The signature is valid for it alone.',
      examples: ['eip155:1:0x28c6c06298d514db089934071355e5743bf21d60'],
    }),
  ),
};

/** The same for the oracle, which also has batches. */
export const oracleReceiptField = {
  ...receiptField,
  receipt: Type.Optional(
    oneOf(
      ORACLE_RECEIPT_FORMS,
      'Form of the signed receipt in the response. eip712 adds the verdict for a contract to the JWS. batch: one signature for all answers of about a second, at a small part of the cost; the proof is fetched later. Default: that of the API key, or else `none`.',
    ),
  ),
};

const SignedVerdict = Type.Object(
  {
    domain: Type.Object({
      name: oneOf(['Assay']),
      version: oneOf(['1']),
      chainId: Type.Integer(),
      verifyingContract: text(),
    }),
    types: Type.Object({
      Verdict: listOf(Type.Object({ name: text(), type: text() })),
    }),
    message: Type.Object({
      receipt: text('SHA-256 of the receipt, 0x and hexadecimal.'),
      chain: text('keccak-256 of the CAIP-2 id of the screened chain.'),
      subject: text('The address.'),
      verdict: Type.Integer({
        description: '0 unrated (a check of sanctions alone), 1 safe, 2 warning, 3 danger.',
      }),
      score: Type.Integer({ description: '0 to 100.' }),
      sanctioned: flag(),
      issuedAt: Type.Integer({ description: 'Seconds since 1970.' }),
      expiresAt: Type.Integer({ description: 'Seconds since 1970; at most 900 after issuedAt.' }),
      snapshot: text('SHA-256 of the data version.'),
      policy: text('SHA-256 of the scoring policy.'),
    }),
    signature: text('65 bytes as 0x and hexadecimal: r, s, v.'),
    signer: text('Address of the key that has signed it.'),
  },
  {
    title: 'SignedVerdict',
    description: 'The verdict for a contract, as EIP-712 typed data. Only with `receipt` eip712.',
  },
);

export const IssuedReceipt = Type.Object(
  {
    id: text('GET /receipts/{id} returns the receipt with its evidence.'),
    jws: text('The receipt as JWS in compact form, signed with Ed25519. /.well-known/jwks.json has the key.'),
    expiresAt: time('Do not act on the verdict from this time on. The receipt stays valid as a record.'),
    eip712: Type.Optional(SignedVerdict),
  },
  { title: 'IssuedReceipt', description: 'Only if a receipt was requested.' },
);

/** The member of an answer of a batch. */
const BatchedReceipt = Type.Object(
  {
    id: text('GET /receipts/{id}/lines/{line} returns the proof, from about a second later on.'),
    line: Type.Integer({ description: 'Number of the answer in its batch, from 0.' }),
    salt: text('16 bytes, hexadecimal. Keep it with the answer: the proof needs both.'),
  },
  { title: 'BatchedReceipt', description: 'Only with `receipt` batch.' },
);

/** The fields of the responses of the oracle. */
export const oracleIssuedField = {
  receipt: Type.Optional(IssuedReceipt),
  batch: Type.Optional(BatchedReceipt),
};

/** The field of their responses. */
export const issuedReceiptField = { receipt: Type.Optional(IssuedReceipt) };

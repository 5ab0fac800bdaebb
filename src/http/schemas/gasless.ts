/** Schemas of invoices that are paid by a signature. */
import { Type } from 'typebox';
import { X402_LIMITS } from '../../billing/x402/limits.ts';
import { TRANSFER_STATES } from '../../billing/x402/records.ts';
import { listOf, nullable, oneOf, text, time } from './fields.ts';

const PAYER = '0x28c6c06298d514db089934071355e5743bf21d60';
const PAYEE = '0x9858effd232b4033e47d90003d41ec34ecaeda94';
const ADDRESS = '^0x[0-9a-fA-F]{40}$';
const WHOLE = '^(?:0|[1-9][0-9]{0,77})$';

const AuthorizationSchema = Type.Object(
  {
    from: Type.String({ pattern: ADDRESS, description: 'The payer.', examples: [PAYER] }),
    to: Type.String({ pattern: ADDRESS, description: 'Address of the invoice.', examples: [PAYEE] }),
    value: Type.String({
      pattern: WHOLE,
      description: 'In the smallest unit of USDC.',
      examples: ['199000000'],
    }),
    validAfter: Type.String({ pattern: WHOLE, description: 'Seconds since 1970.', examples: ['0'] }),
    validBefore: Type.String({
      pattern: WHOLE,
      description: 'Seconds since 1970.',
      examples: ['1795768500'],
    }),
    nonce: Type.String({
      pattern: '^0x[0-9a-fA-F]{64}$',
      description: 'keccak256 of `assay:<invoice id>:<part>`.',
      examples: [`0x${'5a'.repeat(32)}`],
    }),
  },
  { title: 'TransferAuthorization' },
);

export const AuthorizationToSignSchema = Type.Object(
  {
    part: Type.Integer({ minimum: 1, description: 'The next part of this payer.' }),
    authorization: AuthorizationSchema,
    typedData: text('JSON text of EIP-712, as wallets take it for `eth_signTypedData_v4`.'),
  },
  { title: 'AuthorizationToSign' },
);

export const SignedAuthorizationBody = Type.Object(
  {
    authorization: AuthorizationSchema,
    signature: Type.String({
      pattern: '^0x(?:[0-9a-fA-F]{2})+$',
      maxLength: 2 + 2 * X402_LIMITS.signatureBytesMax,
      description: 'Of an account (65 bytes), or of a wallet that is a contract (ERC-1271).',
      examples: [`0x${'1b'.repeat(65)}`],
    }),
  },
  { title: 'SignedAuthorizationBody' },
);

const SignedAuthorization = Type.Object(
  {
    part: Type.Integer({ minimum: 1 }),
    state: oneOf(
      [...TRANSFER_STATES],
      'QUEUED: stored. SENT: in a transaction. SETTLED: in a block; the payments of the invoice have its confirmations. FAILED: `reason` says why; it can be presented again, or a new one of the same part.',
    ),
    reason: nullable(Type.String(), 'Null unless it is FAILED.'),
    payer: text(),
    amount: text('In the smallest unit of USDC.'),
    transaction: nullable(Type.String(), 'Null while it is in none.'),
    validBefore: time(),
    createdAt: time(),
  },
  { title: 'SignedAuthorization' },
);

export const OneAuthorization = Type.Object(
  { authorization: SignedAuthorization },
  { title: 'OneAuthorization' },
);

export const AuthorizationList = Type.Object(
  { authorizations: listOf(SignedAuthorization, 'Oldest first.') },
  { title: 'AuthorizationList' },
);

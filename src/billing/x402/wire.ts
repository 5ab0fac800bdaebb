/**
 * The wire format of x402 version 2: the three headers, which are Base64 of JSON, and the extension payment-identifier.
 * https://github.com/coinbase/x402/blob/main/specs/x402-specification-v2.md
 */
import { AssayError } from '../../base/errors.ts';
import { X402_LIMITS } from './limits.ts';
import type { Authorization } from './records.ts';

/** Headers, in the form in which they are read and written. */
export const PAYMENT_REQUIRED = 'PAYMENT-REQUIRED';
export const PAYMENT_SIGNATURE = 'PAYMENT-SIGNATURE';
export const PAYMENT_RESPONSE = 'PAYMENT-RESPONSE';
export const VERSION = 2;
export const IDENTIFIER = 'payment-identifier';

/** One way to pay. */
export interface PaymentRequirements {
  readonly scheme: 'exact';
  /** CAIP-2. */
  readonly network: string;
  /** In the smallest unit of the token. */
  readonly amount: string;
  /** Contract of the token. */
  readonly asset: string;
  readonly payTo: string;
  readonly maxTimeoutSeconds: number;
  /** Domain of the token's signatures, and that it is paid before the answer. */
  readonly extra: {
    readonly name: string;
    readonly version: string;
    readonly assetTransferMethod: 'eip3009';
    readonly paymentFlow: 'upfront';
  };
}

/** Content of PAYMENT-REQUIRED. */
export interface PaymentRequired {
  readonly x402Version: typeof VERSION;
  /** Why a payment was refused; absent if there was none. */
  readonly error?: string;
  readonly resource: { readonly url: string; readonly description: string; readonly mimeType: string };
  readonly accepts: readonly PaymentRequirements[];
  readonly extensions: Readonly<Record<string, unknown>>;
}

/** Content of PAYMENT-RESPONSE. */
export interface SettleResponse {
  readonly success: boolean;
  readonly errorReason?: string;
  readonly payer: string;
  /** Hash; empty if absent. */
  readonly transaction: string;
  readonly network: string;
  readonly amount?: string;
}

/** A payment as a client sends it. */
export interface SentPayment {
  /** The requirements that the client has accepted. */
  readonly accepted: Pick<PaymentRequirements, 'network' | 'amount' | 'asset' | 'payTo'> & {
    readonly scheme: string;
  };
  readonly authorization: Authorization;
  /** Null if the client sent none. */
  readonly identifier: string | null;
}

/** Declares the extension payment-identifier, as its specification says. */
export const IDENTIFIER_EXTENSION = {
  info: { required: false },
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      required: { type: 'boolean' },
      id: {
        type: 'string',
        minLength: X402_LIMITS.paymentIdCharsMin,
        maxLength: X402_LIMITS.paymentIdCharsMax,
        pattern: '^[a-zA-Z0-9_-]+$',
      },
    },
    required: ['required'],
  },
} as const;

/** Returns the Base64 text of a header. */
export const encodeHeader = (value: PaymentRequired | SettleResponse): string =>
  Buffer.from(JSON.stringify(value), 'utf8').toString('base64');

type Row = Readonly<Record<string, unknown>>;

const invalid = (field: string, text: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${PAYMENT_SIGNATURE}: ${field} ${text}.`, { field: PAYMENT_SIGNATURE });

function rowOf(value: unknown, field: string): Row {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Row;
  throw invalid(field, 'must be an object');
}

function textOf(value: unknown, field: string, shape: RegExp, rule: string): string {
  if (typeof value === 'string' && shape.test(value)) return value;
  throw invalid(field, `must be ${rule}`);
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const AMOUNT = /^(?:0|[1-9]\d{0,77})$/;
const MAX_UINT256 = 2n ** 256n - 1n;

const addressOf = (value: unknown, field: string): string =>
  textOf(value, field, ADDRESS, 'an address (0x and 40 hexadecimal digits)').toLowerCase();

function numberOf(value: unknown, field: string): string {
  const text = textOf(value, field, AMOUNT, 'a whole number as decimal text');
  if (BigInt(text) > MAX_UINT256) throw invalid(field, 'must be below 2^256');
  return text;
}

/**
 * Reads the fields of an EIP-3009 authorization.
 *
 * @throws INVALID_REQUEST naming the field
 */
export function authorizationOf(value: unknown, signature: unknown, field: string): Authorization {
  const row = rowOf(value, field);
  const bytes = X402_LIMITS.signatureBytesMax;
  return {
    from: addressOf(row.from, `${field}.from`),
    to: addressOf(row.to, `${field}.to`),
    value: numberOf(row.value, `${field}.value`),
    validAfter: numberOf(row.validAfter, `${field}.validAfter`),
    validBefore: numberOf(row.validBefore, `${field}.validBefore`),
    nonce: textOf(
      row.nonce,
      `${field}.nonce`,
      /^0x[0-9a-fA-F]{64}$/,
      '0x and 64 hexadecimal digits',
    ).toLowerCase(),
    signature: textOf(
      signature,
      'payload.signature',
      new RegExp(`^0x(?:[0-9a-fA-F]{2}){1,${bytes}}$`),
      `0x and the hexadecimal digits of at most ${bytes} bytes`,
    ).toLowerCase(),
  };
}

function identifierOf(extensions: unknown): string | null {
  if (extensions === undefined || extensions === null) return null;
  const extension = rowOf(extensions, 'extensions')[IDENTIFIER];
  if (extension === undefined || extension === null) return null;
  const { id } = rowOf(rowOf(extension, `extensions.${IDENTIFIER}`).info, `extensions.${IDENTIFIER}.info`);
  if (id === undefined || id === null) return null;
  const { paymentIdCharsMin: min, paymentIdCharsMax: max } = X402_LIMITS;
  return textOf(
    id,
    `extensions.${IDENTIFIER}.info.id`,
    new RegExp(`^[a-zA-Z0-9_-]{${min},${max}}$`),
    `${min} to ${max} letters, digits and - _`,
  );
}

/**
 * Reads a PAYMENT-SIGNATURE header.
 *
 * @throws INVALID_REQUEST naming the field
 */
export function decodePayment(header: string): SentPayment {
  if (header.length > X402_LIMITS.headerCharsMax || !/^[A-Za-z0-9+/]+={0,2}$/.test(header))
    throw new AssayError(
      'INVALID_REQUEST',
      `${PAYMENT_SIGNATURE}: must be Base64 of at most ${X402_LIMITS.headerCharsMax} characters.`,
      { field: PAYMENT_SIGNATURE },
    );
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(header, 'base64').toString('utf8'));
  } catch {
    throw invalid('the decoded text', 'must be JSON');
  }
  const payment = rowOf(parsed, 'the decoded text');
  if (payment.x402Version !== VERSION) throw invalid('x402Version', `must be ${VERSION}`);
  const accepted = rowOf(payment.accepted, 'accepted');
  const payload = rowOf(payment.payload, 'payload');
  return {
    accepted: {
      scheme: textOf(accepted.scheme, 'accepted.scheme', /^.{1,64}$/, 'a scheme'),
      network: textOf(
        accepted.network,
        'accepted.network',
        /^[-a-zA-Z0-9]{1,32}:[-_a-zA-Z0-9]{1,64}$/,
        'a CAIP-2 id',
      ),
      amount: numberOf(accepted.amount, 'accepted.amount'),
      asset: addressOf(accepted.asset, 'accepted.asset'),
      payTo: addressOf(accepted.payTo, 'accepted.payTo'),
    },
    authorization: authorizationOf(payload.authorization, payload.signature, 'payload.authorization'),
    identifier: identifierOf(payment.extensions),
  };
}

/** Whether a client has accepted these requirements. */
export const isAccepted = ({ accepted }: SentPayment, wanted: PaymentRequirements): boolean =>
  accepted.scheme === wanted.scheme &&
  accepted.network === wanted.network &&
  accepted.amount === wanted.amount &&
  accepted.asset === wanted.asset.toLowerCase() &&
  accepted.payTo === wanted.payTo.toLowerCase();

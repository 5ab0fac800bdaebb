/** Checks a pasted receipt with what was pasted beside it. It sends nothing, and needs no server. */
import { verifyLine, verifyLogProof } from '../../../../sdk/typescript/src/receipt-proofs.ts';
import { canonicalSha256, type Receipt, verifyReceipt } from '../../../../sdk/typescript/src/receipts.ts';
import { repeatedName } from '../../../../src/base/json-names.ts';
import type { ReceiptCode } from './code.ts';
import { receiptSha256 } from './code.ts';

export interface Pasted {
  /** A JWS, or a response with a receipt, or a line with its proof. */
  readonly receipt: string;
  /** The JWKS of the issuer. */
  readonly jwks: string;
  /** A `.tlog-proof`; empty for none. */
  readonly proof: string;
  /** Key of the log, for the proof. */
  readonly logKey: string;
}

/** The field that a problem is about. */
export type PastedField = keyof Pasted;

export interface Checked {
  readonly receipt: Receipt;
  readonly isExpired: boolean;
  /** Whether an answer beside the receipt is the one that was signed. It fails otherwise. */
  readonly hasAnswer: boolean;
  /** Whether a code has the id of the receipt, and its hash if the code has one. It fails if they differ. Null without a code. */
  readonly ofCode: 'id' | 'hash' | null;
  /** Number of a line beside its proof, from 0. */
  readonly line: number | null;
  /** Place in the transparency log. */
  readonly logged: { readonly origin: string; readonly index: number; readonly size: number } | null;
}

/** What was pasted cannot be read, or does not prove what it should. The message is English, like those of the clients. */
export class PastedError extends Error {
  readonly field: PastedField;

  constructor(field: PastedField, message: string) {
    super(message);
    this.field = field;
  }
}

type Values = Readonly<Record<string, unknown>>;

const isValues = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(text: string, field: PastedField): Values {
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // Reported below.
  }
  if (!isValues(value)) throw new PastedError(field, `${field}: must be a JSON object.`);
  const twice = repeatedName(text);
  if (twice === null) return value;
  const name = JSON.stringify(twice.slice(0, SHOWN_NAME_MAX));
  throw new PastedError(
    field,
    `${field}: has the member ${name} twice; another reader may take the other one.`,
  );
}

const SHOWN_NAME_MAX = 64;

/** Members of a stored receipt with its evidence, as `GET /receipts/{id}` and `assay receipt show` return it: no answer is beside it. */
const RECORD_MEMBERS: ReadonlySet<string> = new Set([
  ...['id', 'kind', 'issuedAt', 'expiresAt', 'issuedTo', 'sha256', 'erasedAt', 'jws', 'evidence', 'policy'],
  ...['accountId', 'issuedAtMs', 'expiresAtMs', 'kid', 'erasedAtMs'],
]);

/** Whether a file is a stored receipt. One more member makes it an answer: evidence that is added to a changed answer must not hide it. */
const isRecord = (data: Values): boolean => Object.keys(data).every((name) => RECORD_MEMBERS.has(name));

/** Checks that the evidence and the policy of a stored receipt are those that it binds. */
async function checkRecord({ evidence, policy }: Values, receipt: Receipt): Promise<void> {
  for (const [name, value, hash] of [
    ['evidence', evidence, receipt.evidenceSha256],
    ['policy', policy, receipt.policySha256],
  ] as const)
    if ((value ?? null) !== null && (await canonicalSha256(value)) !== hash)
      throw new PastedError('receipt', `${name}: is not that of the receipt.`);
}

interface ReceiptText {
  readonly jws: string;
  /** The response without its envelope; null for a JWS alone. */
  readonly data: Values | null;
}

function receiptText(text: string): ReceiptText {
  if (!text.startsWith('{')) return { jws: text, data: null };
  const whole = parsed(text, 'receipt');
  const data = isValues(whole.data) ? whole.data : whole;
  const jws = isValues(data.receipt) ? data.receipt.jws : data.jws;
  if (typeof jws !== 'string') throw new PastedError('receipt', 'receipt: has neither receipt.jws nor jws.');
  return { jws, data };
}

/** Runs a check, and says which field its problem is about. */
async function about<T>(field: PastedField, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    throw error instanceof PastedError
      ? error
      : new PastedError(field, error instanceof Error ? error.message : String(error));
  }
}

/** Checks that a receipt is the one of a printed code. */
async function checkCode(jws: string, { id }: Receipt, code: ReceiptCode): Promise<'id' | 'hash'> {
  const other = 'receipt: is genuine, and it is not the one of the code:';
  if (id !== code.id)
    throw new PastedError('receipt', `${other} its id is ${id}, and the code has ${code.id}.`);
  if (code.sha256 === null) return 'id';
  const sha256 = await receiptSha256(jws);
  if (sha256 === code.sha256) return 'hash';
  throw new PastedError('receipt', `${other} its SHA-256 is ${sha256}, and the code has ${code.sha256}.`);
}

/**
 * Checks what was pasted.
 *
 * @param now - seconds since 1970
 * @param code - of the address of the page; null for none
 * @throws PastedError if anything does not hold
 */
export async function checkPasted(
  pasted: Pasted,
  now: number,
  code: ReceiptCode | null = null,
): Promise<Checked> {
  const { jws, data } = receiptText(pasted.receipt.trim());
  const jwks = parsed(pasted.jwks, 'jwks') as unknown as Parameters<typeof verifyReceipt>[1];
  if (!Array.isArray(jwks.keys)) throw new PastedError('jwks', 'jwks: must have a list of keys.');
  const receipt = await about('receipt', () => verifyReceipt(jws, jwks, { allowExpired: true }));
  const ofCode = code === null ? null : await checkCode(jws, receipt, code);
  const isLine = data !== null && typeof data.line === 'number' && Array.isArray(data.path);
  const isStored = data !== null && isRecord(data);
  const isAlone = data === null || isStored || Object.keys(data).every((name) => name === 'receipt');
  const answer = isLine || isAlone ? undefined : data;
  if (isStored) await checkRecord(data, receipt);
  if (isLine)
    await about('receipt', () => verifyLine(receipt, data as unknown as Parameters<typeof verifyLine>[1]));
  if (answer !== undefined)
    await about('receipt', () => verifyReceipt(jws, jwks, { allowExpired: true, answer }));
  const proof = pasted.proof.trim();
  const logged =
    proof === '' ? null : await about('proof', () => verifyLogProof(`${proof}\n`, jws, pasted.logKey));
  return {
    receipt,
    isExpired: receipt.expiresAt <= now,
    hasAnswer: answer !== undefined,
    ofCode,
    line: isLine ? Number(data.line) : null,
    logged,
  };
}

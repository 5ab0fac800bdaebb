/** Receipts of responses: whether a request asks for one, and the member that it adds to `data`. */
import { Type } from 'typebox';
import type { Permission } from '../../../accounts/keys.ts';
import { type PooledJson, takeJson } from '../../../base/buffer-pool.ts';
import { AssayError } from '../../../base/errors.ts';
import { parseVerifier, type VerdictTarget } from '../../../receipts/eip712.ts';
import { RECEIPT_FORMS, RECEIPT_KINDS, type ReceiptForm, type ReceiptKind } from '../../../receipts/kinds.ts';
import type { AnswerToAttest } from '../../../receipts/service.ts';
import { type Call, callerOf, principalOf, type Services } from '../../operation.ts';
import { queryValue } from '../../pipeline/query.ts';

/** A request: the services, and its client. */
interface Asked {
  readonly services: Services;
  readonly call: Call;
}

/** The fields of a request about its receipt. */
interface ReceiptFields {
  readonly receipt?: ReceiptForm;
  readonly verifier?: string;
}

/** A receipt that a request asks for. */
export interface WantedReceipt {
  /** The contract for which the verdict is signed as well; null for none. */
  readonly target: VerdictTarget | null;
}

/** Returns the form that applies to a request: its own, or that of its key. */
const formOf = (call: Call, asked: ReceiptForm | undefined): ReceiptForm =>
  asked ?? call.caller?.receipts ?? 'none';

/**
 * Returns the receipt that a request asks for; null for none.
 *
 * @param fields - of the body or of the query
 * @throws INVALID_REQUEST if a verdict for a contract has no contract, or the reverse
 */
export function wantedReceipt(call: Call, { receipt, verifier }: ReceiptFields): WantedReceipt | null {
  const form = formOf(call, receipt);
  if (form === 'batch')
    throw new AssayError('INVALID_REQUEST', 'receipt: batch must be used alone, and with the oracle.', {
      field: 'receipt',
    });
  if (form !== 'eip712') {
    if (verifier !== undefined)
      throw new AssayError('INVALID_REQUEST', 'verifier: must be left out unless receipt is eip712.', {
        field: 'verifier',
      });
    return form === 'jws' ? { target: null } : null;
  }
  if (verifier === undefined)
    throw new AssayError(
      'INVALID_REQUEST',
      'verifier: is missing; receipt=eip712 needs the CAIP-10 id of the contract that verifies the verdict.',
      { field: 'verifier' },
    );
  return { target: parseVerifier(verifier) };
}

/** Permissions for receipts of each kind: those of the operation whose answer it is. One of several is enough. */
const RECEIPT_PERMISSIONS: Readonly<Record<ReceiptKind, readonly Permission[]>> = {
  SCREENING: ['screening'],
  KYT: ['kyt', 'screening'],
  ORACLE: ['oracle'],
  SANCTIONS: ['intel'],
  NAMES: ['screening'],
  BULK: ['intel', 'screening', 'kyt'],
  // It belongs to no account, so no client reads it.
  BATCH: [],
};

/** The permissions of which a key needs one to read receipts. */
export const READS_RECEIPTS: readonly Permission[] = [...new Set(Object.values(RECEIPT_PERMISSIONS).flat())];

/** Returns the kinds that a client may read: a key reads receipts of the answers that it may request, a session all of them. */
export function receiptKindsOf(call: Call): readonly ReceiptKind[] {
  const { key } = principalOf(call);
  if (key === null) return RECEIPT_KINDS;
  return RECEIPT_KINDS.filter((kind) =>
    RECEIPT_PERMISSIONS[kind].some((one) => key.permissions.includes(one)),
  );
}

const LINE_DIGITS_MAX = 10;

/** The number of a line in a path. */
export const linePath = {
  line: Type.String({
    pattern: `^(0|[1-9]\\d{0,${LINE_DIGITS_MAX - 1}})$`,
    maxLength: LINE_DIGITS_MAX,
    description: 'Number of the line, from 0.',
    examples: ['0'],
  }),
};

/**
 * Returns the number of a line in a path.
 *
 * @throws INVALID_REQUEST
 */
export function lineOf(text: string): number {
  if (/^(?:0|[1-9]\d{0,9})$/.test(text)) return Number(text);
  throw new AssayError('INVALID_REQUEST', 'line: must be a whole number from 0.', { field: 'line' });
}

/** The query of nearly all requests for a receipt of a batch. */
const BATCH_ALONE = 'receipt=batch';

/** Whether a query asks for a receipt of a batch. For hot operations: a request without a query costs nothing. */
export const asksBatch = (call: Call): boolean => {
  const query = call.exchange.query();
  if (query === BATCH_ALONE) return true;
  return query !== '' && queryValue(query, 'receipt') === 'batch';
};

/** Whether a query names a contract. */
const namesVerifier = (query: string): boolean => query !== '' && queryValue(query, 'verifier') !== undefined;

/** Whether a request with a query may get a receipt. For hot operations: it reads one parameter. An unknown form is left to the schema. */
export function mayAskReceipt(call: Call): boolean {
  const query = call.exchange.query();
  if (query === BATCH_ALONE) return false;
  const asked = queryValue(query, 'receipt');
  if (asked === 'batch') return namesVerifier(query);
  const form = RECEIPT_FORMS.find((one) => one === asked);
  return formOf(call, form) !== 'none' || namesVerifier(query);
}

/** Issues the receipt of an answer, and returns the JSON text of `data` with it. */
export function withReceipt(
  { services, call }: Asked,
  attested: AnswerToAttest,
  { target }: WantedReceipt,
): Promise<string> {
  const { id, accountId } = callerOf(call);
  return services.useCases.receipts().attest({ accountId, issuedTo: id }, attested, target);
}

/**
 * Runs a use case that returns an answer with its evidence, and returns the JSON text of `data` with a receipt.
 *
 * @param request - the body without `receipt`, `verifier` and `save`
 * @param run - a use case over transfers, which a node with the role worker may answer
 * @throws NOT_READY if that node is of an earlier version, which gives no evidence
 */
export async function attestedTask<Request extends object>(
  asked: Asked,
  kind: 'SCREENING' | 'KYT',
  request: Request,
  wanted: WantedReceipt,
  run: (request: Request & { readonly withEvidence: true }) => Promise<PooledJson>,
): Promise<Uint8Array> {
  const json = takeJson(await run({ ...request, withEvidence: true }));
  const text = Buffer.from(json.buffer, json.byteOffset, json.length).toString('utf8');
  const { answer, evidence } = JSON.parse(text) as Partial<AnswerToAttest>;
  if (answer === undefined || evidence === undefined)
    throw new AssayError(
      'NOT_READY',
      'The node that answered is of an earlier version and gives no evidence. Upgrade all nodes.',
    );
  return Buffer.from(await withReceipt(asked, { kind, request, answer, evidence }, wanted));
}

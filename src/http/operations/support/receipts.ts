/** Receipts of responses: whether a request asks for one, and the member that it adds to `data`. */
import { AssayError } from '../../../base/errors.ts';
import { RECEIPT_FORMS, type ReceiptForm } from '../../../receipts/receipt.ts';
import type { AnswerToAttest } from '../../../receipts/service.ts';
import { type Call, callerOf, jsonBytes, type Services } from '../../operation.ts';
import { queryValue } from '../../pipeline/query.ts';

/** A request: the services, and its client. */
interface Asked {
  readonly services: Services;
  readonly call: Call;
}

/** Returns the form that applies to a request: its own, or that of its key. */
const formOf = (call: Call, asked: ReceiptForm | undefined): ReceiptForm =>
  asked ?? call.caller?.receipts ?? 'none';

/**
 * Whether a request gets a receipt.
 *
 * @param asked - of the body or of the query
 * @throws INVALID_REQUEST for a form that this installation does not sign
 */
export function asksReceipt(call: Call, asked: ReceiptForm | undefined): boolean {
  const form = formOf(call, asked);
  if (form === 'eip712')
    throw new AssayError(
      'INVALID_REQUEST',
      'receipt: eip712 is not available on this installation; must be none or jws.',
      { field: 'receipt' },
    );
  return form === 'jws';
}

/** Whether a request with a query may get a receipt. For hot operations: it reads one parameter. An unknown form is left to the schema. */
export function mayAskReceipt(call: Call): boolean {
  const asked = queryValue(call.exchange.query(), 'receipt');
  return (
    formOf(
      call,
      RECEIPT_FORMS.find((form) => form === asked),
    ) !== 'none'
  );
}

/** Issues the receipt of an answer, and returns the JSON text of `data` with it. */
export async function withReceipt({ services, call }: Asked, attested: AnswerToAttest): Promise<Uint8Array> {
  const { id, accountId } = callerOf(call);
  const receipt = await services.useCases.receipts().issue({ accountId, issuedTo: id }, attested);
  return jsonBytes({ ...attested.answer, receipt });
}

/**
 * Runs a use case that returns an answer with its evidence, and returns the JSON text of `data` with a receipt.
 *
 * @param request - the body without `receipt` and `save`
 * @param run - a use case over transfers, which a node with the role worker may answer
 */
export async function attestedTask<Request extends object>(
  asked: Asked,
  kind: 'SCREENING' | 'KYT',
  request: Request,
  run: (request: Request & { readonly withEvidence: true }) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  const text = Buffer.from(await run({ ...request, withEvidence: true })).toString('utf8');
  const { answer, evidence } = JSON.parse(text) as Partial<AnswerToAttest>;
  if (answer === undefined || evidence === undefined)
    throw new AssayError(
      'NOT_READY',
      'The node that answered is of an earlier version and gives no evidence. Upgrade all nodes.',
    );
  return withReceipt(asked, { kind, request, answer, evidence });
}

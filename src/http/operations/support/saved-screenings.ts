/** Parts of the operations of saved screenings. Every id is looked up together with the account of the client. */
import { type PooledJson, takeJson } from '../../../base/buffer-pool.ts';
import type { ReceiptForm } from '../../../receipts/kinds.ts';
import { SAVED_KINDS, type SavedKind } from '../../../saved-screenings/records.ts';
import { type Call, callerOf, type Input, type Purchase, principalOf } from '../../operation.ts';
import { ErrorBody } from '../../schemas/envelopes.ts';
import { idText } from '../../schemas/fields.ts';

/** Columns of the operations that read saved screenings. */
export const SAVED_SCREENINGS = {
  tag: 'Screening',
  permission: ['screening', 'kyt'],
  principal: 'session or key',
  rateClass: 'entity',
} as const;

export const NO_SCREENING = {
  404: { description: 'The account has no saved screening of this id.', schema: ErrorBody },
} as const;

export const screeningPath = { id: idText('Id of a saved screening of the account.') };

/** Returns the kinds that a client may read: a key reads the answers that it may request, a session all of them. */
export function kindsOf(call: Call): readonly SavedKind[] {
  const { key } = principalOf(call);
  if (key === null || key.permissions.includes('screening')) return SAVED_KINDS;
  return key.permissions.includes('kyt') ? ['KYT'] : [];
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** The options of a body that are no part of the request. */
interface Unsigned {
  readonly save?: boolean;
  readonly receipt?: ReceiptForm;
  readonly verifier?: string;
}

/** Returns a body without the options to save its answer and to sign it. */
export function requestOf<Body extends Unsigned>(body: Body): Omit<Body, keyof Unsigned> {
  if (body.save === undefined && body.receipt === undefined && body.verifier === undefined) return body;
  const { save: _, receipt: __, verifier: ___, ...request } = body;
  return request;
}

/** Returns the work that saves an answer if the body asks for it. */
export const storeAs =
  (kind: SavedKind) =>
  <Body extends Unsigned>(
    { services, call, body }: Pick<Input<Body, unknown, unknown, unknown>, 'services' | 'call' | 'body'>,
    result: PooledJson,
    { beginCharge, keep, ...charge }: Purchase,
  ) => {
    if (body.save !== true) return null;
    const { id: who, accountId } = callerOf(call);
    return services.useCases.savedScreenings().save(
      { accountId, who },
      { kind, request: requestOf(body), data: takeJson(result) },
      {
        ...charge,
        keep: keep === null ? null : { slot: hexOf(keep.slot), bodyHash: hexOf(keep.bodyHash) },
      },
      beginCharge,
    );
  };

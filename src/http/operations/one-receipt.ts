/** `GET /receipts/{id}`. */
import { isoTime } from '../../base/clock.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { idText } from '../schemas/fields.ts';
import { OneReceipt } from '../schemas/receipts.ts';
import { READS_RECEIPTS, receiptKindsOf } from './support/receipts.ts';

export const oneReceipt = operation({
  id: 'oneReceipt',
  sdk: 'receipts.get',
  tag: 'Receipts',
  method: 'GET',
  path: '/receipts/{id}',
  permission: READS_RECEIPTS,
  principal: 'session or key',
  rateClass: 'entity',
  pathParameters: { id: idText('Id of a receipt of the account.') },
  response: OneReceipt,
  statuses: { 404: { description: 'The account has no receipt of this id.', schema: ErrorBody } },
  summary: 'Get a receipt',
  description:
    'With the evidence and the policy of the answer, from which the answer can be scored again. A key reads receipts of the answers that it may request.',
  run({ services, call, path }) {
    const { stored, jws, content } = services.useCases
      .receipts()
      .one(path.id, accountOf(principalOf(call)), receiptKindsOf(call));
    return {
      id: stored.id,
      kind: stored.kind,
      issuedAt: isoTime(stored.issuedAtMs),
      expiresAt: isoTime(stored.expiresAtMs),
      issuedTo: stored.issuedTo,
      sha256: stored.sha256,
      erasedAt: stored.erasedAtMs === null ? null : isoTime(stored.erasedAtMs),
      jws,
      evidence: content?.evidence ?? null,
      policy: content?.policy ?? null,
    };
  },
});

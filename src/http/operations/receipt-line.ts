/** `GET /receipts/{id}/lines/{line}`. */
import { operation } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { idText } from '../schemas/fields.ts';
import { ReceiptLine } from '../schemas/receipts.ts';
import { lineOf, linePath } from './support/receipts.ts';

export const receiptLine = operation({
  id: 'receiptLine',
  sdk: 'receipts.line',
  tag: 'Receipts',
  method: 'GET',
  path: '/receipts/{id}/lines/{line}',
  principal: 'session or key',
  rateClass: 'entity',
  pathParameters: { id: idText('`batch.id` of an answer of the oracle.'), ...linePath },
  response: ReceiptLine,
  statuses: {
    404: {
      description:
        'There is no batch with this line, or it is not signed yet: repeat the request in a second.',
      schema: ErrorBody,
    },
  },
  summary: 'Get the proof of an answer of the oracle',
  description:
    'For an answer that was requested with `receipt=batch`: the signed receipt of its batch, and the hashes from the answer to the root that it binds. With the answer and its salt, it is verified offline. It reveals nothing of any answer.',
  run: ({ services, path }) => services.useCases.receipts().batchProof(path.id, lineOf(path.line)),
});

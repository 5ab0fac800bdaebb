/** `GET /receipts/{id}/proof`. */
import { AssayError } from '../../base/errors.ts';
import { operation, partsSource } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { idText } from '../schemas/fields.ts';

export const receiptProof = operation({
  id: 'receiptProof',
  sdk: 'receipts.proof',
  tag: 'Receipts',
  method: 'GET',
  path: '/receipts/{id}/proof',
  // With any key: the log is public, and a proof reveals nothing of its receipt.
  principal: 'session or key',
  rateClass: 'entity',
  pathParameters: { id: idText('Id of a receipt.') },
  response: 'text/plain',
  responseHeaders: ['Cache-Control'],
  statuses: {
    404: {
      description:
        'The log has no receipt of this id, or no published checkpoint covers it yet: repeat the request in a second.',
      schema: ErrorBody,
    },
  },
  summary: 'Get the proof that a receipt is in the log',
  description:
    'The position of the receipt in the transparency log, the hashes from it to the root, and the signed checkpoint, as a `.tlog-proof` (C2SP tlog-proof). It is verified offline with the SHA-256 of the receipt and the key of the log. It reveals nothing of the receipt.',
  // A page would need no key.
  async file({ services, call, path }) {
    const proof = await services.useCases.receiptLog().proof(path.id);
    if (proof === null)
      throw new AssayError('NOT_FOUND', 'id: the log has no receipt of this id.', { field: 'id' });
    const body = Buffer.from(proof);
    call.lines += '\r\nCache-Control: private, no-cache\r\nX-Content-Type-Options: nosniff';
    return {
      status: 200,
      contentType: 'text/plain; charset=utf-8',
      source: partsSource(body.length, [body]),
    };
  },
});

/** `GET /oracle/address/{chain}/{address}`. */
import { AssayError } from '../../base/errors.ts';
import { operation, quotaHeaderLine } from '../operation.ts';
import { addressText, chainText, OracleVerdict, receiptField } from '../schemas/common.ts';
import { asksReceipt, mayAskReceipt, withReceipt } from './support/receipts.ts';

export const oracle = operation({
  id: 'oracle',
  tag: 'Labels',
  method: 'GET',
  path: '/oracle/address/{chain}/{address}',
  permission: 'oracle',
  rateClass: 'oracle',
  quota: { meter: 'oracle', per: 'request' },
  pathParameters: { chain: chainText('Chain of the address.'), address: addressText('The address.') },
  query: receiptField,
  response: OracleVerdict,
  responseHeaders: ['X-Quota-Remaining'],
  summary: 'Verdict before a transaction',
  description:
    'safe, warning or danger, with score and reasons: those of `POST /screening` on the same stored data, exposure included. With `receipt`, it is signed.',
  write({ services, call, path }, out, offset) {
    const { quota } = call;
    if (quota === null) throw new AssayError('INTERNAL', 'The oracle was called without a quota.');
    call.lines = quotaHeaderLine(quota);
    return services.useCases.oracle(path.chain, path.address, quota, out, offset);
  },
  later: {
    isAsked: mayAskReceipt,
    async answer({ services, call, path, query }) {
      const { quota } = call;
      if (quota === null) throw new AssayError('INTERNAL', 'The oracle was called without a quota.');
      call.lines = quotaHeaderLine(quota);
      const { attestedOracle } = services.useCases;
      // Read before anything is awaited: the path and the query belong to the open request.
      const { chain, address } = path;
      asksReceipt(call, query.receipt);
      const { answer, evidence } = attestedOracle(chain, address, quota);
      const attested = {
        kind: 'ORACLE',
        request: { chain, address },
        answer: { ...answer },
        evidence,
      } as const;
      return withReceipt({ services, call }, attested);
    },
  },
});

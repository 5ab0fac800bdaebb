/** `GET /oracle/address/{chain}/{address}`. */
import { AssayError } from '../../base/errors.ts';
import { operation, quotaHeaderLine } from '../operation.ts';
import { addressText, chainText, OracleVerdict } from '../schemas/common.ts';

export const oracle = operation({
  id: 'oracle',
  tag: 'Labels',
  method: 'GET',
  path: '/oracle/address/{chain}/{address}',
  permission: 'oracle',
  rateClass: 'oracle',
  quota: { meter: 'oracle', per: 'request' },
  pathParameters: { chain: chainText('Chain of the address.'), address: addressText('The address.') },
  response: OracleVerdict,
  responseHeaders: ['X-Quota-Remaining'],
  summary: 'Verdict before a transaction',
  description:
    'safe, warning or danger, with score and reasons: those of `POST /screening` on the same stored data, exposure included.',
  write({ services, call, path }, out, offset) {
    const { quota } = call;
    if (quota === null) throw new AssayError('INTERNAL', 'The oracle was called without a quota.');
    call.lines = quotaHeaderLine(quota);
    return services.useCases.oracle(path.chain, path.address, quota, out, offset);
  },
});

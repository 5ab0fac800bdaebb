/** `GET /oracle/address/{chain}/{address}`. */
import { AssayError } from '../../base/errors.ts';
import { jsonBytes, operation } from '../operation.ts';
import { addressText, chainText } from '../schemas/fields.ts';
import { oracleReceiptField } from '../schemas/issued-receipts.ts';
import { OracleVerdict } from '../schemas/verdicts.ts';
import { asksBatch, mayAskReceipt, wantedReceipt, withReceipt } from './support/receipts.ts';

export const oracle = operation({
  id: 'oracle',
  sdk: 'oracle.check',
  tag: 'Labels',
  method: 'GET',
  path: '/oracle/address/{chain}/{address}',
  permission: 'oracle',
  rateClass: 'oracle',
  quota: { meter: 'oracle', per: 'request' },
  pathParameters: { chain: chainText('Chain of the address.'), address: addressText('The address.') },
  query: oracleReceiptField,
  response: OracleVerdict,
  responseHeaders: ['X-Quota-Remaining'],
  summary: 'Verdict before a transaction',
  description:
    'safe, warning or danger, with score and reasons: those of `POST /screening` on the same stored data, exposure included. With `receipt`, it is signed; with `receipt=batch`, together with the other answers of about a second.',
  write({ services, call, path }, out, offset) {
    const { quota } = call;
    if (quota === null) throw new AssayError('INTERNAL', 'The oracle was called without a quota.');
    call.shownQuota = quota;
    const end = services.useCases.oracle(path.chain, path.address, quota, out, offset);
    return end >= 0 && asksBatch(call) ? services.useCases.receiptBatches().write(out, offset, end) : end;
  },
  later: {
    isAsked: mayAskReceipt,
    async answer({ services, call, path, query }) {
      const { quota } = call;
      if (quota === null) throw new AssayError('INTERNAL', 'The oracle was called without a quota.');
      call.shownQuota = quota;
      const { attestedOracle } = services.useCases;
      // Read before anything is awaited: the path and the query belong to the open request.
      const { chain, address } = path;
      const wanted = wantedReceipt(call, query);
      const { shared, own, canonical } = attestedOracle(chain, address, quota);
      if (wanted === null) return jsonBytes({ ...own, ...shared.answer });
      const attested = {
        kind: 'ORACLE',
        request: { chain, address },
        answer: shared.answer,
        own,
        evidence: shared.evidence,
        addresses: [canonical],
      } as const;
      return withReceipt({ services, call }, attested, wanted);
    },
  },
});

/** `POST /screen/bulk`: the body is parsed by the pool. */
import { countBulkAddresses, countUsualAddresses } from '../../screening/bulk.ts';
import { SCREENING_LIMITS } from '../../screening/limits.ts';
import { operation } from '../operation.ts';
import { BulkBody, BulkResult } from '../schemas/labels.ts';

export const screenBulk = operation({
  id: 'screenBulk',
  sdk: 'labels.screenBulk',
  retry: 'safe',
  tag: 'Labels',
  method: 'POST',
  path: '/screen/bulk',
  permission: 'intel',
  rateClass: 'intel',
  quota: { meter: 'intel', per: 'address' },
  body: BulkBody,
  response: BulkResult,
  summary: `Raw labels of up to ${SCREENING_LIMITS.bulkAddressesMax} addresses`,
  description:
    'In the order of the request. An invalid address has its error in its place and does not fail the other addresses.',
  bytes: {
    usualUnits: countUsualAddresses,
    units({ elements }, body) {
      if (elements >= 1 && elements <= SCREENING_LIMITS.bulkAddressesMax) return elements;
      // The outline counts the elements of every array; the body itself is parsed only to report the exact error.
      return countBulkAddresses(body);
    },
    async run({ services: { useCases, access }, call }, body) {
      const answer = await useCases.bulk(body);
      const unused = call.quotaTaken - answer.answered;
      if (unused > 0 && call.caller) {
        access.quota.give(call.caller.accountId, 'intel', unused);
        call.quotaTaken = answer.answered;
      }
      return answer;
    },
  },
});

/** `GET /sanctions/check`. */
import { jsonBytes, operation } from '../operation.ts';
import { addressText, chainText } from '../schemas/fields.ts';
import { receiptField } from '../schemas/issued-receipts.ts';
import { SanctionsCheck } from '../schemas/verdicts.ts';
import { mayAskReceipt, wantedReceipt, withReceipt } from './support/receipts.ts';

export const sanctionsCheck = operation({
  id: 'sanctionsCheck',
  sdk: 'sanctions.check',
  tag: 'Labels',
  method: 'GET',
  path: '/sanctions/check',
  permission: 'intel',
  rateClass: 'sanctions',
  quota: { meter: 'intel', per: 'request' },
  query: {
    address: addressText('The address.'),
    chain: chainText('Chain of the address.'),
    ...receiptField,
  },
  response: SanctionsCheck,
  summary: 'Sanctions check',
  description:
    'The lists of the US, the EU, the UN, the UK and Switzerland, each with its freshness. With `receipt`, the response is signed.',
  write: ({ services, query }, out, offset) =>
    services.useCases.sanctionsCheck(query.chain, query.address, out, offset),
  later: {
    isAsked: mayAskReceipt,
    async answer({ services, call, query }) {
      const { chain, address } = query;
      const wanted = wantedReceipt(call, query);
      const { answer, evidence } = services.useCases.attestedSanctionsCheck(chain, address);
      const request = { chain, address };
      const attested = { kind: 'SANCTIONS', request, answer: { ...answer }, evidence } as const;
      if (wanted === null) return jsonBytes(attested.answer);
      return withReceipt({ services, call }, attested, wanted);
    },
  },
});

/** `GET /exchange-status`. */
import { Type } from 'typebox';
import { copyInto, operation } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { ExchangeName, ExchangeStatusData, JurisdictionFilter } from '../schemas/registers.ts';

export const exchangeStatus = operation({
  id: 'exchangeStatus',
  sdk: 'exchanges.status',
  tag: 'Labels',
  method: 'GET',
  path: '/exchange-status',
  permission: 'entity',
  rateClass: 'exchange-status',
  query: { name: ExchangeName, jurisdiction: Type.Optional(JurisdictionFilter) },
  response: ExchangeStatusData,
  statuses: {
    404: {
      description: 'No exchange of that name is known; the error lists the nearest.',
      schema: ErrorBody,
    },
  },
  summary: 'Registrations of an exchange',
  description:
    'Registrations and warnings of regulatory registers, their history, and the registers that were read.',
  write: ({ services, query }, out, offset) =>
    copyInto(out, offset, services.useCases.exchangeStatus(query.name, query.jurisdiction)),
});

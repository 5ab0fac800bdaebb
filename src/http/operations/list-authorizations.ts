/** `GET /billing/invoices/{id}/authorizations`. */
import { authorizationAnswer } from '../../billing/x402/invoice-authorizations.ts';
import { callerOf, operation } from '../operation.ts';
import { AuthorizationList } from '../schemas/gasless.ts';
import { BILLING, invoicePath, NO_INVOICE } from './support/billing.ts';
import { gaslessOf } from './support/gasless.ts';

export const listAuthorizations = operation({
  ...BILLING,
  id: 'listAuthorizations',
  sdk: 'billing.authorizations',
  method: 'GET',
  path: '/billing/invoices/{id}/authorizations',
  pathParameters: invoicePath,
  response: AuthorizationList,
  statuses: NO_INVOICE,
  summary: 'List the signed authorizations of an invoice',
  description:
    'With their state on the chain. The payments of the invoice follow when the watcher has seen them.',
  run({ services, call, path }) {
    const { accountId } = callerOf(call);
    const authorizations = gaslessOf(services, accountId, path.id).list(accountId, path.id);
    return { authorizations: authorizations.map(authorizationAnswer) };
  },
});

/** `GET /billing/invoices/{id}/typed-data`. */
import { Type } from 'typebox';
import { callerOf, operation } from '../operation.ts';
import { AuthorizationToSignSchema } from '../schemas/gasless.ts';
import { BILLING, invoicePath, NO_INVOICE } from './support/billing.ts';
import { gaslessOf, UNAVAILABLE_NOW } from './support/gasless.ts';

export const invoiceTypedData = operation({
  ...BILLING,
  id: 'invoiceTypedData',
  sdk: 'billing.typedData',
  method: 'GET',
  path: '/billing/invoices/{id}/typed-data',
  pathParameters: invoicePath,
  query: {
    payer: Type.String({
      pattern: '^0x[0-9a-fA-F]{40}$',
      description: 'Address that pays.',
      examples: ['0x28c6c06298d514db089934071355e5743bf21d60'],
    }),
  },
  response: AuthorizationToSignSchema,
  statuses: { ...NO_INVOICE, ...UNAVAILABLE_NOW },
  summary: 'Get the authorization that pays an invoice',
  description:
    'Returns the authorization (EIP-3009) of what is still due of an open invoice in USDC on an EVM chain. The wallet of the payer signs it, and `POST /billing/invoices/{id}/authorizations` takes the signature: the payer needs no gas. It is valid until the invoice expires. Refused while another authorization of the invoice is being sent.',
  async run({ services, call, path, query }) {
    const { accountId } = callerOf(call);
    return gaslessOf(services, accountId, path.id).toSign(accountId, path.id, query.payer);
  },
});

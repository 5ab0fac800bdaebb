/** `GET /billing/settings`. */
import { callerOf, operation } from '../operation.ts';
import { BillingSettings } from '../schemas/billing.ts';
import { BILLING, settingsAnswer } from './support/billing.ts';

export const billingSettings = operation({
  ...BILLING,
  id: 'billingSettings',
  sdk: 'billing.settings',
  method: 'GET',
  path: '/billing/settings',
  response: BillingSettings,
  summary: 'Settings of billing',
  description: 'Where the account gets messages about billing, and what is ordered when a balance is low.',
  run: ({ services, call }) =>
    settingsAnswer(services.useCases.billing().preferences(callerOf(call).accountId)),
});

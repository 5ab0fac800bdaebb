/** `PUT /billing/settings`. */
import { accountOf, operation, principalOf } from '../operation.ts';
import { BillingSettings, BillingSettingsBody } from '../schemas/billing.ts';
import { requireConfirmed, settingsAnswer } from './support/billing.ts';

export const changeBillingSettings = operation({
  id: 'changeBillingSettings',
  sdk: 'billing.changeSettings',
  tag: 'Billing',
  method: 'PUT',
  path: '/billing/settings',
  principal: 'session',
  role: 'owner',
  rateClass: 'keys',
  body: BillingSettingsBody,
  response: BillingSettings,
  examples: [
    {
      summary: 'An email below 50 credits',
      body: { email: 'finance@example.org', lowBalance: { api: 50, dashboard: null } },
    },
    {
      summary: 'Order by wire below 20 credits',
      body: {
        topUp: [{ pool: 'api', below: 20, package: 'Growth', quantity: 1, method: 'WIRE', currency: 'EUR' }],
      },
    },
  ],
  summary: 'Change the settings of billing',
  description: 'A field that is left out is not changed. Null removes a receiver or a threshold.',
  async run({ services, call, body }) {
    const principal = principalOf(call);
    const accountId = accountOf(principal);
    const billing = services.useCases.billing();
    const before = billing.preferences(accountId);
    const { topUp = before.topUp, webhookUrl, email = before.email, lowBalance = before.lowBalance } = body;
    // A rule orders later without a person.
    if (topUp !== undefined && topUp.length > 0) requireConfirmed(services, accountId);
    const isNew = webhookUrl !== undefined && webhookUrl !== null;
    const url = isNew ? services.useCases.monitoring().checkReceiver(webhookUrl, 'webhookUrl') : webhookUrl;
    const changed = {
      ...{ webhookUrl: url === undefined ? before.webhookUrl : url, email, lowBalance },
      ...(topUp === undefined ? {} : { topUp }),
    };
    await billing.setPreferences(accountId, changed);
    if (isNew && url !== undefined && url !== null)
      await services.useCases.monitoring().store.outbox.useAgain(accountId, url);
    await services.access.audit().write({
      ...principal.actor,
      action: 'billing.settings',
      accountId,
      subject: null,
      detail: Object.keys(body).join(', '),
    });
    return settingsAnswer(changed);
  },
});

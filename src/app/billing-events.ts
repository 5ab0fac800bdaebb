/** Connects the events of billing with the outbox of alerts, which sends them, and with streams. */

import type { Clock } from '../base/clock.ts';
import type { BillingEvent } from '../billing/events.ts';
import { eventData } from '../billing/notices.ts';
import type { Billing, Deliver } from '../billing/service.ts';
import type { MonitoringService } from '../monitoring/service.ts';
import { createStreamHub, type StreamHub } from '../monitoring/stream.ts';

/** Returns a function that stores notices in the outbox of alerts, for the webhook and the email of the account. */
export const billingDelivery =
  (monitoring: () => Pick<MonitoringService, 'store'>): Deliver =>
  ({ accountId, id, webhookUrl, email, ...notice }) =>
    monitoring().store.outbox.notify(
      accountId,
      id,
      [
        ...(webhookUrl === null ? [] : [{ channel: 'webhook' as const, target: webhookUrl }]),
        ...(email === null ? [] : [{ channel: 'email' as const, target: email }]),
      ],
      notice,
    );

/** Creates the streams of billing events. */
export function billingStreams(billing: Billing, { clock }: { readonly clock: Clock }): StreamHub {
  const store = billing.store();
  return createStreamHub<BillingEvent>({
    store: {
      changes: (accountId, after, limit) => store.events(accountId, after, limit),
      onChange: (listener) => store.onEvent(listener),
    },
    render(event) {
      const data = eventData(event, store, clock.now());
      return data === null
        ? null
        : { id: String(event.number), event: event.type, data: JSON.stringify(data) };
    },
  });
}

/** `POST /monitoring/webhook-secret`. */
import { isoTime } from '../../base/clock.ts';
import { callerOf, NO_STORE, operation } from '../operation.ts';
import { WebhookSecret } from '../schemas/monitoring.ts';
import { MONITORING } from './support/monitoring.ts';

export const webhookSecret = operation({
  ...MONITORING,
  id: 'webhookSecret',
  sdk: 'webhooks.rotateSecret',
  method: 'POST',
  path: '/monitoring/webhook-secret',
  response: WebhookSecret,
  responseHeaders: ['Cache-Control'],
  summary: 'Issue or rotate the webhook secret',
  description: 'Webhooks are signed according to Standard Webhooks. The secret is shown only once.',
  async run({ services, call }) {
    const { channels } = services.useCases.monitoring().store;
    const { secret, previousUntilMs } = await channels.rotateSecret(callerOf(call).accountId);
    call.lines += NO_STORE;
    return { secret, previousUntil: previousUntilMs === null ? null : isoTime(previousUntilMs) };
  },
});

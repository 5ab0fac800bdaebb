/** `PUT /monitoring/channels`. */
import { channelsAnswer } from '../../monitoring/channels.ts';
import { callerOf, operation } from '../operation.ts';
import { ChannelsAnswer, ChannelsBody } from '../schemas/monitoring.ts';
import { MONITORING } from './support/monitoring.ts';

export const setChannels = operation({
  ...MONITORING,
  id: 'setChannels',
  sdk: 'channels.set',
  method: 'PUT',
  path: '/monitoring/channels',
  body: ChannelsBody,
  response: ChannelsAnswer,
  examples: [
    {
      summary: 'Send emails, and none to Slack',
      body: { email: 'compliance@example.org', slackWebhookUrl: null },
    },
  ],
  summary: 'Set channels of the account',
  description: 'Null removes a channel; a channel that is left out is not changed.',
  async run({ services, call, body }) {
    const { accountId } = callerOf(call);
    const service = services.useCases.monitoring();
    const before = service.store.channels.channels(accountId);
    const { email, slackWebhookUrl, telegram } = body;
    // Omitted channels keep their value: a secret is shown masked, so a client cannot send it back.
    const changed = await service.setChannels(accountId, {
      email: email === undefined ? before.email : email,
      slackWebhookUrl: slackWebhookUrl === undefined ? before.slackWebhookUrl : slackWebhookUrl,
      telegram: telegram === undefined ? before.telegram : telegram,
    });
    return { channels: channelsAnswer(changed) };
  },
});

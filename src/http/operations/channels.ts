/** `GET /monitoring/channels`. */
import { channelsAnswer } from '../../monitoring/channels.ts';
import { callerOf, operation } from '../operation.ts';
import { ChannelsAnswer } from '../schemas/monitoring.ts';
import { MONITORING } from './support/monitoring.ts';

export const channels = operation({
  ...MONITORING,
  id: 'channels',
  sdk: 'channels.get',
  method: 'GET',
  path: '/monitoring/channels',
  response: ChannelsAnswer,
  summary: 'Channels of the account',
  description: 'Email, Slack and Telegram, with their secrets masked.',
  async run({ services, call }) {
    const { store } = services.useCases.monitoring();
    return { channels: channelsAnswer(store.channels.channels(callerOf(call).accountId)) };
  },
});

/** `POST /monitoring/wallets`. */
import { walletAnswer } from '../../monitoring/answers.ts';
import { callerOf, operation } from '../operation.ts';
import { OneWallet, WalletBody } from '../schemas/monitoring.ts';
import { MONITORING } from './support/monitoring.ts';

export const addWallet = operation({
  ...MONITORING,
  id: 'addWallet',
  method: 'POST',
  path: '/monitoring/wallets',
  credits: 1,
  chargeType: 'SCREENING',
  body: WalletBody,
  response: OneWallet,
  summary: 'Watch a wallet',
  description: 'Screens the address, and raises alerts for its transfers from the newest block on.',
  subjects: ({ walletAddress, chain }) => [walletAddress, chain.toUpperCase()],
  run: async ({ services, call, body }) => ({
    wallet: walletAnswer(await services.useCases.monitoring().register(callerOf(call).accountId, body)),
  }),
});

/** `POST /monitoring/wallets`. */
import { callerOf, operation } from '../operation.ts';
import { OneWallet, WalletBody } from '../schemas/monitoring.ts';
import { MONITORING } from './support/monitoring.ts';

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

export const addWallet = operation({
  ...MONITORING,
  id: 'addWallet',
  sdk: 'wallets.create',
  method: 'POST',
  path: '/monitoring/wallets',
  credits: 1,
  chargeType: 'SCREENING',
  body: WalletBody,
  response: OneWallet,
  summary: 'Watch a wallet',
  description: 'Screens the address, and raises alerts for its transfers from the newest block on.',
  subjects: ({ walletAddress, chain }) => [walletAddress, chain.toUpperCase()],
  purchase: ({ services, call, body }, { beginCharge, keep, ...charge }) =>
    services.useCases.monitoring().buy(
      callerOf(call).accountId,
      body,
      {
        ...charge,
        keep: keep === null ? null : { slot: hexOf(keep.slot), bodyHash: hexOf(keep.bodyHash) },
      },
      beginCharge,
    ),
});

/** Requests that add wallets. Each costs a credit, so a repeated one has the same Idempotency-Key. */
import { call, type Schemas } from '../../api/client.ts';
import { type Patience, patiently } from '../../api/patience.ts';

export type Wallet = Schemas['MonitoredWallet'];
export type WalletBody = Schemas['WalletBody'];

/**
 * Adds a wallet.
 *
 * @param idempotencyKey - the same for every attempt: one that was charged is not charged again
 * @throws ApiError
 */
export const addWallet = async (
  body: WalletBody,
  idempotencyKey: string,
  patience: Patience = {},
): Promise<Wallet> =>
  (await patiently(() => call('post', '/monitoring/wallets', { body, idempotencyKey }), patience)).wallet;

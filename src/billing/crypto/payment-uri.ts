/** URIs that wallets open: BIP-21 (UTXO chains), EIP-681 (EVM chains), Solana Pay. TRON has no standard, so its URI is the address. */
import { chainOf, isEvm } from '../../chains/registry.ts';
import { coinsOf } from './quote.ts';
import type { PaymentAsset } from './terms.ts';

const BIP21_SCHEMES: Readonly<Record<string, string>> = { BTC: 'bitcoin', LTC: 'litecoin', DOGE: 'dogecoin' };

/**
 * Returns the URI of a payment.
 *
 * @param amount - smallest unit of the asset
 * @param reference - reference key of the invoice; only on Solana
 */
export function paymentUri(
  { chain, asset, decimals }: PaymentAsset,
  address: string,
  amount: bigint,
  reference: string | null = null,
): string {
  const { caip2, symbol } = chainOf(chain);
  const isCoin = asset === symbol;
  if (isEvm(chain)) {
    const chainId = caip2.split(':')[1] ?? '';
    return isCoin
      ? `ethereum:${address}@${chainId}?value=${amount}`
      : `ethereum:${asset}@${chainId}/transfer?address=${address}&uint256=${amount}`;
  }
  const coins = coinsOf(amount, decimals);
  if (chain === 'SOL') {
    const token = isCoin ? '' : `&spl-token=${asset}`;
    return `solana:${address}?amount=${coins}${token}${reference === null ? '' : `&reference=${reference}`}`;
  }
  if (chain === 'TRON') return address;
  // The prefix of a cashaddr is the scheme.
  if (chain === 'BCH') return `bitcoincash:${address.replace(/^bitcoincash:/, '')}?amount=${coins}`;
  return `${BIP21_SCHEMES[chain] ?? chain.toLowerCase()}:${address}?amount=${coins}`;
}

/** Settings: prices, and the tokens with transfers that are evidence. */
import { number, optionalFolder, optionalKey, optionalUrl } from './readers.ts';
import { setting } from './setting.ts';

export const pricesSettings = {
  priceUrl: setting(
    'ASSAY_PRICE_URL',
    '',
    optionalUrl,
    "Price server with CoinGecko's API, such as https://api.coingecko.com/api/v3, for prices on demand and for daily closes by `assay sync`. Without it, prices come from tables and from your own EVM nodes.",
  ),
  priceKey: setting('ASSAY_PRICE_KEY', '', optionalKey, 'API key of the price server.'),
  pricePerMinute: setting(
    'ASSAY_PRICE_PER_MINUTE',
    '25',
    number(1, 10_000),
    'Requests per minute that the price server allows. The public tier of CoinGecko allows 30.',
  ),
  tokensFile: setting(
    'ASSAY_TOKENS_FILE',
    '',
    optionalFolder,
    'CSV file (`chain,asset,symbol,decimals`) of additional tokens whose transfers are evidence; see docs/transfers.md.',
  ),
} as const;

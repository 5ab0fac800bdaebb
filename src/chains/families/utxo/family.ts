/** The descriptor of the UTXO family. */
import { BITCOIN_DIGITS as base58check } from '../../address/base58.ts';
import {
  formatBch,
  formatBsv,
  formatBtc,
  formatDash,
  formatDoge,
  formatLtc,
  formatZec,
  writeBchKey,
  writeBsvKey,
  writeBtcKey,
  writeDashKey,
  writeDogeKey,
  writeLtcKey,
  writeZecKey,
} from '../../address/utxo.ts';
import { family } from '../descriptor.ts';
import { UTXO_CHAINS } from './chains.ts';

export const utxo = family({
  chains: UTXO_CHAINS,
  codec: {
    BTC: { write: writeBtcKey, format: formatBtc, canonicalFirst: '13b', base58check },
    LTC: { write: writeLtcKey, format: formatLtc, canonicalFirst: 'LMl', base58check },
    DOGE: { write: writeDogeKey, format: formatDoge, canonicalFirst: 'DA9', base58check },
    DASH: { write: writeDashKey, format: formatDash, canonicalFirst: 'X7', base58check },
    ZEC: { write: writeZecKey, format: formatZec, base58check },
    BCH: { write: writeBchKey, format: formatBch, base58check },
    BSV: { write: writeBsvKey, format: formatBsv, canonicalFirst: '13', base58check },
  },
  layouts: { rpc: ['json-rpc', 'rest'], history: ['esplora', 'blockbook'] },
  layoutsNote: '`json-rpc` and `rest` are the interfaces of Bitcoin Core.',
  adapter: () => import('./adapter.ts'),
});

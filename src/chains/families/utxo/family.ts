/** The descriptor of the UTXO family. */
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
    BTC: { write: writeBtcKey, format: formatBtc, canonicalFirst: '13b' },
    LTC: { write: writeLtcKey, format: formatLtc, canonicalFirst: 'LMl' },
    DOGE: { write: writeDogeKey, format: formatDoge, canonicalFirst: 'DA9' },
    DASH: { write: writeDashKey, format: formatDash, canonicalFirst: 'X7' },
    ZEC: { write: writeZecKey, format: formatZec },
    BCH: { write: writeBchKey, format: formatBch },
    BSV: { write: writeBsvKey, format: formatBsv },
  },
  layouts: { rpc: ['json-rpc', 'rest'], history: ['esplora', 'blockbook'] },
  layoutsNote: '`json-rpc` and `rest` are the interfaces of Bitcoin Core.',
  adapter: () => import('./adapter.ts'),
});

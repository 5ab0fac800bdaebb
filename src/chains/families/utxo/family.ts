/** The descriptor of the UTXO family. */
import {
  bchBatch,
  bsvBatch,
  btcBatch,
  dashBatch,
  dogeBatch,
  formatBch,
  formatBsv,
  formatBtc,
  formatDash,
  formatDoge,
  formatLtc,
  formatZec,
  ltcBatch,
  writeBchKey,
  writeBsvKey,
  writeBtcKey,
  writeDashKey,
  writeDogeKey,
  writeLtcKey,
  writeZecKey,
  zecBatch,
} from '../../address/utxo.ts';
import { family } from '../descriptor.ts';
import { UTXO_CHAINS } from './chains.ts';

export const utxo = family({
  chains: UTXO_CHAINS,
  codec: {
    BTC: { write: writeBtcKey, format: formatBtc, canonicalFirst: '13b', batch: btcBatch },
    LTC: {
      write: writeLtcKey,
      format: formatLtc,
      canonicalFirst: 'LMl',
      notCanonical: 'LT',
      batch: ltcBatch,
    },
    DOGE: { write: writeDogeKey, format: formatDoge, canonicalFirst: 'DA9', batch: dogeBatch },
    DASH: { write: writeDashKey, format: formatDash, canonicalFirst: 'X7', batch: dashBatch },
    ZEC: { write: writeZecKey, format: formatZec, batch: zecBatch },
    BCH: { write: writeBchKey, format: formatBch, batch: bchBatch },
    BSV: { write: writeBsvKey, format: formatBsv, canonicalFirst: '13', batch: bsvBatch },
  },
  layouts: { rpc: ['json-rpc', 'rest'], history: ['esplora', 'blockbook'] },
  layoutsNote: '`json-rpc` and `rest` are the interfaces of Bitcoin Core.',
  adapter: () => import('./adapter.ts'),
});

/** The descriptor of the Monero family. */
import { formatXmr, writeXmrKey } from '../../address/monero.ts';
import { family } from '../descriptor.ts';
import { MONERO_CHAINS } from './chains.ts';

export const monero = family({
  chains: MONERO_CHAINS,
  codec: { write: writeXmrKey, format: formatXmr },
  layouts: { rpc: ['monerod'], history: ['monerod'] },
  layoutsNote:
    'Only the head and blocks: the protocol hides balances and histories, and the response says so.',
  adapter: () => import('./adapter.ts'),
});

/** The descriptor of the Cardano family. */
import { formatAda, writeAdaKey } from '../../address/cardano.ts';
import { family } from '../descriptor.ts';
import { CARDANO_CHAINS } from './chains.ts';

export const cardano = family({
  chains: CARDANO_CHAINS,
  codec: { write: writeAdaKey, format: formatAda },
  layouts: { rpc: ['koios', 'blockfrost'], history: ['koios', 'blockfrost'] },
  adapter: () => import('./adapter.ts'),
});

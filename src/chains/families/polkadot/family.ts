/** The descriptor of the Polkadot family. */
import { formatDot, writeDotKey } from '../../address/accounts.ts';
import { family } from '../descriptor.ts';
import { POLKADOT_CHAINS } from './chains.ts';

export const polkadot = family({
  chains: POLKADOT_CHAINS,
  codec: {
    write: writeDotKey,
    format: formatDot,
    // Raw account ids in hex are accepted beside SS58.
    hasChecksum: (text) => !text.startsWith('0x'),
  },
  layouts: { rpc: ['substrate'], history: ['subscan'] },
  adapter: () => import('./adapter.ts'),
});

/** The descriptor of the TON family. */
import { formatTon, writeTonKey } from '../../address/accounts.ts';
import { family } from '../descriptor.ts';
import { TON_CHAINS } from './chains.ts';

export const ton = family({
  chains: TON_CHAINS,
  codec: {
    write: writeTonKey,
    format: formatTon,
    // The raw form is workchain and hash in hex; the friendly forms end in a CRC-16.
    hasChecksum: (text) => !text.includes(':'),
  },
  layouts: { rpc: ['toncenter'], history: ['toncenter'] },
  layoutsNote: '`toncenter` is its API v3.',
  adapter: () => import('./adapter.ts'),
});

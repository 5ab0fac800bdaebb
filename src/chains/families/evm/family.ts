/** The descriptor of the EVM family. */
import { evmBatch, formatEvmKey, writeEvmKey } from '../../address/evm.ts';
import { family } from '../descriptor.ts';
import { EVM_CHAINS } from './chains.ts';

export const evm = family({
  chains: EVM_CHAINS,
  codec: {
    write: writeEvmKey,
    format: formatEvmKey,
    batch: evmBatch,
    hasChecksum: (text) => /[a-f]/.test(text.slice(2)) && /[A-F]/.test(text.slice(2)),
  },
  layouts: { rpc: ['json-rpc'], history: ['blockscout', 'etherscan'] },
  layoutsNote:
    '`json-rpc` over http or ws, with traces by `trace_block` or `debug_traceBlockByNumber`; `etherscan` is its API v2.',
  adapter: () => import('./adapter.ts'),
});

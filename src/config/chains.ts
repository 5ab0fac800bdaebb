/** Settings: nodes and explorers of chains, and where their transfers are stored. */
import { number, onOff } from './readers.ts';
import { setting } from './setting.ts';

export const chainsSettings = {
  chainRpc: setting(
    'ASSAY_RPC_<CHAIN>',
    '',
    String,
    'Nodes of a chain: comma-separated URLs, the preferred one first, such as `ASSAY_RPC_ETH=http://127.0.0.1:8545,ws://127.0.0.1:8546`.',
  ),
  chainHistory: setting(
    'ASSAY_HISTORY_<CHAIN>',
    '',
    String,
    'Explorers or indexers of a chain, such as `ASSAY_HISTORY_ETH=blockscout+https://eth.blockscout.com`.',
  ),
  chainGraphStore: setting(
    'ASSAY_GRAPH_STORE_<CHAIN>',
    '',
    String,
    'Kvrocks or Redis with the transfers of a chain that is too large for one machine, such as `ASSAY_GRAPH_STORE_ETH=redis+cluster://a:6666,b:6666`. `assay graph push` fills it.',
  ),
  publicEndpoints: setting(
    'ASSAY_PUBLIC_ENDPOINTS',
    'off',
    onOff,
    '`on`: uses the public endpoints of data/endpoints.json for chains without your own endpoints. Their operators then see the addresses that you screen.',
  ),
  chainBudgetMs: setting(
    'ASSAY_CHAIN_BUDGET_MS',
    '2500',
    number(0, 60_000),
    'Maximum time in milliseconds that a screening waits for chains.',
  ),
  chainMaxAgeMinutes: setting(
    'ASSAY_CHAIN_MAX_AGE_MINUTES',
    '10',
    number(0, 100_000),
    'Minutes after which the history of a screened address is fetched again.',
  ),
  chainQuorum: setting(
    'ASSAY_CHAIN_QUORUM',
    '1',
    number(1, 16),
    'Number of nodes of a chain that must agree on a balance or a name.',
  ),
  offchainNames: setting(
    'ASSAY_OFFCHAIN_NAMES',
    'off',
    onOff,
    '`on`: resolving an `.eth` name may request the URL that the owner of the name chose (CCIP-Read), public https only.',
  ),
} as const;

/** The 36 chains and their properties. This table is the only place that defines them. */
import { AssayError } from '../base/errors.ts';

export type ChainFamily =
  | 'evm'
  | 'utxo'
  | 'solana'
  | 'tron'
  | 'xrpl'
  | 'stellar'
  | 'cardano'
  | 'polkadot'
  | 'ton'
  | 'monero'
  | 'cosmos'
  | 'algorand'
  | 'tezos';

export interface Chain {
  readonly id: string;
  readonly name: string;
  readonly family: ChainFamily;
  readonly symbol: string;
  readonly decimals: number;
  /** CAIP-2 chain id. */
  readonly caip2: string;
  /** Block explorer, without a trailing slash. */
  readonly explorerUrl: string;
  /** Whether wallets of this chain can be monitored (specification, "Chain identifiers"). */
  readonly monitored: boolean;
  /** First byte of an address key: one for all EVM chains, one for each other chain. Never reused. */
  readonly keyByte: number;
}

const EVM = 1;

export const CHAINS = [
  {
    id: 'ETH',
    name: 'Ethereum',
    family: 'evm',
    symbol: 'ETH',
    decimals: 18,
    caip2: 'eip155:1',
    explorerUrl: 'https://etherscan.io',
    monitored: true,
    keyByte: EVM,
  },
  {
    id: 'BSC',
    name: 'BNB Smart Chain',
    family: 'evm',
    symbol: 'BNB',
    decimals: 18,
    caip2: 'eip155:56',
    explorerUrl: 'https://bscscan.com',
    monitored: true,
    keyByte: EVM,
  },
  {
    id: 'POLYGON',
    name: 'Polygon PoS',
    family: 'evm',
    symbol: 'POL',
    decimals: 18,
    caip2: 'eip155:137',
    explorerUrl: 'https://polygonscan.com',
    monitored: true,
    keyByte: EVM,
  },
  {
    id: 'ARBITRUM',
    name: 'Arbitrum One',
    family: 'evm',
    symbol: 'ETH',
    decimals: 18,
    caip2: 'eip155:42161',
    explorerUrl: 'https://arbiscan.io',
    monitored: true,
    keyByte: EVM,
  },
  {
    id: 'OPTIMISM',
    name: 'OP Mainnet',
    family: 'evm',
    symbol: 'ETH',
    decimals: 18,
    caip2: 'eip155:10',
    explorerUrl: 'https://optimistic.etherscan.io',
    monitored: true,
    keyByte: EVM,
  },
  {
    id: 'BASE',
    name: 'Base',
    family: 'evm',
    symbol: 'ETH',
    decimals: 18,
    caip2: 'eip155:8453',
    explorerUrl: 'https://basescan.org',
    monitored: true,
    keyByte: EVM,
  },
  {
    id: 'AVALANCHE',
    name: 'Avalanche C-Chain',
    family: 'evm',
    symbol: 'AVAX',
    decimals: 18,
    caip2: 'eip155:43114',
    explorerUrl: 'https://snowtrace.io',
    monitored: true,
    keyByte: EVM,
  },
  {
    id: 'LINEA',
    name: 'Linea',
    family: 'evm',
    symbol: 'ETH',
    decimals: 18,
    caip2: 'eip155:59144',
    explorerUrl: 'https://lineascan.build',
    monitored: false,
    keyByte: EVM,
  },
  {
    id: 'GNOSIS',
    name: 'Gnosis Chain',
    family: 'evm',
    symbol: 'XDAI',
    decimals: 18,
    caip2: 'eip155:100',
    explorerUrl: 'https://gnosisscan.io',
    monitored: true,
    keyByte: EVM,
  },
  {
    id: 'FANTOM',
    name: 'Fantom Opera',
    family: 'evm',
    symbol: 'FTM',
    decimals: 18,
    caip2: 'eip155:250',
    explorerUrl: 'https://explorer.fantom.network',
    monitored: true,
    keyByte: EVM,
  },
  {
    id: 'CRONOS',
    name: 'Cronos',
    family: 'evm',
    symbol: 'CRO',
    decimals: 18,
    caip2: 'eip155:25',
    explorerUrl: 'https://explorer.cronos.org',
    monitored: true,
    keyByte: EVM,
  },
  {
    id: 'ETC',
    name: 'Ethereum Classic',
    family: 'evm',
    symbol: 'ETC',
    decimals: 18,
    caip2: 'eip155:61',
    explorerUrl: 'https://etc.blockscout.com',
    monitored: false,
    keyByte: EVM,
  },
  {
    id: 'MANTLE',
    name: 'Mantle',
    family: 'evm',
    symbol: 'MNT',
    decimals: 18,
    caip2: 'eip155:5000',
    explorerUrl: 'https://mantlescan.xyz',
    monitored: false,
    keyByte: EVM,
  },
  {
    id: 'SCROLL',
    name: 'Scroll',
    family: 'evm',
    symbol: 'ETH',
    decimals: 18,
    caip2: 'eip155:534352',
    explorerUrl: 'https://scrollscan.com',
    monitored: false,
    keyByte: EVM,
  },
  {
    id: 'ZKSYNC',
    name: 'ZKsync Era',
    family: 'evm',
    symbol: 'ETH',
    decimals: 18,
    caip2: 'eip155:324',
    explorerUrl: 'https://era.zksync.network',
    monitored: false,
    keyByte: EVM,
  },
  {
    id: 'CELO',
    name: 'Celo',
    family: 'evm',
    symbol: 'CELO',
    decimals: 18,
    caip2: 'eip155:42220',
    explorerUrl: 'https://celoscan.io',
    monitored: false,
    keyByte: EVM,
  },
  {
    id: 'MOONBEAM',
    name: 'Moonbeam',
    family: 'evm',
    symbol: 'GLMR',
    decimals: 18,
    caip2: 'eip155:1284',
    explorerUrl: 'https://moonscan.io',
    monitored: false,
    keyByte: EVM,
  },
  {
    id: 'ETHERLINK',
    name: 'Etherlink',
    family: 'evm',
    symbol: 'XTZ',
    decimals: 18,
    caip2: 'eip155:42793',
    explorerUrl: 'https://explorer.etherlink.com',
    monitored: false,
    keyByte: EVM,
  },
  {
    id: 'BTC',
    name: 'Bitcoin',
    family: 'utxo',
    symbol: 'BTC',
    decimals: 8,
    caip2: 'bip122:000000000019d6689c085ae165831e93',
    explorerUrl: 'https://mempool.space',
    monitored: false,
    keyByte: 2,
  },
  {
    id: 'LTC',
    name: 'Litecoin',
    family: 'utxo',
    symbol: 'LTC',
    decimals: 8,
    caip2: 'bip122:12a765e31ffd4059bada1e25190f6e98',
    explorerUrl: 'https://litecoinspace.org',
    monitored: false,
    keyByte: 3,
  },
  {
    id: 'DOGE',
    name: 'Dogecoin',
    family: 'utxo',
    symbol: 'DOGE',
    decimals: 8,
    caip2: 'bip122:1a91e3dace36e2be3bf030a65679fe82',
    explorerUrl: 'https://dogechain.info',
    monitored: false,
    keyByte: 4,
  },
  {
    id: 'DASH',
    name: 'Dash',
    family: 'utxo',
    symbol: 'DASH',
    decimals: 8,
    caip2: 'bip122:00000ffd590b1485b3caadc19b22e637',
    explorerUrl: 'https://insight.dash.org',
    monitored: false,
    keyByte: 5,
  },
  {
    id: 'ZEC',
    name: 'Zcash',
    family: 'utxo',
    symbol: 'ZEC',
    decimals: 8,
    caip2: 'bip122:00040fe8ec8471911baa1db1266ea15d',
    explorerUrl: 'https://blockchair.com/zcash',
    monitored: false,
    keyByte: 6,
  },
  {
    id: 'BCH',
    name: 'Bitcoin Cash',
    family: 'utxo',
    symbol: 'BCH',
    decimals: 8,
    caip2: 'bip122:000000000000000000651ef99cb9fcbe',
    explorerUrl: 'https://blockchair.com/bitcoin-cash',
    monitored: false,
    keyByte: 7,
  },
  {
    id: 'BSV',
    name: 'Bitcoin SV',
    family: 'utxo',
    symbol: 'BSV',
    decimals: 8,
    caip2: 'bsv:mainnet',
    explorerUrl: 'https://whatsonchain.com',
    monitored: false,
    keyByte: 8,
  },
  {
    id: 'SOL',
    name: 'Solana',
    family: 'solana',
    symbol: 'SOL',
    decimals: 9,
    caip2: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    explorerUrl: 'https://solscan.io',
    monitored: false,
    keyByte: 9,
  },
  {
    id: 'TRON',
    name: 'TRON',
    family: 'tron',
    symbol: 'TRX',
    decimals: 6,
    caip2: 'tron:0x2b6653dc',
    explorerUrl: 'https://tronscan.org',
    monitored: false,
    keyByte: 10,
  },
  {
    id: 'XRP',
    name: 'XRP Ledger',
    family: 'xrpl',
    symbol: 'XRP',
    decimals: 6,
    caip2: 'xrpl:0',
    explorerUrl: 'https://xrpscan.com',
    monitored: false,
    keyByte: 11,
  },
  {
    id: 'XLM',
    name: 'Stellar',
    family: 'stellar',
    symbol: 'XLM',
    decimals: 7,
    caip2: 'stellar:pubnet',
    explorerUrl: 'https://stellar.expert',
    monitored: false,
    keyByte: 12,
  },
  {
    id: 'ADA',
    name: 'Cardano',
    family: 'cardano',
    symbol: 'ADA',
    decimals: 6,
    caip2: 'cip34:1-764824073',
    explorerUrl: 'https://cardanoscan.io',
    monitored: false,
    keyByte: 13,
  },
  {
    id: 'DOT',
    name: 'Polkadot',
    family: 'polkadot',
    symbol: 'DOT',
    decimals: 10,
    caip2: 'polkadot:91b171bb158e2d3848fa23a9f1c25182',
    explorerUrl: 'https://polkadot.subscan.io',
    monitored: false,
    keyByte: 14,
  },
  {
    id: 'TON',
    name: 'TON',
    family: 'ton',
    symbol: 'TON',
    decimals: 9,
    caip2: 'tvm:-239',
    explorerUrl: 'https://tonviewer.com',
    monitored: false,
    keyByte: 15,
  },
  {
    id: 'XMR',
    name: 'Monero',
    family: 'monero',
    symbol: 'XMR',
    decimals: 12,
    caip2: 'monero:418015bb9ae982a1975da7d79277c270',
    explorerUrl: 'https://xmrchain.net',
    monitored: false,
    keyByte: 16,
  },
  {
    id: 'ATOM',
    name: 'Cosmos Hub',
    family: 'cosmos',
    symbol: 'ATOM',
    decimals: 6,
    caip2: 'cosmos:cosmoshub-4',
    explorerUrl: 'https://www.mintscan.io/cosmos',
    monitored: false,
    keyByte: 17,
  },
  {
    id: 'ALGO',
    name: 'Algorand',
    family: 'algorand',
    symbol: 'ALGO',
    decimals: 6,
    caip2: 'algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k',
    explorerUrl: 'https://allo.info',
    monitored: false,
    keyByte: 18,
  },
  {
    id: 'XTZ',
    name: 'Tezos',
    family: 'tezos',
    symbol: 'XTZ',
    decimals: 6,
    caip2: 'tezos:NetXdQprcVkpaWU',
    explorerUrl: 'https://tzkt.io',
    monitored: false,
    keyByte: 19,
  },
] as const satisfies readonly Chain[];

export type ChainId = (typeof CHAINS)[number]['id'];

const byId = new Map<string, Chain & { id: ChainId }>(CHAINS.map((chain) => [chain.id, chain]));

/** Returns the properties of a chain. */
export function chainOf(id: ChainId): Chain & { readonly id: ChainId } {
  return byId.get(id) as Chain & { id: ChainId };
}

/**
 * Parses a chain id in any letter case.
 *
 * @throws UNKNOWN_CHAIN with the name of `field`
 */
export function parseChainId(text: string, field = 'chain'): ChainId {
  const chain = byId.get(text) ?? byId.get(text.toUpperCase());
  if (chain) return chain.id;
  const shown = text.length > 32 ? `${text.slice(0, 32)}…` : text;
  throw new AssayError(
    'UNKNOWN_CHAIN',
    `${field}: '${shown}' is not a supported chain. Supported: ${CHAINS.map((row) => row.id).join(', ')}.`,
    { field },
  );
}

/** Returns whether a chain belongs to the EVM family. */
export const isEvm = (id: ChainId): boolean => chainOf(id).family === 'evm';

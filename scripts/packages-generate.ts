/**
 * Generates data/packages/*.ndjson: labels of contracts, from permissively licensed npm packages in which projects publish their own
 * addresses. Run by hand when a version below is raised: `npm run build && node dist/scripts/packages-generate.js`. The packages are
 * fetched with `npm pack` into a temporary folder, so that neither a clone nor a run needs them.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { shippedData } from '../src/base/paths.ts';
import { CHAINS, type ChainId } from '../src/chains/registry.ts';
import { fetchPackage } from './npm-package.ts';
import { WORMHOLE_CHAINS } from './wormhole-chains.ts';

interface Row {
  readonly chain: ChainId;
  readonly address: string;
  readonly entity: string;
  readonly name: string;
  readonly category: string;
  readonly url: string | null;
  readonly tags: readonly string[];
}

interface Package {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly url: string;
  readonly rows: (folder: string) => Promise<Row[]>;
}

type Json = Readonly<Record<string, unknown>>;

const chainByEvmId = new Map<string, ChainId>(
  CHAINS.filter((chain) => chain.family === 'evm').map((chain) => [
    chain.caip2.slice('eip155:'.length),
    chain.id,
  ]),
);

const readJson = (...path: string[]): Json => JSON.parse(readFileSync(join(...path), 'utf8')) as Json;
const load = async (...path: string[]): Promise<Json> =>
  (await import(pathToFileURL(join(...path)).href)) as Json;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns true for a contract's address, except the precompiles and placeholders at the ends of the range. */
const isContractAddress = (chain: ChainId, value: unknown): value is string =>
  typeof value === 'string' &&
  (chain === 'SOL'
    ? /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(value)
    : /^0x[0-9a-fA-F]{40}$/.test(value) && !/^0x0{34}/.test(value) && !/^0x(.)\1{39}$/.test(value));

/** Converts `POOL_ADDRESSES_PROVIDER`, `exchangeProxy` or `safe_l2` to words in lower case. */
const words = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .trim()
    .toLowerCase();

const AAVE = { entity: 'aave', name: 'Aave', url: 'https://aave.com' } as const;
const AAVE_MODULES = /^(AaveV[23]|GovernanceV3|Gho|Umbrella|AaveSafetyModule)/;
const AAVE_TOKENS = ['A_TOKEN', 'V_TOKEN', 'S_TOKEN', 'STATIC_A_TOKEN', 'STATA_TOKEN'] as const;

async function aaveRows(folder: string): Promise<Row[]> {
  const rows: Row[] = [];
  const modules = readdirSync(join(folder, 'dist'))
    .filter((file) => file.endsWith('.mjs') && AAVE_MODULES.test(file))
    .sort();
  for (const file of modules) {
    const module = await load(folder, 'dist', file);
    const chain = chainByEvmId.get(String(module.CHAIN_ID));
    if (chain === undefined) continue;
    const market = basename(file, '.mjs');
    const add = (address: unknown, category: string, tag: string): void => {
      if (isContractAddress(chain, address))
        rows.push({ chain, address, ...AAVE, category, tags: [market, tag] });
    };
    for (const [key, value] of Object.entries(module)) add(value, 'LENDING', words(key));
    for (const [symbol, asset] of Object.entries(isObject(module.ASSETS) ? module.ASSETS : {})) {
      if (!isObject(asset)) continue;
      for (const kind of AAVE_TOKENS) add(asset[kind], 'TOKEN', `${symbol} ${words(kind)}`);
    }
  }
  return rows;
}

const SAFE = { entity: 'safe', name: 'Safe', url: 'https://safe.global' } as const;

async function safeRows(folder: string): Promise<Row[]> {
  const rows: Row[] = [];
  const assets = join(folder, 'src', 'assets');
  const files = readdirSync(assets, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.json')).sort()) {
    const { contractName, version, deployments, networkAddresses } = readJson(assets, file);
    if (!isObject(deployments) || !isObject(networkAddresses)) continue;
    for (const [id, kinds] of Object.entries(networkAddresses)) {
      const chain = chainByEvmId.get(id);
      if (chain === undefined) continue;
      for (const kind of Array.isArray(kinds) ? kinds : [kinds]) {
        const deployment = deployments[String(kind)];
        const address = isObject(deployment) ? deployment.address : undefined;
        if (!isContractAddress(chain, address)) continue;
        rows.push({
          chain,
          address,
          ...SAFE,
          category: 'SMART_CONTRACT',
          tags: [`${contractName} ${version}`],
        });
      }
    }
  }
  return rows;
}

const ZEROX = { entity: '0x', name: '0x', url: 'https://0x.org' } as const;

/** The list contains wrapped Ether, which is not a contract of 0x. */
const ZEROX_FOREIGN: ReadonlySet<string> = new Set(['etherToken']);

async function zeroExRows(folder: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [id, contracts] of Object.entries(readJson(folder, 'addresses.json'))) {
    const chain = chainByEvmId.get(id);
    if (chain === undefined || !isObject(contracts)) continue;
    const transformers = isObject(contracts.transformers) ? contracts.transformers : {};
    for (const [key, address] of [...Object.entries(contracts), ...Object.entries(transformers)]) {
      if (!isContractAddress(chain, address) || ZEROX_FOREIGN.has(key)) continue;
      rows.push({
        chain,
        address,
        ...ZEROX,
        category: key === 'zrxToken' ? 'TOKEN' : 'DEX',
        tags: [words(key)],
      });
    }
  }
  return rows;
}

async function metamaskRows(folder: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [address, token] of Object.entries(readJson(folder, 'contract-map.json'))) {
    // The map covers Ethereum mainnet.
    if (!isContractAddress('ETH', address) || !isObject(token) || typeof token.name !== 'string') continue;
    const symbol = typeof token.symbol === 'string' && token.symbol !== '' ? token.symbol : null;
    rows.push({
      chain: 'ETH',
      address,
      entity: `token:eth:${address.toLowerCase()}`,
      name: symbol === null ? token.name : `${token.name} (${symbol})`,
      category: 'TOKEN',
      url: null,
      tags: [token.erc20 === true ? 'erc20' : 'erc721'],
    });
  }
  return rows;
}

const AXELAR = { entity: 'axelar', name: 'Axelar', url: 'https://axelar.network' } as const;

async function axelarRows(folder: string): Promise<Row[]> {
  const rows: Row[] = [];
  const { chains } = readJson(folder, 'info', 'mainnet.json');
  for (const config of Object.values(isObject(chains) ? chains : {})) {
    const chain = isObject(config) ? chainByEvmId.get(String(config.chainId)) : undefined;
    if (chain === undefined || !isObject(config) || !isObject(config.contracts)) continue;
    for (const [name, contract] of Object.entries(config.contracts)) {
      if (!isObject(contract)) continue;
      for (const key of ['address', 'implementation'] as const) {
        const address = contract[key];
        if (!isContractAddress(chain, address)) continue;
        const tag = key === 'address' ? words(name) : `${words(name)} implementation`;
        rows.push({ chain, address, ...AXELAR, category: 'BRIDGE', tags: [tag] });
      }
    }
  }
  return rows;
}

const WORMHOLE = { entity: 'wormhole', name: 'Wormhole', url: 'https://wormhole.com' } as const;
const CIRCLE = { entity: 'circle', name: 'Circle', url: 'https://www.circle.com' } as const;
const WORMHOLE_FILES: readonly (readonly [string, string])[] = [
  ['core', 'coreBridgeContracts'],
  ['tokenBridge', 'tokenBridgeContracts'],
  ['nftBridge', 'nftBridgeContracts'],
  ['relayer', 'relayerContracts'],
  ['tokenBridgeRelayer', 'tokenBridgeRelayerContracts'],
  ['circle', 'circleContracts'],
];

async function wormholeRows(folder: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [file, constant] of WORMHOLE_FILES) {
    const module = await load(folder, 'dist', 'esm', 'constants', 'contracts', `${file}.js`);
    const networks = module[constant];
    if (!Array.isArray(networks)) throw new Error(`${file}.js no longer exports ${constant}.`);
    const mainnet = (networks as [string, [string, unknown][]][]).find(
      ([network]) => network === 'Mainnet',
    )?.[1];
    for (const [name, value] of mainnet ?? []) {
      const chain = WORMHOLE_CHAINS.get(name);
      if (chain === undefined) continue;
      const named: [string, unknown][] = isObject(value) ? Object.entries(value) : [[file, value]];
      for (const [key, address] of named) {
        if (!isContractAddress(chain, address)) continue;
        const owner = key === 'tokenMessenger' || key === 'messageTransmitter' ? CIRCLE : WORMHOLE;
        rows.push({ chain, address, ...owner, category: 'BRIDGE', tags: [words(key)] });
      }
    }
  }
  return rows;
}

const PACKAGES: readonly Package[] = [
  {
    name: '@bgd-labs/aave-address-book',
    version: '4.44.22',
    licence: 'MIT',
    url: 'https://github.com/bgd-labs/aave-address-book',
    rows: aaveRows,
  },
  {
    name: '@wormhole-foundation/sdk-base',
    version: '6.1.5',
    licence: 'Apache-2.0',
    url: 'https://github.com/wormhole-foundation/wormhole-sdk-ts',
    rows: wormholeRows,
  },
  {
    name: '@axelar-network/axelar-chains-config',
    version: '1.3.0',
    licence: 'MIT',
    url: 'https://github.com/axelarnetwork/axelar-contract-deployments',
    rows: axelarRows,
  },
  {
    name: '@safe-global/safe-deployments',
    version: '1.37.63',
    licence: 'MIT',
    url: 'https://github.com/safe-global/safe-deployments',
    rows: safeRows,
  },
  {
    name: '@0x/contract-addresses',
    version: '8.13.0',
    licence: 'Apache-2.0',
    url: 'https://github.com/0xProject/protocol',
    rows: zeroExRows,
  },
  {
    name: '@metamask/contract-metadata',
    version: '2.5.0',
    licence: 'ISC',
    url: 'https://github.com/MetaMask/contract-metadata',
    rows: metamaskRows,
  },
];

async function generate(work: string, source: Package): Promise<void> {
  const { name, version, licence, url } = source;
  const { folder, date } = await fetchPackage(work, source);
  const unique = new Map<string, Row>();
  for (const row of await source.rows(folder)) {
    const key = `${row.chain} ${row.chain === 'SOL' ? row.address : row.address.toLowerCase()}`;
    if (!unique.has(key)) unique.set(key, row);
  }
  if (unique.size === 0) throw new Error(`${name}@${version} holds no address any more.`);
  const header = { package: name, version, licence, url, date };
  const lines = [header, ...unique.values()].map((row) => JSON.stringify(row));
  writeFileSync(
    shippedData('packages', `${name.replace(/^@/, '').replace('/', '_')}.ndjson`),
    `${lines.join('\n')}\n`,
  );
  process.stderr.write(`${name}@${version}: ${unique.size} addresses\n`);
}

const work = mkdtempSync(join(tmpdir(), 'assay-packages-'));
try {
  mkdirSync(shippedData('packages'), { recursive: true });
  for (const source of PACKAGES) await generate(work, source);
} finally {
  rmSync(work, { recursive: true, force: true });
}

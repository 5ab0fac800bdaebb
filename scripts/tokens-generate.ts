/**
 * Generates data/tokens.json: the curated list of token contracts with transfers that count as evidence. The sources are npm packages under
 * permissive licences in which projects publish token contracts, and the pegs of data/prices.json. Run by hand when a version below is
 * raised or a peg is added: `npm run build && node dist/scripts/tokens-generate.js`.
 *
 * A token is never added because of a price, a pool, a symbol or an event on chain: anyone can create those.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { shippedData } from '../src/base/paths.ts';
import { CHAINS, type ChainId, chainOf } from '../src/chains/registry.ts';
import { canonicalAsset } from '../src/chains/tokens.ts';
import { fetchPackage } from './npm-package.ts';
import { WORMHOLE_CHAINS } from './wormhole-chains.ts';

interface Token {
  readonly chain: ChainId;
  readonly asset: string;
  readonly symbol: string;
  readonly decimals: number;
}

interface Source {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly url: string;
  readonly tokens: (folder: string, work: string) => Promise<Token[]>;
}

type Json = Readonly<Record<string, unknown>>;

const chainByEvmId = new Map<string, ChainId>(
  CHAINS.filter((chain) => chain.family === 'evm').map((chain) => [
    chain.caip2.slice('eip155:'.length),
    chain.id,
  ]),
);
const load = async (...path: string[]): Promise<Json> =>
  (await import(pathToFileURL(join(...path)).href)) as Json;
const readJson = (...path: string[]): Json => JSON.parse(readFileSync(join(...path), 'utf8')) as Json;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns null for placeholders (the zero address, precompiles) and for text that is not an asset of the chain. */
function tokenOf(chain: ChainId, address: unknown, symbol: unknown, decimals: unknown): Token | null {
  if (typeof address !== 'string' || /^0x0{30}/.test(address) || /^0x(.)\1{39}$/.test(address)) return null;
  if (typeof symbol !== 'string' || symbol === '' || symbol.length > 64) return null;
  if (typeof decimals !== 'number' || !Number.isInteger(decimals) || decimals < 0 || decimals > 77)
    return null;
  return { chain, asset: canonicalAsset(chain, address), symbol, decimals };
}

/** Assets of the markets, and the tokens that the market issues for them. */
const AAVE_MARKETS = /^AaveV[23].*\.mjs$/;
const AAVE_ISSUED = [
  ['A_TOKEN', 'a'],
  ['V_TOKEN', 'variableDebt'],
  ['S_TOKEN', 'stableDebt'],
  ['STATIC_A_TOKEN', 'stata'],
  ['STATA_TOKEN', 'waTokens '],
] as const;

async function aaveTokens(folder: string): Promise<Token[]> {
  const tokens: (Token | null)[] = [];
  for (const file of readdirSync(join(folder, 'dist'))
    .filter((name) => AAVE_MARKETS.test(name))
    .sort()) {
    const module = await load(folder, 'dist', file);
    const chain = chainByEvmId.get(String(module.CHAIN_ID));
    if (chain === undefined || !isObject(module.ASSETS)) continue;
    for (const [symbol, asset] of Object.entries(module.ASSETS)) {
      if (!isObject(asset)) continue;
      tokens.push(tokenOf(chain, asset.UNDERLYING, symbol, asset.decimals));
      for (const [kind, prefix] of AAVE_ISSUED)
        tokens.push(tokenOf(chain, asset[kind], `${prefix}${symbol}`, asset.decimals));
    }
  }
  return tokens.filter((token) => token !== null);
}

async function metamaskTokens(folder: string): Promise<Token[]> {
  return Object.entries(readJson(folder, 'contract-map.json')).flatMap(([address, token]) => {
    // The map covers Ethereum mainnet.
    const read = isObject(token) ? tokenOf('ETH', address, token.symbol, token.decimals) : null;
    return read === null ? [] : [read];
  });
}

async function zeroExTokens(folder: string): Promise<Token[]> {
  return Object.entries(readJson(folder, 'addresses.json')).flatMap(([id, contracts]) => {
    const chain = chainByEvmId.get(id);
    if (chain === undefined || !isObject(contracts)) return [];
    const { symbol, decimals } = chainOf(chain);
    return [
      tokenOf(chain, contracts.zrxToken, 'ZRX', 18),
      // The wrapper contract of the chain's own coin.
      tokenOf(chain, contracts.etherToken, `W${symbol}`, decimals),
    ].filter((token) => token !== null);
  });
}

async function wormholeTokens(folder: string, work: string): Promise<Token[]> {
  const path = join(folder, 'dist', 'esm', 'constants', 'tokens', 'mainnet.js');
  // The module imports one helper from its own package, which only changes how its table is looked up.
  const source = readFileSync(path, 'utf8').replace(
    /^import .*constMap.*$/m,
    'const constMap = (rows) => rows;',
  );
  const alone = join(work, 'wormhole-tokens.mjs');
  writeFileSync(alone, source);
  const table = Object.values(await load(alone)).find((value) => Array.isArray(value));
  if (!Array.isArray(table)) throw new Error('tokens/mainnet.js no longer exports its table.');
  return (table as [string, [string, Json][]][]).flatMap(([name, rows]) => {
    const chain = WORMHOLE_CHAINS.get(name);
    if (chain === undefined) return [];
    return rows.flatMap(([, { address, symbol, decimals }]) => {
      const token = address === 'native' ? null : tokenOf(chain, address, symbol, decimals);
      return token === null ? [] : [token];
    });
  });
}

/** In order of precedence for the name of a token. Axelar's configuration contains no token contracts. */
const SOURCES: readonly Source[] = [
  {
    name: '@metamask/contract-metadata',
    version: '2.5.0',
    licence: 'ISC',
    url: 'https://github.com/MetaMask/contract-metadata',
    tokens: metamaskTokens,
  },
  {
    name: '@bgd-labs/aave-address-book',
    version: '4.44.22',
    licence: 'MIT',
    url: 'https://github.com/bgd-labs/aave-address-book',
    tokens: aaveTokens,
  },
  {
    name: '@wormhole-foundation/sdk-base',
    version: '6.1.5',
    licence: 'Apache-2.0',
    url: 'https://github.com/wormhole-foundation/wormhole-sdk-ts',
    tokens: wormholeTokens,
  },
  {
    name: '@0x/contract-addresses',
    version: '8.13.0',
    licence: 'Apache-2.0',
    url: 'https://github.com/0xProject/protocol',
    tokens: zeroExTokens,
  },
];

interface Peg {
  readonly chain: ChainId;
  readonly asset: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly source: string;
  /** ISO date of the source, if the row has its own. */
  readonly date?: string;
}

interface SourceRecord {
  readonly id: string;
  readonly url: string;
  readonly date: string;
  readonly version?: string;
  readonly licence?: string;
}

const ABOUT =
  'Token contracts whose transfers are evidence. Of every other token anybody can forge transfers in the name of others: those never ' +
  'score. rows: [chain, asset as in a Transfer, symbol as its source writes it, decimals, index of the source]. Made by ' +
  'scripts/tokens-generate.ts; do not edit by hand. docs/decisions/evidence.md.';

async function generate(work: string): Promise<void> {
  const sources: SourceRecord[] = [];
  const rows = new Map<string, readonly [ChainId, string, string, number, number]>();
  const add = ({ chain, asset, symbol, decimals }: Token, source: number): void => {
    const key = `${chain} ${asset}`;
    if (asset !== chainOf(chain).symbol && !rows.has(key))
      rows.set(key, [chain, asset, symbol, decimals, source]);
  };
  const { pegs, asOf } = readJson(shippedData('prices.json')) as unknown as {
    readonly pegs: readonly Peg[];
    readonly asOf: string;
  };
  for (const { chain, asset, symbol, decimals, source, date = asOf } of pegs) {
    let at = sources.findIndex((known) => known.url === source && known.date === date);
    if (at < 0) at = sources.push({ id: 'prices.json', url: source, date }) - 1;
    add({ chain, asset: canonicalAsset(chain, asset), symbol, decimals }, at);
  }
  for (const source of SOURCES) {
    const { name, version, licence, url } = source;
    const { folder, date } = await fetchPackage(work, source);
    const tokens = await source.tokens(folder, work);
    if (tokens.length === 0) throw new Error(`${name}@${version} holds no token any more.`);
    const at = sources.push({ id: name, version, licence, url, date }) - 1;
    for (const token of tokens) add(token, at);
    process.stderr.write(`${name}@${version}: ${tokens.length} tokens\n`);
  }
  const order = new Map(CHAINS.map(({ id }, index) => [id as ChainId, index]));
  const sorted = [...rows.values()].sort(
    (a, b) => (order.get(a[0]) ?? 0) - (order.get(b[0]) ?? 0) || (a[1] < b[1] ? -1 : 1),
  );
  const lines = sorted.map((row) => `    ${JSON.stringify(row)}`).join(',\n');
  const head = JSON.stringify({ version: 1, about: ABOUT, sources }, null, 2).replace(/\n}$/, '');
  writeFileSync(shippedData('tokens.json'), `${head},\n  "rows": [\n${lines}\n  ]\n}\n`);
  for (const { id } of CHAINS) {
    const count = sorted.filter(([chain]) => chain === id).length;
    if (count > 0) process.stderr.write(`${id}: ${count}\n`);
  }
}

const work = mkdtempSync(join(tmpdir(), 'assay-tokens-'));
try {
  await generate(work);
} finally {
  rmSync(work, { recursive: true, force: true });
}

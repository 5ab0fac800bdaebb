/**
 * Generates data/prices.json (monthly closes, pegs) and data/price-feeds.json (Chainlink feeds, Uniswap factories). Run by hand if one of
 * the inputs changes: `npm run build && node dist/scripts/prices-generate.js <folder>`. The folder contains `monthly-closes.csv` (symbol,
 * month, close_usd, source, …, max_relative_spread), `sources.json` (source id → repository and commit) and `chainlink-feeds.csv` (chain,
 * network, symbol, proxy, decimals). Contract addresses of pegged tokens come from the npm packages below, which are fetched with `npm
 * pack` into a temporary folder.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { shippedData } from '../src/base/paths.ts';
import { parseAddress } from '../src/chains/address/parse.ts';
import { CHAINS, type ChainId, isEvm } from '../src/chains/registry.ts';
import { canonicalAsset } from '../src/chains/tokens.ts';
import { fetchPackage } from './npm-package.ts';

/** The day on which the inputs were read. */
const AS_OF = '2026-11-22';
/** If the sources of a month differ by more than this share of the close, the file lists the month. */
const DISCREPANCY_MIN = 0.02;

const rowsOf = (file: string): Record<string, string>[] => {
  const [header = '', ...lines] = readFileSync(file, 'utf8').trim().split(/\r?\n/);
  const names = header.split(',');
  return lines.map((line) => {
    const cells = line.split(',');
    return Object.fromEntries(names.map((name, at) => [name, cells[at] ?? '']));
  });
};

// --- closes -----------------------------------------------------------------------------------------------------------

interface MonthClose {
  readonly month: string;
  readonly usd: number;
  readonly source: string;
  readonly spread: number;
}

const monthNumber = (month: string): number => {
  const [year = 0, index = 0] = month.split('-').map(Number);
  return year * 12 + index - 1;
};

/** Eight significant digits: five more than any use needs, without the noise of binary fractions. */
const rounded = (usd: number): number => Number(usd.toPrecision(8));

const NOTES: Readonly<Record<string, string>> = {
  POL: 'MATIC until 2024-08, POL from 2024-09: Polygon PoS replaced its native coin MATIC by POL one to one on 2024-09-04.',
  FTM: 'Ends in December 2024. S, the coin of Sonic, is not the native coin of Fantom Opera, and its closes are not used.',
};

/** The series of one native coin, from the rows of one or more symbols of the input. */
function seriesOf(symbol: string, closes: readonly MonthClose[]): object {
  const byMonth = new Map(closes.map((close) => [monthNumber(close.month), close]));
  const months = [...byMonth.keys()].sort((a, b) => a - b);
  const [first = 0] = months;
  const last = months.at(-1) ?? first;
  const values: (number | null)[] = [];
  const sources: { source: string; from: string; to: string }[] = [];
  for (let at = first; at <= last; at++) {
    const close = byMonth.get(at);
    values.push(close === undefined ? null : rounded(close.usd));
    if (close === undefined) continue;
    const source = close.source.replace(/ \(.*$/, '');
    const newest = sources.at(-1);
    if (newest?.source === source) newest.to = close.month;
    else sources.push({ source, from: close.month, to: close.month });
  }
  return {
    symbol,
    firstMonth: byMonth.get(first)?.month,
    lastMonth: byMonth.get(last)?.month,
    verified: false,
    ...(NOTES[symbol] === undefined ? {} : { note: NOTES[symbol] }),
    sources,
    closes: values,
  };
}

function readCloses(folder: string): { monthly: object[]; missing: string[]; discrepancies: object[] } {
  const bySymbol = new Map<string, MonthClose[]>();
  for (const row of rowsOf(join(folder, 'monthly-closes.csv'))) {
    const close: MonthClose = {
      month: row.month ?? '',
      usd: Number(row.close_usd),
      source: row.source ?? '',
      spread: Number(row.max_relative_spread),
    };
    if (!/^\d{4}-\d{2}$/.test(close.month) || !(close.usd > 0))
      throw new Error(`${row.symbol} ${row.month}: not a close.`);
    const symbol = row.symbol === 'MATIC' ? 'POL' : (row.symbol ?? '');
    const known = bySymbol.get(symbol);
    if (known === undefined) bySymbol.set(symbol, [close]);
    else known.push(close);
  }
  const symbols = [...new Set<string>(CHAINS.map(({ symbol }) => symbol))];
  const monthly: object[] = [];
  const missing: string[] = [];
  const discrepancies: object[] = [];
  for (const symbol of symbols) {
    const closes = bySymbol.get(symbol);
    if (closes === undefined) missing.push(symbol);
    else {
      monthly.push(seriesOf(symbol, closes));
      for (const { month, usd, spread } of closes)
        if (spread > DISCREPANCY_MIN) discrepancies.push({ symbol, month, usd, relativeSpread: spread });
    }
  }
  return { monthly, missing, discrepancies };
}

// --- pegs -------------------------------------------------------------------------------------------------------------

interface Peg {
  readonly chain: ChainId;
  readonly asset: string;
  readonly symbol: string;
  readonly decimals: number;
  /** `USD`, or the symbol of the native coin that one token equals. */
  readonly of: string;
  /** The last day (UTC) on which the peg holds. */
  readonly validUntil?: string;
  readonly note?: string;
  readonly source: string;
  readonly date: string;
  readonly verified: false;
}

const AAVE = { name: '@bgd-labs/aave-address-book', version: '4.44.22', licence: 'MIT' } as const;
const AAVE_SOURCE = `https://www.npmjs.com/package/${AAVE.name}/v/${AAVE.version}`;

/** Asset names in Aave's address book → the unit that one token equals. Tokens that can lose their peg on a market are left out. */
const AAVE_PEGS: Readonly<Record<string, string>> = {
  ...{ WETH: 'ETH', ETH: 'ETH', WETHe: 'ETH' },
  ...{ WBTC: 'BTC', WBTCe: 'BTC', cbBTC: 'BTC', BTCB: 'BTC' },
  ...{ WBNB: 'BNB', WPOL: 'POL', WAVAX: 'AVAX', WMNT: 'MNT', CELO: 'CELO', WXDAI: 'USD' },
  ...{ USDT: 'USD', USDt: 'USD', USDT0: 'USD', USDTe: 'USD' },
  ...{ USDC: 'USD', USDCn: 'USD', USDCe: 'USD', USDbC: 'USD' },
  ...{ DAI: 'USD', DAIe: 'USD', USDS: 'USD' },
  ...{ PYUSD: 'USD', GUSD: 'USD', USDP: 'USD', RLUSD: 'USD', BUSD: 'USD' },
  // Pegged to the dollar by collateral, like DAI.
  USDe: 'USD',
};

/** Paxos: no new BUSD from 2023-02-21, redeemable through at least February 2024. */
const BUSD_UNTIL = '2024-02-29';

const LLAMA =
  'https://github.com/DefiLlama/DefiLlama-Adapters/blob/002fdaecad4848005bb52cb512aa41c1e544df5d/projects/helper/coreAssets.json';
const llama = (chain: ChainId, asset: string, symbol: string, decimals: number, of: string): Peg => ({
  ...{ chain, asset, symbol, decimals, of },
  ...{ source: LLAMA, date: '2026-08-22', verified: false },
});

/** A dollar token, with the page on which its issuer publishes the contract. */
const issued = (
  chain: ChainId,
  asset: string,
  symbol: string,
  decimals: number,
  [source, note]: readonly [source: string, note?: string],
): Peg => ({
  ...{ chain, asset, symbol, decimals, of: 'USD' },
  ...(note === undefined ? {} : { note }),
  ...{ source, date: '2026-11-22', verified: false },
});

const CIRCLE = ['https://developers.circle.com/stablecoins/usdc-contract-addresses'] as const;
const TETHER = ['https://tether.to/en/supported-protocols/'] as const;
const MAKER = [
  'https://github.com/ethereum-optimism/ethereum-optimism.github.io/tree/master/data/DAI',
] as const;
const FIRST_DIGITAL = ['https://www.firstdigitallabs.com/fdusd'] as const;
const WORLD_LIBERTY = ['https://worldlibertyfinancial.com/usd1'] as const;
const RIPPLE = [
  'https://docs.ripple.com/products/stablecoin/developer-resources/rlusd-on-the-xrpl',
  'The currency code RLUSD in hex.',
] as const;
const TRUE_USD = ['https://tusd.io'] as const;
const BY_COLLATERAL = 'Held to the dollar by collateral.';
const USDD = ['https://usdd.io', BY_COLLATERAL] as const;

/** Dollar tokens that are in no package. */
const ISSUED_PEGS: readonly Peg[] = [
  issued('ETH', '0xc5f0f7b66764F6ec8C8Dff7BA683102295E16409', 'FDUSD', 18, FIRST_DIGITAL),
  issued('BSC', '0xc5f0f7b66764F6ec8C8Dff7BA683102295E16409', 'FDUSD', 18, FIRST_DIGITAL),
  issued('ETH', '0x8d0D000Ee44948FC98c9B98A4FA4921476f08B0d', 'USD1', 18, WORLD_LIBERTY),
  issued('BSC', '0x8d0D000Ee44948FC98c9B98A4FA4921476f08B0d', 'USD1', 18, WORLD_LIBERTY),
  issued('ETH', '0x0000000000085d4780B73119b644AE5ecd22b376', 'TUSD', 18, TRUE_USD),
  issued('BSC', '0x40af3827F39D0EAcBF4A168f8D4ee67c121D11c9', 'TUSD', 18, TRUE_USD),
  issued('TRON', 'TUpMhErZL2fhh4sVNULAbNKLokS4GjC1F4', 'TUSD', 18, TRUE_USD),
  issued('TRON', 'TXDk8mbtRbXeYuMNS83CfKPaYYT8XWv9Hz', 'USDD', 18, USDD),
  issued('TRON', 'TPYmHEhy5n8TCEfYGqW2rPxsghSfzghPDn', 'USDDOLD', 18, USDD),
  issued('BASE', '0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb', 'DAI', 18, MAKER),
  issued('BASE', '0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2', 'USDT', 6, [
    'https://github.com/ethereum-optimism/ethereum-optimism.github.io/tree/master/data/USDT',
    'Bridged by the bridge of Base.',
  ]),
  issued('CELO', '0x765DE816845861e75A25fCA122bb6898B8B1282a', 'cUSD', 18, [
    'https://docs.celo.org/tooling/contracts/token-contracts',
    `${BY_COLLATERAL} Named USDm since 2025.`,
  ]),
  issued(
    'XRP',
    '524C555344000000000000000000000000000000.rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De',
    'RLUSD',
    15,
    RIPPLE,
  ),
  issued(
    'XRP',
    '5553444300000000000000000000000000000000.rGm7WCVp9gb4jZHWTEtGUr4dd74z2XuWhE',
    'USDC',
    15,
    CIRCLE,
  ),
  issued('XLM', 'USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN', 'USDC', 7, CIRCLE),
  issued('ALGO', '31566704', 'USDC', 6, CIRCLE),
  issued('ALGO', '312769', 'USDt', 6, TETHER),
  issued('DOT', 'standard_assets/1984', 'USDt', 6, TETHER),
  issued('DOT', 'standard_assets/1337', 'USDC', 6, CIRCLE),
  issued('XTZ', 'KT1XnTn74bUtxHfDtBmm2bGZAQfhPbvKWR8o:0', 'USDt', 6, TETHER),
];

/** Tokens that are in no package. */
const OTHER_PEGS: readonly Peg[] = [
  {
    ...{ chain: 'GNOSIS', asset: 'XDAI', symbol: 'XDAI', decimals: 18, of: 'USD' },
    ...{ source: 'https://docs.gnosischain.com/about/tokens/xdai', date: '2026-11-21', verified: false },
  },
  {
    ...llama('BSC', '0xe9e7cea3dedca5984780bafc599bd69add087d56', 'BUSD', 18, 'USD'),
    validUntil: BUSD_UNTIL,
  },
  llama('GNOSIS', '0x4ecaba5870353805a9f068101a40e0f32ed605c6', 'USDT', 6, 'USD'),
  llama('FANTOM', '0x21be370d5312f44cb42ce377bc9b8a0cef1a4c83', 'WFTM', 18, 'FTM'),
  llama('CRONOS', '0x5c7f8a570d578ed84e63fdfa7b1ee72deae1ae23', 'WCRO', 18, 'CRO'),
  llama('CRONOS', '0xc21223249ca28397b4b6541dffaecc539bff0c59', 'USDC', 6, 'USD'),
  llama('CRONOS', '0x66e428c3f67a68878562e79a0234c1f83c208770', 'USDT', 6, 'USD'),
  llama('AVALANCHE', '0x152b9d0fdc40c096757f570a51e494bd4b943e50', 'BTC.b', 8, 'BTC'),
  llama('TRON', 'TNUC9Qb1rRpS5CbWLmNMxXBjyFoydXjWFR', 'WTRX', 6, 'TRX'),
  llama('SOL', 'So11111111111111111111111111111111111111112', 'WSOL', 9, 'SOL'),
  llama('SOL', '2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo', 'PYUSD', 6, 'USD'),
  {
    ...{ chain: 'MOONBEAM', asset: '0xAcc15dC74880C9944775448304B263D191c6077F', symbol: 'WGLMR' },
    ...{ decimals: 18, of: 'GLMR', verified: false, date: '2026-11-22' },
    source: 'https://github.com/Uniswap/smart-order-router/blob/main/src/util/chains.ts',
  },
  {
    ...{ chain: 'ETHERLINK', asset: '0xc9B53AB2679f573e480d01e0f49e2B5CFB7a3EAb', symbol: 'WXTZ' },
    ...{ decimals: 18, of: 'XTZ', verified: false, date: '2026-11-22' },
    source: 'https://github.com/duneanalytics/spellbook/tree/main/dbt_subprojects/tokens/models/prices',
  },
  {
    ...{ chain: 'TRON', asset: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', symbol: 'USDT', decimals: 6, of: 'USD' },
    ...{ source: 'https://tether.to/en/supported-protocols/', date: '2026-11-21', verified: false },
  },
  {
    ...llama('TRON', 'TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8', 'USDC', 6, 'USD'),
    validUntil: '2025-01-31',
    note: 'Circle ended USDC on TRON in February 2024 and redeemed it for its customers until February 2025.',
  },
  {
    ...{ chain: 'SOL', asset: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', symbol: 'USDC', decimals: 6 },
    ...{ of: 'USD', source: 'https://developers.circle.com/stablecoins/usdc-contract-addresses' },
    ...{ date: '2026-11-21', verified: false },
  },
  {
    ...{ chain: 'SOL', asset: 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', symbol: 'USDT', decimals: 6 },
    ...{
      of: 'USD',
      source: 'https://tether.to/en/supported-protocols/',
      date: '2026-11-21',
      verified: false,
    },
  },
  {
    ...{
      chain: 'TON',
      asset: 'EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs',
      symbol: 'USDT',
      decimals: 6,
    },
    ...{
      of: 'USD',
      source: 'https://tether.to/en/supported-protocols/',
      date: '2026-11-21',
      verified: false,
    },
  },
];

const chainByEvmId = new Map<string, ChainId>(
  CHAINS.filter(({ id }) => isEvm(id)).map(({ id, caip2 }) => [caip2.slice('eip155:'.length), id]),
);

interface AaveModule {
  readonly CHAIN_ID?: number;
  readonly ASSETS?: Readonly<Record<string, { readonly UNDERLYING?: string; readonly decimals?: number }>>;
}

async function aavePegs(work: string): Promise<Peg[]> {
  const { folder, date } = await fetchPackage(work, AAVE);
  const pegs: Peg[] = [];
  const modules = readdirSync(join(folder, 'dist'))
    .filter((file) => /^AaveV[23][A-Z].*\.mjs$/.test(file) && !/Sepolia|Fuji|Goerli|Mumbai/.test(file))
    .sort();
  for (const file of modules) {
    const module = (await import(pathToFileURL(join(folder, 'dist', file)).href)) as AaveModule;
    const chain = chainByEvmId.get(String(module.CHAIN_ID));
    if (chain === undefined) continue;
    for (const [symbol, { UNDERLYING: asset, decimals }] of Object.entries(module.ASSETS ?? {})) {
      const of = AAVE_PEGS[symbol];
      if (of === undefined || asset === undefined || decimals === undefined) continue;
      pegs.push({
        ...{ chain, asset, symbol, decimals, of },
        ...(symbol === 'BUSD' ? { validUntil: BUSD_UNTIL } : {}),
        ...{ source: AAVE_SOURCE, date, verified: false },
      });
    }
  }
  return pegs;
}

function uniquePegs(pegs: readonly Peg[]): Peg[] {
  const unique = new Map<string, Peg>();
  for (const peg of pegs) {
    const asset = canonicalAsset(peg.chain, peg.asset);
    const key = `${peg.chain} ${asset}`;
    if (!unique.has(key)) unique.set(key, { ...peg, asset });
  }
  const order = new Map<string, number>(CHAINS.map(({ id }, at) => [id, at]));
  return [...unique.values()].sort(
    (a, b) =>
      (order.get(a.chain) ?? 0) - (order.get(b.chain) ?? 0) ||
      (a.symbol < b.symbol ? -1 : a.symbol > b.symbol ? 1 : a.asset < b.asset ? -1 : 1),
  );
}

// --- feeds and pools --------------------------------------------------------------------------------------------------

const FEED_CHAINS: Readonly<Record<string, ChainId>> = {
  ...{ ethereum: 'ETH', 'bnb-chain': 'BSC', polygon: 'POLYGON', arbitrum: 'ARBITRUM', optimism: 'OPTIMISM' },
  ...{ base: 'BASE', avalanche: 'AVALANCHE', linea: 'LINEA', 'gnosis-chain': 'GNOSIS', fantom: 'FANTOM' },
  ...{ mantle: 'MANTLE', scroll: 'SCROLL', zksync: 'ZKSYNC', celo: 'CELO', moonbeam: 'MOONBEAM' },
};

const feedsOf = (folder: string): object[] =>
  rowsOf(join(folder, 'chainlink-feeds.csv')).flatMap((row) => {
    const chain = FEED_CHAINS[row.chain ?? ''];
    if (chain === undefined) return [];
    const proxy = parseAddress(chain, row.proxy ?? '', 'proxy').canonical;
    return [{ chain, symbol: row.symbol, proxy, decimals: Number(row.decimals), verified: false }];
  });

const UNISWAP = 'https://github.com/Uniswap/sdks/blob/main/sdks/sdk-core/src/addresses.ts';
const PANCAKESWAP =
  'https://github.com/pancakeswap/pancake-frontend/blob/9b01ae07e44c28be766649af4486d9cf82687b3d/packages/v2-sdk/src/constants.ts';
const SUSHISWAP = 'https://www.npmjs.com/package/@sushiswap/core-sdk/v/0.1.2';
const V3 = '0x1F98431c8aD98523631AE4a59f267346ea31F984';
const SUSHISWAP_V2 = '0xc35DADB65012eC5796536bD9864eD8773aBc74C4';
const PANCAKESWAP_V2 = '0x02a84c1b3BBD7401a5f7fa98a384EBC70bB5749E';

/** Factories of one project. `date` is the day on which its list was read. */
const factoriesOf = (
  about: {
    readonly version: 2 | 3;
    readonly name: string;
    readonly source: string;
    readonly date: string;
  },
  addresses: readonly (readonly [ChainId, string])[],
): object[] =>
  addresses.map(([chain, factory]) => {
    const { version, name, source, date } = about;
    return { chain, version, name, factory, source, date, verified: false };
  });

const UNISWAP_DATE = '2026-08-07';
const FACTORIES: readonly object[] = [
  ...factoriesOf({ version: 3, name: 'Uniswap', source: UNISWAP, date: UNISWAP_DATE }, [
    ...(['ETH', 'OPTIMISM', 'ARBITRUM', 'POLYGON'] as const).map((chain) => [chain, V3] as const),
    ['BSC', '0xdB1d10011AD0Ff90774D0C6Bb92e5C5c8b4461F7'],
    ['AVALANCHE', '0x740b1c1de25031C31FF4fC9A62f554A55cdC1baD'],
    ['BASE', '0x33128a8fC17869897dcE68Ed026d694621f6FDfD'],
    ['CELO', '0xAfE208a311B21f13EF87E33A90049fC17A7acDEc'],
  ]),
  ...factoriesOf({ version: 2, name: 'Uniswap', source: UNISWAP, date: UNISWAP_DATE }, [
    ['ETH', '0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f'],
    ['OPTIMISM', '0x0c3c1c532F1e39EdF36BE9Fe0bE1410313E074Bf'],
    ['ARBITRUM', '0xf1D7CC64Fb4452F05c498126312eBE29f30Fbcf9'],
    ['POLYGON', '0x9e5A52f57b3038F1B8EeE45F28b3C1967e22799C'],
    ['BSC', '0x8909Dc15e40173Ff4699343b6eB8132c65e18eC6'],
    ['AVALANCHE', '0x9e5A52f57b3038F1B8EeE45F28b3C1967e22799C'],
    ['BASE', '0x8909Dc15e40173Ff4699343b6eB8132c65e18eC6'],
    ['CELO', '0x79a530c8e2fA8748B7B40dd3629C0520c2cCf03f'],
  ]),
  ...factoriesOf({ version: 2, name: 'SushiSwap', source: SUSHISWAP, date: '2026-11-22' }, [
    ['ETH', '0xC0AEe478e3658e2610c5F7A4A2E1777cE9e4f2Ac'],
    ...(['ARBITRUM', 'POLYGON', 'BSC', 'AVALANCHE', 'GNOSIS'] as const).map(
      (chain) => [chain, SUSHISWAP_V2] as const,
    ),
  ]),
  ...factoriesOf({ version: 2, name: 'PancakeSwap', source: PANCAKESWAP, date: '2026-11-22' }, [
    ['BSC', '0xcA143Ce32Fe78f1f7019d7d551a6402fC5350c73'],
    ['ETH', '0x1097053Fd2ea711dad45caCcc45EfF7548fCB362'],
    ...(['ARBITRUM', 'BASE', 'LINEA'] as const).map((chain) => [chain, PANCAKESWAP_V2] as const),
  ]),
];

// --- files ------------------------------------------------------------------------------------------------------------

/** JSON with one row per line, so that a change of one row is a one-line diff. */
function written(fields: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(fields).map(([name, value]) =>
    Array.isArray(value) && value.length > 0
      ? `  "${name}": [\n${value.map((row) => `    ${JSON.stringify(row)}`).join(',\n')}\n  ]`
      : `  "${name}": ${JSON.stringify(value)}`,
  );
  return `{\n${lines.join(',\n')}\n}\n`;
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Usage: prices-generate.js <folder>');
const work = mkdtempSync(join(tmpdir(), 'assay-prices-'));
try {
  const { monthly, missing, discrepancies } = readCloses(folder);
  const pegs = uniquePegs([...OTHER_PEGS, ...ISSUED_PEGS, ...(await aavePegs(work))]);
  const isPegged = (symbol: string): boolean => pegs.some(({ asset }) => asset === symbol);
  const unpriced = missing.filter((symbol) => !isPegged(symbol));
  const before = JSON.parse(readFileSync(shippedData('prices.json'), 'utf8')) as {
    coingeckoAbout: string;
    coingecko: { coins: Record<string, string>; platforms: Record<string, string> };
  };
  writeFileSync(
    shippedData('prices.json'),
    written({
      version: 2,
      about:
        'USD prices that ship with the product: closes of months of native coins, and pegs of tokens. Written by scripts/prices-generate.ts. Coarse: between two closes a coin can move by a third, and nothing here is newer than December 2025. Not a quote, not a valuation.',
      asOf: AS_OF,
      unpriced,
      unpricedAbout: 'Native coins without a cited close and without a peg.',
      monthlyAbout:
        'closes[0] is the close of `firstMonth` and is the price of the first instant of the next month; null: no source has that month. `sources` says which source gave which months; `priceSources` names the repository and the commit of each. Facts from public price histories, not checked against the exchanges themselves.',
      priceSources: JSON.parse(readFileSync(join(folder, 'sources.json'), 'utf8')) as object,
      discrepanciesAbout:
        'Months for which sources differ by more than 2 % of the close; the close that is used is `usd`.',
      discrepancies,
      monthly,
      pegsAbout:
        'Contracts whose token equals one US dollar or one native coin (`of`) until `validUntil` (last day, UTC): a rule, not a market price. Breaks of a peg (USDC and DAI in March 2023, a few days, down to 0.88) are not in it; give an own table for them, which goes first.',
      pegs,
      coingeckoAbout: before.coingeckoAbout,
      coingecko: {
        ...before.coingecko,
        coins: { ...before.coingecko.coins, POL: 'polygon-ecosystem-token' },
      },
    }),
  );
  writeFileSync(
    shippedData('price-feeds.json'),
    written({
      version: 1,
      about:
        'Contracts that are read for prices through the EVM nodes of the operator. Written by scripts/prices-generate.ts.',
      asOf: AS_OF,
      chainlinkAbout:
        'Proxies of Chainlink price feeds in USD. Several proxies of one symbol exist; `description()` and `decimals()` of each are checked on chain before it is used.',
      chainlinkSource:
        'https://docs.chain.link/data-feeds/price-feeds/addresses, as listed in an npm package under the MIT licence, published on 2025-11-03',
      chainlinkDate: '2025-11-03',
      heartbeatAbout:
        'Seconds after which a feed must have been updated even if the price has not moved. 86,400 is the longest heartbeat of the USD feeds of coins; the shorter ones are those of docs.chain.link.',
      heartbeatDefaultSeconds: 86_400,
      heartbeats: [
        { chain: 'ETH', symbol: 'ETH', seconds: 3_600 },
        { chain: 'ETH', symbol: 'BTC', seconds: 3_600 },
      ],
      feeds: feedsOf(folder),
      uniswapAbout:
        'Factories of pools. Version 3: `getPool(token, quote, fee)` finds the pools of a listed token. Version 2 (Uniswap v2 and forks with its interface): `getPair(token, quote)`.',
      uniswapFactories: FACTORIES,
    }),
  );
  process.stderr.write(
    `${monthly.length} coins, ${pegs.length} pegs, unpriced: ${unpriced.join(', ') || 'none'}\n`,
  );
} finally {
  rmSync(work, { recursive: true, force: true });
}

/**
 * Generates data/seed/wellknown.ndjson: addresses that every analyst knows, from a CSV with the columns chain, address, name, category,
 * source and date. Run by hand when the CSV changes: `npm run build && node dist/scripts/wellknown-generate.js FILE.csv`. The program's own
 * parsers read every address. A row that they reject is left out and reported. If no rule below matches a row's name, the run stops.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../src/base/errors.ts';
import { shippedData } from '../src/base/paths.ts';
import { parseAddress } from '../src/chains/address/parse.ts';
import { type ChainId, isEvm, parseChainId } from '../src/chains/registry.ts';
import { columnsOf, readRows } from '../src/sources/rows.ts';

const FILE = 'wellknown.ndjson';

/** Confidence in the publisher of an address. */
const TRUST: readonly (readonly [sourceStartsWith: string, confidence: number])[] = [
  // The project's own code, or official papers of a court or ministry.
  ['https://github.com/Uniswap/', 0.95],
  ['https://github.com/ChainSafe/lodestar/', 0.95],
  ['https://www.justice.gov/', 0.95],
  ['https://roninblockchain.substack.com/', 0.9],
  // Research with published methods, and code that many rely on.
  ['https://blog.wizsec.jp/', 0.9],
  ['https://github.com/DefiLlama/', 0.9],
  ['https://github.com/duneanalytics/spellbook', 0.85],
  ['https://defillama.com/cexs', 0.8],
  ['https://techcrunch.com/', 0.8],
  ['https://zenodo.org/', 0.8],
  ['https://medium.com/', 0.75],
  ['https://github.com/tayvano/', 0.75],
  ['https://ransomwhe.re', 0.7],
  ['https://www.coindesk.com/', 0.7],
  ['https://dark.link/', 0.6],
  // Forums, gists and lists without a publisher.
  ['https://blog.saturn.network/', 0.5],
  ['https://gist.github.com/', 0.5],
  ['https://bitcointalk.org/', 0.5],
  ['https://www.reddit.com/', 0.4],
];
/** Rows with this confidence or less are tagged `weak`. */
const WEAK_FROM = 0.6;

interface Naming {
  readonly entity: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly url?: string;
  readonly isContract?: boolean;
}

const EXCHANGES: Readonly<Record<string, string>> = {
  Binance: 'https://www.binance.com',
  Bybit: 'https://www.bybit.com',
  Kraken: 'https://www.kraken.com',
  Coinbase: 'https://www.coinbase.com',
  OKX: 'https://www.okx.com',
};

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, '-')
    .replace(/^-|-$/g, '');

/** Maps a name of the CSV to its entity: the first rule with a matching pattern applies. */
const RULES: readonly (readonly [pattern: RegExp, naming: (match: RegExpExecArray) => Naming])[] = [
  [
    /^Uniswap (.+)$/,
    ([, part = '']) => ({
      entity: 'uniswap',
      name: 'Uniswap',
      tags: [slug(part)],
      url: 'https://uniswap.org',
      isContract: true,
    }),
  ],
  [
    /^1inch (.+)$/,
    ([, part = '']) => ({
      entity: '1inch',
      name: '1inch',
      tags: [slug(part)],
      url: 'https://1inch.io',
      isContract: true,
    }),
  ],
  [
    /^Ethereum beacon deposit contract$/,
    () => ({
      entity: 'ethereum-deposit-contract',
      name: 'Ethereum 2.0 deposit contract',
      tags: ['beacon-chain'],
      url: 'https://ethereum.org',
      isContract: true,
    }),
  ],
  [
    /^Tether USD/,
    () => ({
      entity: 'tether',
      name: 'Tether USD (USDT)',
      tags: ['usdt'],
      url: 'https://tether.to',
      isContract: true,
    }),
  ],
  [
    /^Tornado Cash pool$/,
    () => ({
      entity: 'tornado-cash',
      name: 'Tornado Cash',
      tags: ['mixer'],
      url: 'https://tornado.cash',
      isContract: true,
    }),
  ],
  [
    /^(Binance|Bybit|Kraken|Coinbase|OKX) reserve wallet$/,
    ([, name = '']) => ({
      entity: slug(name),
      name,
      tags: ['reserve-wallet'],
      ...(EXCHANGES[name] === undefined ? {} : { url: EXCHANGES[name] }),
    }),
  ],
  [
    /^Silk Road thief/,
    () => ({ entity: 'silk-road-individual-x', name: 'Silk Road thief "Individual X"', tags: ['silk-road'] }),
  ],
  [
    /^US Government: Silk Road/,
    () => ({ entity: 'us-government', name: 'US Government', tags: ['seizure', 'silk-road'] }),
  ],
  [
    /^FBI: Colonial Pipeline/,
    () => ({ entity: 'us-government', name: 'US Government', tags: ['seizure', 'colonial-pipeline'] }),
  ],
  [
    /^Mt\. Gox thief of March 2011/,
    () => ({ entity: 'mt-gox-theft-2011', name: 'Mt. Gox thief of March 2011', tags: ['mt-gox'] }),
  ],
  [
    /^(?:Colonial Pipeline ransom|DarkSide affiliate)/,
    () => ({ entity: 'darkside', name: 'DarkSide', tags: ['colonial-pipeline'] }),
  ],
  [/^WannaCry/, () => ({ entity: 'wannacry', name: 'WannaCry', tags: [] })],
  [
    /^Twitter hack of July 2020$/,
    () => ({ entity: 'twitter-hack-2020', name: 'Twitter hack of July 2020', tags: [] }),
  ],
  [
    /^Ronin bridge exploiter$/,
    () => ({ entity: 'ronin-exploiter', name: 'Ronin bridge exploiter', tags: ['lazarus'] }),
  ],
  [
    /^Bybit exploiter/,
    () => ({ entity: 'bybit-exploiter', name: 'Bybit exploiter', tags: ['lazarus', 'tradertraitor'] }),
  ],
  [/^KuCoin exploiter/, () => ({ entity: 'kucoin-exploiter', name: 'KuCoin exploiter', tags: [] })],
  [
    /^(.+) hack \(service hack\)$/,
    ([, name = '']) => ({ entity: `${slug(name)}-hack`, name: `${name} hack`, tags: ['service-hack'] }),
  ],
];

/** Facts without a row in the CSV. */
const OWN = [
  {
    chain: 'BTC',
    address: '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
    entity: 'bitcoin-genesis',
    name: 'Bitcoin genesis block',
    category: 'OTHER',
    tags: ['genesis'],
    confidence: 0.95,
    sourceUrl: 'https://en.bitcoin.it/wiki/Genesis_block',
    date: '2009-01-03',
    verified: false,
  },
] as const;

const keyOf = (chain: string, address: string): string => {
  const { key } = parseAddress(parseChainId(chain), address);
  return `${chain} ${Buffer.from(key).toString('hex')}`;
};

function tryKeyOf(chain: string, address: string): string | null {
  try {
    return keyOf(chain, address);
  } catch {
    return null;
  }
}

/** Returns the canonical text. If the address is not valid, returns null and writes a line to stderr. */
function canonicalOf(chain: ChainId, address: string): string | null {
  try {
    return parseAddress(chain, address).canonical;
  } catch (error) {
    process.stderr.write(`left out ${chain} ${address}: ${messageOf(error)}\n`);
    return null;
  }
}

/** Addresses in the other files of the seed, which take precedence. */
function knownKeys(): Set<string> {
  const known = new Set<string>();
  const folder = shippedData('seed');
  for (const file of readdirSync(folder)) {
    if (!file.endsWith('.ndjson') || file === FILE) continue;
    for (const line of readFileSync(join(folder, file), 'utf8').split('\n')) {
      if (line.trim() === '' || line.startsWith('#')) continue;
      const { chain, address } = JSON.parse(line) as { chain: string; address: string };
      // A few rows name a fork of the chain that the address format belongs to.
      const found = tryKeyOf(chain, address);
      if (found !== null) known.add(found);
    }
  }
  return known;
}

function namingOf(name: string): Naming {
  for (const [pattern, naming] of RULES) {
    const match = pattern.exec(name);
    if (match !== null) return naming(match);
  }
  throw new Error(`No rule names '${name}'.`);
}

function trustOf(source: string): number {
  const found = TRUST.find(([start]) => source.startsWith(start));
  if (found === undefined) throw new Error(`No trust is given to ${source}.`);
  return found[1];
}

async function rowsOf(csv: string): Promise<string[]> {
  const known = knownKeys();
  const lines: string[] = [];
  const add = (row: { readonly chain: string; readonly address: string }): void => {
    const key = keyOf(row.chain, row.address);
    if (known.has(key)) return;
    known.add(key);
    lines.push(JSON.stringify(row));
  };
  for (const row of OWN) add(row);
  let cell: ReturnType<typeof columnsOf> | null = null;
  for await (const { cells } of readRows(csv, { delimiter: ',' })) {
    if (cell === null) {
      cell = columnsOf(cells);
      continue;
    }
    const chain = parseChainId(cell(cells, 'chain'));
    const canonical = canonicalOf(chain, cell(cells, 'address'));
    if (canonical === null) continue;
    const { tags, isContract, ...naming } = namingOf(cell(cells, 'name'));
    const confidence = trustOf(cell(cells, 'source'));
    add({
      chain,
      address: canonical,
      ...naming,
      category: cell(cells, 'category'),
      tags: confidence <= WEAK_FROM ? [...tags, 'weak'] : tags,
      confidence,
      ...(isContract === true && (isEvm(chain) || chain === 'TRON') ? { isContract } : {}),
      sourceUrl: cell(cells, 'source'),
      date: cell(cells, 'date'),
      verified: false,
    } as { readonly chain: string; readonly address: string });
  }
  return lines;
}

const [csv] = process.argv.slice(2);
if (csv === undefined) throw new Error('Name the CSV file.');
const rows = await rowsOf(csv);
writeFileSync(join(shippedData('seed'), FILE), `${rows.join('\n')}\n`);
process.stdout.write(`${rows.length} rows\n`);

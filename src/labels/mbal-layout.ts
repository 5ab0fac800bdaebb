/**
 * Writes synthetic files in the layout of MBAL, for tests and benchmarks of its size and faults. The shares are those that were
 * published about the file of 2024-02-08: rows by chain and method, entities, several categories, malformed rows. No row of the
 * dataset is copied.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { seededUint32 } from '../base/random.ts';
import type { AddressKey } from '../chains/address/address.ts';
import { formatAddressKey, parseAddress } from '../chains/address/parse.ts';
import { MBAL_COLUMNS, MBAL_SYNTHETIC } from '../sources/mbal/read.ts';

export interface MbalLayoutOptions {
  readonly rows: number;
  readonly seed: number;
  /** Receives the original of each address that is written in lower case. */
  readonly onLowered?: (original: string) => void;
}

/** What was written. Every count is of rows without the marker row. */
export interface MbalLayoutReport {
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
  /** Rows with a usable address: EVM and bech32. */
  readonly usable: number;
  /** Base58 addresses in lower case. */
  readonly lowered: number;
  readonly malformed: number;
  readonly quotedBreaks: number;
}

/** Rows of each chain in the published counts of the file of ten million. */
const CHAIN_ROWS: readonly (readonly [chain: string, rows: number])[] = [
  ['ethereum_mainnet', 6_346_154],
  ['bitcoin_mainnet', 1_808_605],
  ['bnb_chain_mainnet', 1_605_827],
  ['polygon_mainnet', 194_825],
  ['avalanche_c_chain', 44_589],
];
const ALL_ROWS = 10_000_000;

/** Of ten million rows: lower-cased base58 among those of Bitcoin, malformed rows of all chains, line breaks in quoted addresses. */
const LOWERED_ROWS = 1_758_356;
const MALFORMED_ROWS = 1_903;
const QUOTED_BREAKS = 21;
/** Distinct entities of the file, of which a few own most rows, and the share of rows that have one. */
const ENTITIES = 413;
const ENTITY_SHARE = 0.3447;

const CATEGORIES: readonly (readonly [cell: string, weight: number])[] = [
  ['smart_contract', 300],
  ['wallet', 130],
  ['exchange', 120],
  ['"cex, exchange"', 30],
  ['"nft, smart_contract"', 15],
  ['token', 60],
  ['liquid_staking', 40],
  ['defi', 40],
  ['dex', 35],
  ['nft', 30],
  ['gambling', 20],
  ['mining', 15],
  ['honeypot', 12],
  ['"phishing, honeypot"', 4],
  ['phishing', 10],
  ['scam', 8],
  ['mixer', 5],
  ['"mixer, smart_contract"', 2],
  ['no_kyc', 10],
  ['proxy', 10],
  ['bridge', 6],
  ['hack', 2],
  ['ransomware', 2],
  ['darknet', 2],
  ['donation', 1],
  ['payment', 1],
];

const BTC_EXAMPLES = [
  '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2',
  '34xp4vRoCGJym3xR7yCVPFHoCNxv4Twseo',
  'bc1qm34lsc65zpw79lxes69zkqmk6ee3ewf0j77s3h',
] as const;

const FLUSH_CHARS = 1 << 22;

/** Writes the file. The same options write the same bytes. */
export async function writeMbalLayout(
  path: string,
  { rows, seed, onLowered }: MbalLayoutOptions,
): Promise<MbalLayoutReport> {
  const next = seededUint32(seed);
  const fraction = (): number => next() / 2 ** 32;
  const pick = picker(CATEGORIES);
  const kinds = BTC_EXAMPLES.map((text) => parseAddress('BTC', text).key);
  const file = openSync(path, 'w');
  const digest = createHash('sha256');
  const counts = { usable: 0, lowered: 0, malformed: 0, quotedBreaks: 0 };
  let bytes = 0;
  let text = `${MBAL_COLUMNS.join()}\n${MBAL_SYNTHETIC},every label of this file is synthetic,,,\n`;
  const flush = (): void => {
    const chunk = Buffer.from(text);
    digest.update(chunk);
    for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at);
    bytes += chunk.length;
    text = '';
  };
  const chainOf = picker(CHAIN_ROWS);
  const loweredShare = LOWERED_ROWS / (CHAIN_ROWS[1]?.[1] ?? 1);
  const breakEvery = Math.max(
    1,
    Math.floor(rows / Math.max(1, Math.round((QUOTED_BREAKS * rows) / ALL_ROWS))),
  );
  const malformedShare = MALFORMED_ROWS / ALL_ROWS;

  const evmAddress = (): string => {
    let hex = '0x';
    for (let word = 0; word < 5; word++) hex += next().toString(16).padStart(8, '0');
    return hex;
  };
  const btcAddress = (kind: number): string => {
    const key = Buffer.from(kinds[kind] as Uint8Array);
    for (let at = 2; at < key.length; at++) key[at] = next() >>> 24;
    return formatAddressKey(key as unknown as AddressKey, 'BTC');
  };

  for (let row = 0; row < rows; row++) {
    const chain = chainOf(fraction());
    let address: string;
    if (chain === 'bitcoin_mainnet') {
      if (fraction() < loweredShare) {
        const original = btcAddress(fraction() < 0.6 ? 0 : 1);
        onLowered?.(original);
        address = original.toLowerCase();
        counts.lowered++;
      } else {
        address = btcAddress(2);
        counts.usable++;
      }
    } else {
      address = evmAddress();
      if (row % breakEvery === breakEvery - 1) {
        address = `"${address}\n"`;
        counts.quotedBreaks++;
      } else if (fraction() < malformedShare) {
        address = malformed(address, next() % 4);
        counts.malformed++;
      } else counts.usable++;
    }
    const method = methodOf(chain, fraction());
    const entity =
      fraction() < ENTITY_SHARE ? `synthetic entity ${Math.floor(ENTITIES * fraction() ** 3)}` : '';
    text += `${chain},${address},${pick(fraction())},${entity},${method}\n`;
    if (text.length < FLUSH_CHARS) continue;
    flush();
    await new Promise((resolve) => setImmediate(resolve));
  }
  flush();
  closeSync(file);
  return { rows, bytes, sha256: digest.digest('hex'), ...counts };
}

/** Returns a function that picks a value by weight from a fraction. */
function picker(table: readonly (readonly [value: string, weight: number])[]): (fraction: number) => string {
  const total = table.reduce((sum, [, weight]) => sum + weight, 0);
  return (fraction) => {
    let left = fraction * total;
    for (const [value, weight] of table) {
      left -= weight;
      if (left < 0) return value;
    }
    return (table.at(-1) as readonly [string, number])[0];
  };
}

/** Only rows of Bitcoin and Ethereum have other methods than ground truth. */
function methodOf(chain: string, fraction: number): string {
  if (chain === 'ethereum_mainnet')
    return fraction < 0.29 ? 'heuristic' : fraction < 0.43 ? 'external' : 'ground_truth';
  if (chain === 'bitcoin_mainnet')
    return fraction < 0.08 ? 'heuristic' : fraction < 0.55 ? 'external' : 'ground_truth';
  return 'ground_truth';
}

/** The kinds of malformed addresses: an invisible character, a fragment of SQL, 126 characters, a name of a protocol. */
function malformed(address: string, kind: number): string {
  if (kind === 0) return `\u200b${address}`;
  if (kind === 1) return `${address}' OR '1'='1`;
  return kind === 2 ? address.padEnd(126, 'ab') : `protocol:${address.slice(2, 10)}`;
}

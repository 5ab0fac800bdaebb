/**
 * Writes the synthetic graph for benchmarks of transfers, as CSV for `assay ingest ndjson`: addresses with degrees that follow a power law,
 * and one hub, which half of the addresses pay at the default size. Streams; equal numbers and seed give equal bytes everywhere.
 * Run: node dist/scripts/power-law-graph.js FILE [--addresses 2000000] [--edges 20000000] [--seed 1]
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { seededUint32 } from '../src/base/random.ts';

export interface PowerLawGraph {
  readonly addresses: number;
  /** Number of transfers. About 2 % repeat a pair. */
  readonly edges: number;
  readonly seed: number;
}

export const POWER_LAW_HEADER = 'txHash,position,blockNumber,timestamp,from,to,asset,amount,valueUsd\n';
export const POWER_LAW_CHAIN = 'ETH';
/** One of the two assets. The other is a token. */
export const POWER_LAW_COIN = 'ETH';
/** Number of the hub address, which receives one transfer in twenty, each from another address while there are any. */
export const POWER_LAW_HUB = 0;

const TOKEN = '0xdac17f958d2ee523a2206206994597c13d831ec7';
const HUB_EVERY = 20;
const TOKEN_EVERY = 4;
const UNPRICED_EVERY = 16;
const TRANSFERS_PER_BLOCK = 200;
const FIRST_BLOCK = 15_000_000;
const FIRST_MS = Date.UTC(2022, 5, 21);
const BLOCK_MS = 12_000;
const LINE_BYTES_MAX = 300;
const FLUSH_BYTES = 1 << 20;
const HEX = Buffer.from('0123456789abcdef');

/** Mixes 32 bits (C. Wellons, "hash-prospector", lowbias32). */
function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

function writeHex(out: Buffer, at: number, word: number): number {
  for (let index = 0, shift = 28; index < 8; index++, shift -= 4)
    out[at + index] = HEX[(word >>> shift) & 15] as number;
  return at + 8;
}

function writeAddress(out: Buffer, start: number, number: number): number {
  let at = start + out.write('0x', start, 'latin1');
  for (let word = 0; word < 5; word++) at = writeHex(out, at, mix(number * 5 + word + 1));
  return at;
}

/** Returns the text of an address by its number, from 0. */
export function powerLawAddress(number: number): string {
  const out = Buffer.alloc(42);
  writeAddress(out, 0, number);
  return out.toString('latin1');
}

/** Writes the graph to `path`. Returns the number of bytes written. */
export function writePowerLawCsv(path: string, { addresses, edges, seed }: PowerLawGraph): number {
  const next = seededUint32(seed);
  // The square of a uniform draw: rank r is drawn in proportion to 1 / sqrt(r).
  const draw = (): number => Math.floor(addresses * (next() / 2 ** 32) ** 2);
  const out = Buffer.allocUnsafe(FLUSH_BYTES + LINE_BYTES_MAX);
  const file = openSync(path, 'w');
  let at = out.write(POWER_LAW_HEADER, 0, 'latin1');
  let written = 0;
  try {
    for (let index = 0; index < edges; index++) {
      const isHub = index % HUB_EVERY === 0;
      const from = isHub ? 1 + ((index / HUB_EVERY) % (addresses - 1)) : draw();
      const to = isHub ? POWER_LAW_HUB : draw();
      const isToken = next() % TOKEN_EVERY === 0;
      const block = Math.floor(index / TRANSFERS_PER_BLOCK);
      at += out.write('0x', at, 'latin1');
      for (let word = 0; word < 8; word++)
        at = writeHex(out, at, mix(mix(index + seed) ^ (word * 0x9e3779b9)));
      const cents = Math.floor(2 ** ((next() / 2 ** 32) * 24));
      const isPriced = next() % UNPRICED_EVERY !== 0;
      // Coins are worth half a cent more than their value at 1,000 USD, tokens exactly their value at 1 USD: rates of rows differ a little.
      const amount = `${cents}${isToken ? '0000' : '5000000000000'}`;
      const usd = isPriced ? (cents / 100).toFixed(2) : '';
      const position = isToken ? `log:${index % 300}` : 'value';
      const times = `${FIRST_BLOCK + block},${FIRST_MS + block * BLOCK_MS}`;
      at += out.write(`,${position},${times},`, at, 'latin1');
      at = writeAddress(out, at, from);
      out[at++] = 0x2c;
      at = writeAddress(out, at, to);
      at += out.write(`,${isToken ? TOKEN : POWER_LAW_COIN},${amount},${usd}\n`, at, 'latin1');
      if (at < FLUSH_BYTES) continue;
      written += writeSync(file, out, 0, at);
      at = 0;
    }
    written += writeSync(file, out, 0, at);
  } finally {
    closeSync(file);
  }
  return written;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [path, ...options] = argv.slice(2);
  const option = (name: string, fallback: number): number => {
    const at = options.indexOf(`--${name}`);
    return at < 0 ? fallback : Number(options[at + 1]);
  };
  if (path === undefined) throw new Error('Name the file to write.');
  const graph = {
    addresses: option('addresses', 2_000_000),
    edges: option('edges', 20_000_000),
    seed: option('seed', 1),
  };
  const bytes = writePowerLawCsv(path, graph);
  process.stdout.write(`${path}: ${graph.edges} transfers, ${bytes} bytes\n`);
}

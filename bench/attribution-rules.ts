/**
 * Precision and recall of the rules over logs, coinbases and contracts, on planted truth and on labels of publishers. The deposit rule is
 * measured by `attribution`. Run: node dist/bench/attribution-rules.js [--count N] [--rounds N] [--write] [--no-save]
 *
 * `--write` stores the figures in data/sources.json, from where answers, `assay attribute explain` and the docs have them.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCreations } from '../src/attribution/contracts/creations.ts';
import { ContractNaming } from '../src/attribution/contracts/naming.ts';
import { readProxies } from '../src/attribution/contracts/proxies.ts';
import { loadLogContracts } from '../src/attribution/logs/contracts.ts';
import { poolAddress } from '../src/attribution/logs/decode.ts';
import { labelsOfFacts } from '../src/attribution/logs/labels.ts';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { projectRoot } from '../src/base/paths.ts';
import { parseAddress } from '../src/chains/address/parse.ts';
import { openAdapter } from '../src/chains/families/evm/adapter.ts';
import type { ChainId } from '../src/chains/registry.ts';
import { nodeReaderOf } from '../test/attribution/node-reader.ts';
import { type AttributionWorld, createAttributionWorld } from '../test/attribution/world.ts';
import { openFor, within } from '../test/conformance/adapter.ts';
import { hasAnvil, startAnvil } from '../test/setup/anvil.ts';
import { hasProxies } from '../test/setup/proxies.ts';
import { hasSharedData, sharedData } from '../test/setup/shared-data.ts';
import { argument, type BenchRow, publish, report, row } from './harness.ts';
import { plantContracts } from './planted-contracts.ts';
import {
  type Planted,
  plantCoinbases,
  plantFactories,
  plantFreezes,
  plantValidators,
} from './planted-facts.ts';

const count = argument('--count', 3_000);
const rounds = argument('--rounds', 20);
const isWriting = process.argv.includes('--write');
const startedAt = isoTime(systemClock.now());

interface Measured {
  readonly rule: string;
  readonly precision: number;
  readonly recall: number;
  readonly labels: number;
  readonly measuredOn: string;
}

/** Compares the labels that a rule gives with the planted truth; kinds of which it was wrong or found nothing are counted by name. */
function measure(
  rule: string,
  planted: readonly Planted[],
  world: Pick<AttributionWorld, 'labels' | 'store'>,
  chain: ChainId,
  describe: (missed: string, wrong: string) => string,
): Measured {
  const naming = new ContractNaming('ETH', world);
  let labels = 0;
  let right = 0;
  const wrong = new Map<string, number>();
  const missed = new Map<string, number>();
  const add = (kinds: Map<string, number>, kind: string): unknown =>
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  for (const { address, kind, expected } of planted) {
    const facts = world.store.facts(parseAddress('ETH', address).key);
    const own = labelsOfFacts(chain, facts, naming).find((label) => label.rule === rule);
    const entity = own?.template.entity.id ?? null;
    if (entity !== null) labels++;
    if (entity !== null && entity === expected) right++;
    else if (entity !== null) add(wrong, kind);
    else if (expected !== null) add(missed, kind);
  }
  const wanted = planted.filter(({ expected }) => expected !== null).length;
  const text = (kinds: ReadonlyMap<string, number>): string =>
    kinds.size === 0 ? 'none' : [...kinds].map(([kind, number]) => `${number} ${kind}`).join(', ');
  const measuredOn = describe(text(missed), text(wrong));
  return { rule, precision: right / labels, recall: right / wanted, labels, measuredOn };
}

/** Short, because every label of the rule carries it. */
const plantedText = (planted: readonly Planted[], what: string): string => {
  const wanted = planted.filter(({ expected }) => expected !== null).length;
  return `${wanted} planted ${what}, ${planted.length - wanted} look-alikes`;
};

async function measureLogs(): Promise<Measured[]> {
  const world = await createAttributionWorld([{ address: `0x${'ab'.repeat(20)}`, entity: 'any' }]);
  try {
    const factories = plantFactories(count, world.store);
    const freezes = plantFreezes(count, world.store);
    const validators = plantValidators(count, world.store);
    const payees = plantCoinbases(world.store);
    const errors = (planted: readonly Planted[], what: string) => (missed: string, wrong: string) =>
      `${plantedText(planted, what)}. Wrong: ${wrong}. Missed: ${missed}`;
    return [
      measure('contract-factory', factories, world, 'ETH', () =>
        plantedText(factories, 'contracts of listed factories'),
      ),
      measure(
        'issuer-freeze',
        freezes,
        world,
        'ETH',
        () =>
          `${plantedText(freezes, 'frozen addresses')}. Right means frozen, not that a crime was committed`,
      ),
      measure('validator-withdrawal', validators, world, 'ETH', errors(validators, 'withdrawal addresses')),
      measure('coinbase-tag', payees, world, 'BTC', errors(payees, 'payees of pools')),
    ];
  } finally {
    await world.close();
  }
}

/** How quickly a local node was read. */
const speeds: BenchRow[] = [];

/** Reads a planted chain from a local node, as a run of the rules does. */
async function measureContracts(): Promise<Measured[]> {
  if (!hasAnvil || !hasProxies) return [];
  const anvil = await startAnvil({ args: ['--accounts', '40'] });
  const { labels, creators, proxies } = await plantContracts(anvil, rounds);
  const world = await createAttributionWorld(labels);
  const adapter = openFor({ openAdapter, layouts: { rpc: 'json-rpc', history: 'blockscout' } }, 'ETH', {
    rpc: [anvil.url],
  });
  try {
    const options = { chain: 'ETH', fromBlock: 0, call: within(600_000) } as const;
    const deps = { adapter: nodeReaderOf(adapter), store: world.store };
    const began = performance.now();
    const { blocks } = await readCreations(options, deps);
    const between = performance.now();
    const { facts } = await readProxies(options, deps);
    speeds.push(
      row('blocks read for creations', (blocks * 1_000) / (between - began), 'blocks/s'),
      row('facts about proxies', (facts * 1_000) / (performance.now() - between), 'facts/s'),
    );
    return [
      measure(
        'contract-creator',
        creators,
        world,
        'ETH',
        (missed) =>
          `${plantedText(creators, 'contracts of labelled accounts')}, local node. Missed: ${missed}`,
      ),
      measure(
        'proxy-code',
        proxies,
        world,
        'ETH',
        (missed, wrong) =>
          `${plantedText(proxies, 'proxies')}, local node. Wrong: ${wrong}. Missed: ${missed}`,
      ),
    ];
  } finally {
    await adapter.close();
    await anvil.stop();
    await world.close();
  }
}

interface HeldOut {
  /** Labelled pools whose two tokens a public list has. */
  readonly pools: number;
  /** Those at the address that CREATE2 gives for the tokens and a fee. */
  readonly found: number;
}

/** Fees of Uniswap 3, in hundredths of a basis point. */
const FEES = [100, 500, 3_000, 10_000];

/** Returns the addresses of Ethereum's tokens by symbol, in upper case, from the list of ethereum-lists. */
function listedTokens(): ReadonlyMap<string, ReadonlySet<string>> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-tokens-'));
  try {
    execFileSync('tar', [
      'xzf',
      sharedData('labels', 'ethereum-lists-tokens_2026-04-07.tar.gz'),
      '-C',
      folder,
    ]);
    const eth = join(folder, 'ethereum-lists-tokens', 'tokens', 'eth');
    const tokens = new Map<string, Set<string>>();
    for (const name of readdirSync(eth)) {
      const { symbol, address } = JSON.parse(readFileSync(join(eth, name), 'utf8')) as Record<string, string>;
      if (symbol === undefined || address === undefined) continue;
      const own = tokens.get(symbol.toUpperCase()) ?? new Set();
      tokens.set(symbol.toUpperCase(), own.add(address.toLowerCase()));
    }
    return tokens;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Compares CREATE2 with pools of Uniswap 3 that GraphSense labels: the names have the symbols of two tokens, whose addresses are in the list
 * of ethereum-lists.
 */
function heldOutPools(): HeldOut | null {
  if (!hasSharedData) return null;
  const path = sharedData('graphsense', 'graphsense-tagpacks.tar.gz');
  const member = '*defi-protocols_uniswap_pools.yaml';
  const pack = execFileSync('tar', ['xzOf', path, '--wildcards', member], { encoding: 'utf8' });
  const tokens = listedTokens();
  const contract = loadLogContracts().find(({ id, chain }) => id === 'uniswap-v3' && chain === 'ETH');
  if (contract === undefined) return null;
  const code = '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54';
  const tokensOf = (symbol = ''): readonly string[] => [
    ...(tokens.get(symbol.toUpperCase() === 'ETH' ? 'WETH' : symbol.toUpperCase()) ?? []),
  ];
  let pools = 0;
  let found = 0;
  for (const [, name = '', address] of pack.matchAll(
    /label: uniswap_v3_pool_(\S+)\s+address: '(0x[0-9a-f]{40})'/g,
  )) {
    const [first, second] = name.split('_');
    const pairs = tokensOf(first).flatMap((one) => tokensOf(second).map((other) => [one, other] as const));
    if (pairs.length === 0) continue;
    pools++;
    if (pairs.some((pair) => FEES.some((fee) => poolAddress(contract.address, pair, fee, code) === address)))
      found++;
  }
  return { pools, found };
}

/** Stores the figures in the row of each rule, which is one line of the file. */
function writeRates(measured: readonly Measured[]): void {
  const path = join(projectRoot, 'data', 'sources.json');
  const rounded = (rate: number): number => Math.floor(rate * 1_000) / 1_000;
  const lines = readFileSync(path, 'utf8').split('\n');
  for (const { rule, precision, recall, measuredOn } of measured) {
    const at = lines.findIndex((line) => line.includes(`"rule": "${rule}"`));
    const line = lines[at];
    if (line === undefined) throw new Error(`${rule} is not in data/sources.json`);
    const version = Number(/"version": (\d+)/.exec(line)?.[1]);
    const fields = [
      `"rule": "${rule}", "version": ${version}, "precision": ${rounded(precision)}, "recall": ${rounded(recall)}`,
      `"measuredOn": ${JSON.stringify(measuredOn)}, "measuredAt": "${startedAt.slice(0, 10)}"`,
    ];
    lines[at] = line.replace(/"derivation": \{.*?\}(?=\},?$)/, () => `"derivation": {${fields.join(', ')}}`);
  }
  writeFileSync(path, lines.join('\n'));
}

const heldOut = heldOutPools();
const measured = [...(await measureLogs()), ...(await measureContracts())].map((one) =>
  one.rule === 'contract-factory' && heldOut !== null
    ? {
        ...one,
        measuredOn: `${one.measuredOn}; ${heldOut.found} of ${heldOut.pools} pools of Uniswap 3 that GraphSense labels are where CREATE2 puts them`,
      }
    : one,
);
const rows: BenchRow[] = measured.flatMap(({ rule, precision, recall, labels }) => [
  row(`${rule}: precision`, precision, ''),
  row(`${rule}: recall`, recall, ''),
  row(`${rule}: labels`, labels, 'addresses'),
]);
rows.push(...speeds);
if (heldOut !== null)
  rows.push(
    row('labelled pools at the address of CREATE2', heldOut.found / heldOut.pools, `of ${heldOut.pools}`),
  );
publish(
  report('attribution-rules', startedAt, { count, rounds, data: 'planted, and labels of GraphSense' }, rows),
);
for (const { rule, measuredOn } of measured) process.stdout.write(`${rule}: ${measuredOn}\n`);
if (isWriting) writeRates(measured);

/**
 * Makes data/bridges.json: contracts of bridges and the chains they join, out of permissively licensed npm packages in which
 * projects publish their own addresses, of data/packages (made by packages-generate.ts) and of data/seed. Run by hand when a
 * version below is raised: `npm run build && node dist/scripts/bridges-generate.js`.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { shippedData } from '../src/base/paths.ts';
import type { BridgeRecipient } from '../src/chains/bridges.ts';
import type { ChainId } from '../src/chains/registry.ts';
import { fetchPackage, type PackageRelease } from './npm-package.ts';

interface Contract {
  readonly chain: ChainId;
  readonly address: string;
  readonly role: string;
  readonly sourceUrl: string;
  readonly date: string;
  readonly verified: boolean;
}

interface BridgeRow {
  readonly id: string;
  readonly name: string;
  /** Ids that labels know it by. */
  readonly entities: readonly string[];
  readonly recipient: BridgeRecipient;
  readonly elsewhere: readonly string[];
  /** A page of the project. */
  readonly sourceUrl: string;
  readonly contracts: (work: string) => Promise<Contract[]>;
}

const npmUrl = ({ name, version }: PackageRelease): string =>
  `https://www.npmjs.com/package/${name}/v/${version}`;

const ARBITRUM: PackageRelease = { name: '@arbitrum/sdk', version: '4.1.0', licence: 'Apache-2.0' };
const HOP: PackageRelease = { name: '@hop-protocol/core', version: '0.0.1-beta.236', licence: 'MIT' };
const VIEM: PackageRelease = { name: 'viem', version: '2.57.20', licence: 'MIT' };

/** `childErc20Gateway` → words in lower case. */
const words = (name: string): string => name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

interface PackagedRow {
  readonly chain: ChainId;
  readonly address: string;
  readonly entity: string;
  readonly category: string;
  readonly tags: readonly string[];
}

/** Contracts of a label entity in a file of data/packages. */
const packaged = (file: string, entity: string) => (): Promise<Contract[]> => {
  const lines = readFileSync(shippedData('packages', file), 'utf8').trim().split('\n');
  const [head = '', ...rows] = lines;
  const release = JSON.parse(head) as { package: string; version: string; licence: string; date: string };
  const sourceUrl = npmUrl({ ...release, name: release.package });
  return Promise.resolve(
    rows
      .map((line) => JSON.parse(line) as PackagedRow)
      .filter((row) => row.entity === entity && row.category === 'BRIDGE')
      .map(({ chain, address, tags }) => ({
        chain,
        address,
        role: tags.join(', '),
        sourceUrl,
        date: release.date,
        verified: true,
      })),
  );
};

interface SeedRow {
  readonly chain: ChainId;
  readonly address: string;
  readonly entity: string;
  readonly sourceUrl: string;
  readonly date: string;
  readonly verified: boolean;
}

/** Contracts of an entity of data/seed, as sure as they are there. */
const seeded = (entity: string) => (): Promise<Contract[]> =>
  Promise.resolve(
    readFileSync(shippedData('seed', 'bridges.ndjson'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as SeedRow)
      .filter((row) => row.entity === entity)
      .map(({ chain, address, sourceUrl, date, verified }) => ({
        chain,
        address,
        role: 'bridge',
        sourceUrl,
        date,
        verified,
      })),
  );

/** Fields of the literal object that a source text assigns to a name. */
function literalFields(text: string, name: string): [string, string][] {
  const body = new RegExp(`\\b${name}\\b[^{]*\\{([^}]*)`).exec(text)?.[1];
  if (body === undefined) throw new Error(`${name} is no longer there.`);
  return [...body.matchAll(/(\w+):\s*'(0x[0-9a-fA-F]{40})'/g)].map(
    ([, key = '', value = '']) => [key, value] as [string, string],
  );
}

/** Parts of the tables that are not the bridge's own: wrapped Ether and call batching. */
const FOREIGN = /weth$|multicall$/i;

async function arbitrumContracts(work: string): Promise<Contract[]> {
  const { folder, date } = await fetchPackage(work, ARBITRUM);
  const text = readFileSync(join(folder, 'dist', 'lib', 'dataEntities', 'networks.js'), 'utf8');
  const fields = [...literalFields(text, 'mainnetTokenBridge'), ...literalFields(text, 'mainnetETHBridge')];
  return fields
    .filter(([name]) => !FOREIGN.test(name))
    .map(([name, address]) => ({
      chain: name.startsWith('child') ? 'ARBITRUM' : 'ETH',
      address,
      role: words(name),
      sourceUrl: npmUrl(ARBITRUM),
      date,
      verified: true,
    }));
}

const opStack =
  (chain: ChainId, definition: string) =>
  async (work: string): Promise<Contract[]> => {
    const { folder, date } = await fetchPackage(work, VIEM);
    const read = (...path: string[]): string => readFileSync(join(folder, '_esm', ...path), 'utf8');
    const ofEthereum = read('chains', 'definitions', `${definition}.js`);
    const ofRollup = read('op-stack', 'contracts.js');
    const addressIn = (text: string, name: string): string => {
      const found = new RegExp(`\\b${name}: \\{[^']*'(0x[0-9a-fA-F]{40})'`).exec(text)?.[1];
      if (found === undefined) throw new Error(`${definition}: ${name} is no longer there.`);
      return found;
    };
    const source = { sourceUrl: npmUrl(VIEM), date, verified: true } as const;
    return [
      ...['portal', 'l1StandardBridge'].map((name) => ({
        chain: 'ETH' as const,
        address: addressIn(ofEthereum, name),
        role: words(name),
        ...source,
      })),
      ...['l2StandardBridge', 'l2Erc721Bridge', 'l2CrossDomainMessenger', 'l2ToL1MessagePasser'].map(
        (name) => ({ chain, address: addressIn(ofRollup, name), role: words(name), ...source }),
      ),
    ];
  };

const HOP_CHAINS: ReadonlyMap<string, ChainId> = new Map([
  ['ethereum', 'ETH'],
  ['polygon', 'POLYGON'],
  ['gnosis', 'GNOSIS'],
  ['optimism', 'OPTIMISM'],
  ['arbitrum', 'ARBITRUM'],
  ['base', 'BASE'],
  ['linea', 'LINEA'],
]);
/** What users send to; tokens, oracles and the bonders' own accounts are left out. */
const HOP_ROLES: ReadonlySet<string> = new Set([
  'l1Bridge',
  'l2Bridge',
  'l2AmmWrapper',
  'l2SaddleSwap',
  'cctpL1Bridge',
  'cctpL2Bridge',
]);

async function hopContracts(work: string): Promise<Contract[]> {
  const { folder, date } = await fetchPackage(work, HOP);
  const path = join(folder, 'addresses', 'mainnet.mjs');
  // The package calls its modules CommonJS; this one has no imports.
  writeFileSync(path, readFileSync(join(folder, 'addresses', 'mainnet.js')));
  const { addresses } = (await import(pathToFileURL(path).href)) as {
    addresses: { bridges: Record<string, Record<string, Record<string, unknown>>> };
  };
  const contracts: Contract[] = [];
  for (const [token, networks] of Object.entries(addresses.bridges)) {
    for (const [network, fields] of Object.entries(networks)) {
      const chain = HOP_CHAINS.get(network);
      if (chain === undefined) continue;
      for (const [name, address] of Object.entries(fields)) {
        if (!HOP_ROLES.has(name) || typeof address !== 'string' || !ADDRESS.test(address)) continue;
        const role = `${token} ${words(name)}`;
        contracts.push({ chain, address, role, sourceUrl: npmUrl(HOP), date, verified: true });
      }
    }
  }
  return contracts;
}

const WORMHOLE_FILE = 'wormhole-foundation_sdk-base.ndjson';

const BRIDGES: readonly BridgeRow[] = [
  {
    id: 'wormhole',
    name: 'Wormhole',
    entities: ['wormhole'],
    recipient: 'STATED',
    elsewhere: ['Sui', 'Aptos', 'Near', 'Injective', 'Sei'],
    sourceUrl: 'https://wormhole.com',
    contracts: packaged(WORMHOLE_FILE, 'wormhole'),
  },
  {
    id: 'circle-cctp',
    name: 'Circle Cross-Chain Transfer Protocol',
    entities: ['circle-cctp'],
    recipient: 'STATED',
    elsewhere: [],
    sourceUrl: 'https://www.circle.com/cross-chain-transfer-protocol',
    contracts: packaged(WORMHOLE_FILE, 'circle'),
  },
  {
    id: 'axelar',
    name: 'Axelar',
    entities: ['axelar'],
    recipient: 'STATED',
    elsewhere: ['Axelar', 'Osmosis', 'Kava', 'Filecoin'],
    sourceUrl: 'https://axelar.network',
    contracts: packaged('axelar-network_axelar-chains-config.ndjson', 'axelar'),
  },
  {
    id: 'arbitrum-bridge',
    name: 'Arbitrum Bridge',
    entities: ['arbitrum-bridge'],
    recipient: 'SENDER',
    elsewhere: [],
    sourceUrl: 'https://bridge.arbitrum.io',
    contracts: arbitrumContracts,
  },
  {
    id: 'optimism-bridge',
    name: 'Optimism Gateway',
    entities: ['optimism-bridge'],
    recipient: 'SENDER',
    elsewhere: [],
    sourceUrl: 'https://app.optimism.io/bridge',
    contracts: opStack('OPTIMISM', 'optimism'),
  },
  {
    id: 'base-bridge',
    name: 'Base Bridge',
    entities: ['base-bridge'],
    recipient: 'SENDER',
    elsewhere: [],
    sourceUrl: 'https://base.org',
    contracts: opStack('BASE', 'base'),
  },
  {
    id: 'hop',
    name: 'Hop Protocol',
    entities: ['hop', 'hop-protocol', 'hopprotocol'],
    recipient: 'STATED',
    elsewhere: ['Arbitrum Nova', 'Polygon zkEVM'],
    sourceUrl: 'https://hop.exchange',
    contracts: hopContracts,
  },
  {
    id: 'polygon-pos-bridge',
    name: 'Polygon PoS Bridge',
    entities: ['polygon-pos-bridge'],
    recipient: 'STATED',
    elsewhere: [],
    sourceUrl: 'https://portal.polygon.technology',
    contracts: seeded('polygon-pos-bridge'),
  },
  {
    id: 'ronin-bridge',
    name: 'Ronin Bridge',
    entities: ['ronin-bridge', 'roninnetwork'],
    recipient: 'STATED',
    elsewhere: ['Ronin'],
    sourceUrl: 'https://roninchain.com',
    contracts: seeded('ronin-bridge'),
  },
];

/** Chains that a bridge joins without a contract of its own that is known here. */
const CHAINS_WITHOUT_CONTRACT: Readonly<Record<string, readonly ChainId[]>> = {
  'polygon-pos-bridge': ['POLYGON'],
};

/**
 * Bridges known by their labels alone: no package under a permissive licence names their contracts. The chains are general
 * knowledge, written down on the day below and not checked.
 */
const BY_LABEL_ALONE: readonly (Omit<BridgeRow, 'contracts'> & { readonly chains: readonly ChainId[] })[] = [
  {
    id: 'across',
    name: 'Across',
    entities: ['across'],
    recipient: 'STATED',
    elsewhere: [],
    chains: ['ETH', 'ARBITRUM', 'OPTIMISM', 'BASE', 'POLYGON', 'ZKSYNC', 'LINEA', 'SCROLL'],
    sourceUrl: 'https://across.to',
  },
  {
    id: 'stargate',
    name: 'Stargate',
    entities: ['stargatefinance'],
    recipient: 'STATED',
    elsewhere: [],
    chains: [
      'ETH',
      'BSC',
      'AVALANCHE',
      'POLYGON',
      'ARBITRUM',
      'OPTIMISM',
      'BASE',
      'LINEA',
      'MANTLE',
      'SCROLL',
    ],
    sourceUrl: 'https://stargate.finance',
  },
  {
    id: 'synapse',
    name: 'Synapse Protocol',
    entities: ['synapse'],
    recipient: 'STATED',
    elsewhere: [],
    chains: [
      'ETH',
      'BSC',
      'POLYGON',
      'ARBITRUM',
      'OPTIMISM',
      'BASE',
      'AVALANCHE',
      'FANTOM',
      'CRONOS',
      'MOONBEAM',
    ],
    sourceUrl: 'https://synapseprotocol.com',
  },
  {
    id: 'cbridge',
    name: 'Celer cBridge',
    entities: ['celerbridge'],
    recipient: 'SENDER',
    elsewhere: [],
    chains: ['ETH', 'BSC', 'POLYGON', 'ARBITRUM', 'OPTIMISM', 'AVALANCHE', 'FANTOM'],
    sourceUrl: 'https://cbridge.celer.network',
  },
  {
    id: 'debridge',
    name: 'deBridge',
    entities: ['debridge'],
    recipient: 'STATED',
    elsewhere: [],
    chains: ['ETH', 'BSC', 'POLYGON', 'ARBITRUM', 'OPTIMISM', 'BASE', 'AVALANCHE', 'LINEA', 'SOL'],
    sourceUrl: 'https://debridge.finance',
  },
  {
    id: 'allbridge',
    name: 'Allbridge',
    entities: ['allbridge'],
    recipient: 'STATED',
    elsewhere: [],
    chains: ['ETH', 'BSC', 'POLYGON', 'ARBITRUM', 'AVALANCHE', 'SOL', 'TRON'],
    sourceUrl: 'https://allbridge.io',
  },
  {
    id: 'gnosis-bridge',
    name: 'Gnosis Chain bridges (xDai bridge, OmniBridge)',
    entities: ['omnibridge'],
    recipient: 'SENDER',
    elsewhere: [],
    chains: ['ETH', 'GNOSIS'],
    sourceUrl: 'https://bridge.gnosischain.com',
  },
];
const WRITTEN_DOWN = '2026-11-21';

const newest = (rows: readonly { readonly date: string }[]): string =>
  rows
    .map(({ date }) => date)
    .sort()
    .at(-1) ?? '';

const work = mkdtempSync(join(tmpdir(), 'assay-bridges-'));
try {
  const bridges: (Omit<BridgeRow, 'contracts'> & {
    readonly chains: readonly ChainId[];
    readonly date: string;
    readonly verified: boolean;
    readonly contracts: readonly Contract[];
  })[] = [];
  for (const { contracts: read, sourceUrl, ...row } of BRIDGES) {
    const unique = new Map<string, Contract>();
    for (const contract of await read(work)) {
      const key = `${contract.chain} ${contract.address.toLowerCase()}`;
      if (!unique.has(key)) unique.set(key, contract);
    }
    if (unique.size === 0) throw new Error(`${row.id} has no contract any more.`);
    const contracts = [...unique.values()];
    const chains = [
      ...new Set([...contracts.map(({ chain }) => chain), ...(CHAINS_WITHOUT_CONTRACT[row.id] ?? [])]),
    ];
    const date = newest(contracts);
    const verified = contracts.every((contract) => contract.verified);
    bridges.push({ ...row, chains, sourceUrl, date, verified, contracts });
    process.stderr.write(`${row.id}: ${contracts.length} contracts on ${chains.join(', ')}\n`);
  }
  for (const row of BY_LABEL_ALONE)
    bridges.push({ ...row, date: WRITTEN_DOWN, verified: false, contracts: [] });
  const head = {
    version: newest(bridges),
    about:
      'Contracts of bridges and the chains they join, made by scripts/bridges-generate.ts out of npm packages in which the projects publish their own addresses, and of data/seed. Rows without contracts are general knowledge. Do not edit by hand.',
  };
  const rows = bridges.map(({ contracts, ...row }) => {
    const lines = contracts.map((contract) => `      ${JSON.stringify(contract)}`).join(',\n');
    return `    ${JSON.stringify(row).slice(0, -1)},"contracts":[${lines === '' ? '' : `\n${lines}\n    `}]}`;
  });
  writeFileSync(
    shippedData('bridges.json'),
    `{\n  "version": ${JSON.stringify(head.version)},\n  "about": ${JSON.stringify(head.about)},\n  "bridges": [\n${rows.join(',\n')}\n  ]\n}\n`,
  );
} finally {
  rmSync(work, { recursive: true, force: true });
}

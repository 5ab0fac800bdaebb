/** Turns scenarios (scenarios.json) into the files that an operator imports: labels, sanctions lists and transfers. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '@noble/hashes/sha2.js';
import { base58, bech32, createBase58check } from '@scure/base';
import { chainOf, parseChainId } from '../../src/chains/registry.ts';

/** A label of an address: a category by this installation's own research, a list entry, or a row of a published scam list. */
export interface ScenarioLabel {
  readonly category?: string;
  readonly confidence?: number;
  /** Name of the entity; the default is the role. */
  readonly entity?: string;
  readonly entityId?: string;
  readonly list?: 'OFAC_SDN';
  /** The entry was on an older file of the list and is no longer on it. */
  readonly delisted?: boolean;
  /** Names the address in the layout of the published list of phishing addresses. */
  readonly scam?: boolean;
}

/**
 * One transfer, or `count` of them: sender, receiver (null: none, as for a mint or a burn), `amount ASSET`, date. A role that
 * ends in `#` is another address for each of them, and so is `LISTED#` another asset.
 */
export type ScenarioTransfer = readonly [
  from: string | null,
  to: string | null,
  amount: string,
  date: string,
  count?: number,
  extra?: { readonly valueUsd?: number },
];

export interface Expectation {
  /** Least and greatest score. */
  readonly score: readonly [number, number];
  readonly verdict?: string;
  readonly decision?: string;
  /** Codes that must be among the reasons; `A|B`: one of them. */
  readonly reasons?: readonly string[];
  readonly notReasons?: readonly string[];
  readonly sanctioned?: boolean;
  readonly assessed?: boolean;
  /** Name of the entity, null for none. */
  readonly entity?: string | null;
}

export interface Scenario {
  readonly id: string;
  readonly group: string;
  readonly name: string;
  readonly chain: string;
  readonly labels: Readonly<Record<string, ScenarioLabel | readonly ScenarioLabel[]>>;
  readonly transfers: readonly ScenarioTransfer[];
  readonly expect: Expectation;
  /** Expectations that differ if no transfer has a price. */
  readonly withoutPrices?: Expectation;
}

const base58check = createBase58check(sha256);
const bytesOf = (text: string, length: number): Uint8Array => sha256(Buffer.from(text)).subarray(0, length);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const withVersion = (version: number, bytes: Uint8Array): string =>
  base58check.encode(Uint8Array.from([version, ...bytes]));

/** Text of an address of a chain, its own for each seed. */
function addressOf(chain: string, seed: string): string {
  const payload = bytesOf(seed, 20);
  switch (chain) {
    case 'BTC':
    case 'LTC':
      return bech32.encode(chain === 'BTC' ? 'bc' : 'ltc', [0, ...bech32.toWords(payload)]);
    case 'DOGE':
      return withVersion(0x1e, payload);
    case 'TRON':
      return withVersion(0x41, payload);
    case 'SOL':
      return base58.encode(bytesOf(seed, 32));
    default:
      return `0x${hex(payload)}`;
  }
}

/** The address that a role of a scenario has; `contract of WETH` is that token's own. A look-alike shares the first and last digits of its role. */
export function roleAddress({ id, chain }: Pick<Scenario, 'id' | 'chain'>, role: string): string {
  const [, token] = /^contract of (.+)$/.exec(role) ?? [];
  if (token !== undefined) return (TOKENS[`${chain} ${token}`] as readonly [string, number])[0];
  const [, model] = /^lookalike of (.+)$/.exec(role) ?? [];
  if (model === undefined) return addressOf(chain, `${id} ${role}`);
  const real = roleAddress({ id, chain }, model);
  const own = addressOf(chain, `${id} ${role}`);
  return `${real.slice(0, 8)}${own.slice(8, -6)}${real.slice(-6)}`;
}

/** Tokens by chain and symbol. A symbol that is not here is a contract of the scenarios' own, which no curated list knows. */
const TOKENS: Readonly<Record<string, readonly [contract: string, decimals: number]>> = {
  'ETH USDC': ['0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48', 6],
  'ETH USDT': ['0xdac17f958d2ee523a2206206994597c13d831ec7', 6],
  'ETH WETH': ['0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2', 18],
  'ETH UNI': ['0x1f9840a85d5af5bf1d1762f925bdaddc4201f984', 18],
  'ETH AAVE': ['0x7fc66500c84a76ad7e9c93437bfc5ac33e2ddae9', 18],
  'ETH LINK': ['0x514910771af9ca656af840dff83e8264ecf986ca', 18],
  'TRON USDT': ['TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', 6],
};

/** Tokens of Ethereum that the shipped list has, all of 18 decimals and without a price: LISTED0 and so on. */
const LISTED: readonly string[] = [
  '0x0d8775f648430679a709e98d2b0cb6250d2887ef',
  '0x0f5d2fb29fb7d3cfee444a200298f468908cc942',
  '0x0bc529c00c6401aef6d220be8c6ea1667f6ad93e',
  '0x111111111117dc0aa78b770fa6a738034120c302',
  '0x3845badade8e6dff049820680d1f14bd3903a5d0',
  '0x4d224452801aced8b2f0aebe155379bb5d594381',
  '0x5a98fcbea516cf06857215779fd812ca3bef1b32',
  '0x6b3595068778dd592e39a122f4f5a5cf09c90fe2',
  '0x7d1afa7b718fb893db30a3abc0cfc608aacfebb0',
  '0x92d6c1e31e14520e676a687f0a93788b716beff5',
  '0x95ad61b0a150d79219dcf64e1e6cc01f0b64c4ce',
  '0x9f8f72aa9304c8b593d555f12ef6589cc3a579a2',
  '0xb50721bcf8d664c30412cfbc6cf7a15145234ad1',
  '0xbb0e17ef65f82ab018d8edd776e8dd940327b28b',
  '0xbbbbca6a901c926f240b89eacb641d8aec7aeafd',
  '0xc011a73ee8576fb46f5e1c5751ca3b9fe0af2a6f',
  '0xc18360217d8f7ab5e7c516566761ea12ce7f9d72',
  '0xd33526068d116ce69f19a9ee46f0bd304f21a51f',
  '0xd533a949740bb3306d119cc777fa900ba034cd52',
  '0xe41d2489571d322189246dafa5ebde1f4699f498',
  '0xf57e7e7c23978c3caec3c3548e3d615c346e79ff',
  '0xba100000625a3754423978a60c9317c58a424e3d',
  '0xc00e94cb662c3520282e6f5717214004a7f26888',
  '0xc944e90c64b2c07662a292be6244bdf05cda44a7',
  '0xd26114cd6ee289accf82350c8d8487fedb8a0c07',
];

interface Asset {
  readonly asset: string;
  readonly decimals: number;
}

function assetOf(chain: string, symbol: string): Asset {
  const token = TOKENS[`${chain} ${symbol}`];
  if (token) return { asset: token[0], decimals: token[1] };
  const row = chainOf(parseChainId(chain));
  const [, number] = /^LISTED(\d+)$/.exec(symbol) ?? [];
  if (number !== undefined) return { asset: LISTED[Number(number) % LISTED.length] as string, decimals: 18 };
  if (symbol.startsWith('FAKE')) return { asset: addressOf(chain, symbol), decimals: 18 };
  return { asset: row.symbol, decimals: row.decimals };
}

/** `12.5 ETH` as an amount in the smallest unit; `smallest ETH` is one of these. */
function amountOf(text: string, chain: string): Asset & { readonly amount: string } {
  const [number = '', symbol = ''] = text.split(' ');
  const asset = assetOf(chain, symbol);
  if (number === 'smallest') return { ...asset, amount: '1' };
  const [whole = '0', fraction = ''] = number.split('.');
  return { ...asset, amount: BigInt(whole + fraction.padEnd(asset.decimals, '0')).toString() };
}

const isEvmText = (chain: string): boolean => chainOf(parseChainId(chain)).family === 'evm';

/** Transfers of a scenario in the `ndjson` layout. */
function transferRows(scenario: Scenario): object[] {
  const { id, chain } = scenario;
  return scenario.transfers.flatMap(([from, to, text, date, count = 1, extra], at) =>
    Array.from({ length: count }, (_, index) => {
      const party = (role: string | null): string | null =>
        role === null ? null : roleAddress(scenario, role.endsWith('#') ? `${role}${index}` : role);
      const hash = hex(bytesOf(`${id} ${at} ${index}`, 32));
      const { asset, decimals, amount } = amountOf(text.replace('#', String(index)), chain);
      return {
        txHash: isEvmText(chain) ? `0x${hash}` : hash,
        position: 'value',
        blockNumber: 1_000 + at,
        timestamp: `${date}T12:00:00Z`,
        ...(from === null ? {} : { from: party(from) }),
        ...(to === null ? {} : { to: party(to) }),
        asset,
        amount,
        decimals,
        ...extra,
      };
    }),
  );
}

/** Currency codes of OFAC by chain; an address of an account on an EVM chain is listed once for all of them. */
const CURRENCIES: Readonly<Record<string, string>> = { BTC: 'XBT', LTC: 'LTC', TRON: 'TRX', SOL: 'SOL' };

interface ListedWallet {
  readonly uid: number;
  readonly currency: string;
  readonly address: string;
}

function sdnList(date: string, wallets: readonly ListedWallet[]): string {
  const entries = wallets.map(
    ({
      uid,
      currency,
      address,
    }) => `<sdnEntry><uid>${uid}</uid><lastName>Listed Party ${uid}</lastName><sdnType>Entity</sdnType>
    <programList><program>CYBER2</program></programList>
    <idList><id><uid>${uid + 500_000}</uid><idType>Digital Currency Address - ${currency}</idType><idNumber>${address}</idNumber></id></idList></sdnEntry>`,
  );
  return `<?xml version="1.0"?><sdnList xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML">
  <publshInformation><Publish_Date>${date}</Publish_Date><Record_Count>${wallets.length}</Record_Count></publshInformation>
  ${entries.join('\n')}</sdnList>`;
}

const CONSOLIDATED = `<?xml version="1.0"?><sdnList xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML">
  <publshInformation><Publish_Date>11/20/2026</Publish_Date><Record_Count>1</Record_Count></publshInformation>
  <sdnEntry><uid>900001</uid><lastName>Bartholomew Gneiss Foundry</lastName><sdnType>Entity</sdnType>
  <programList><program>NS-PLC</program></programList></sdnEntry></sdnList>`;

const UN = `<?xml version="1.0"?><CONSOLIDATED_LIST dateGenerated="2026-11-20T00:00:00.000Z"><INDIVIDUALS></INDIVIDUALS>
  <ENTITIES><ENTITY><DATAID>900002</DATAID><FIRST_NAME>Peregrine Basalt Trading</FIRST_NAME><UN_LIST_TYPE>DRC</UN_LIST_TYPE>
  <REFERENCE_NUMBER>CDe.999</REFERENCE_NUMBER><LISTED_ON>2012-12-31</LISTED_ON></ENTITY></ENTITIES></CONSOLIDATED_LIST>`;

const EU = `<?xml version="1.0"?><export xmlns="http://eu.europa.ec/fpi/fsd/export" generationDate="2026-11-20T00:00:00.000+01:00" globalFileId="1">
  <sanctionEntity designationDetails="" unitedNationId="" euReferenceNumber="EU.1.1" logicalId="900003">
  <regulation regulationType="amendment" organisationType="commission" publicationDate="2018-02-16" entryIntoForceDate="2018-02-16" numberTitle="2018/223 (OJ L43)" programme="ZWE" logicalId="1"></regulation>
  <subjectType code="enterprise" classificationCode="E"/>
  <nameAlias firstName="" middleName="" lastName="" wholeName="Ludovica Feldspar Shipping" function="" gender="" title="" nameLanguage="" strong="true" regulationLanguage="en" logicalId="2"></nameAlias>
  </sanctionEntity></export>`;

const SWISS = `<?xml version="1.0"?><swiss-sanctions-list list-type="whole-list" date="2026-11-20">
  <sanctions-program ssid="20" version-date="2026-05-21"><program-key lang="eng">Belarus</program-key>
  <sanctions-set ssid="4387" lang="eng">article 12</sanctions-set></sanctions-program>
  <target ssid="900004"><sanctions-set-id>4387</sanctions-set-id><entity><identity ssid="900005" main="true">
  <name ssid="900006" name-type="primary-name" quality="good" lang="eng"><name-part order="1" name-part-type="whole-name"><value>Zebulon Quaternion Works</value></name-part></name>
  </identity></entity><modification modification-type="listed" enactment-date="2016-02-29" publication-date="2016-03-01" effective-date="2016-03-01"/></target>
  </swiss-sanctions-list>`;

/** The designation of an exchange, in the layout and with the date of the UK Sanctions List. */
const UK = JSON.stringify({
  last_updated: '2026-05-26',
  date_designated: '2026-05-26',
  unique_id: 'RUS3602',
  names: { names: [{ name6: 'EXMO EXCHANGE LIMITED', name_type: 'Primary Name' }] },
  regime_name: 'The Russia (Sanctions) (EU Exit) Regulations 2019',
  individual_entity_ship: 'Entity',
  designation_source: 'UK',
  sanctions_imposed: 'Asset freeze',
  sanctions_imposed_indicators: { asset_freeze: true },
});

const csvCell = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

const labelsOf = (scenario: Scenario): { role: string; label: ScenarioLabel }[] =>
  Object.entries(scenario.labels).flatMap(([role, labels]) =>
    [labels].flat().map((label) => ({ role, label: label as ScenarioLabel })),
  );

export interface ImportStep {
  readonly args: readonly string[];
}

type WriteFile = (name: string, text: string) => string;

const fileWriter =
  (folder: string): WriteFile =>
  (name, text) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };

/**
 * Writes the labels and lists of the scenarios into a folder.
 *
 * @returns the commands that import them
 */
export function writeLabelFiles(
  folder: string,
  scenarios: readonly Scenario[],
  checked: string,
): readonly (readonly string[])[] {
  const file = fileWriter(folder);
  const own = ['address,chain,entity,name,category,confidence'];
  const scams = ['address,etherscan_tag,etherscan_labels,is_contract'];
  const listed: ListedWallet[] = [
    { uid: 100_000, currency: 'ETH', address: addressOf('ETH', 'always listed') },
  ];
  const formerly: ListedWallet[] = [];
  for (const scenario of scenarios) {
    for (const { role, label } of labelsOf(scenario)) {
      const address = roleAddress(scenario, role);
      if (label.list !== undefined) {
        const currency = CURRENCIES[scenario.chain] ?? 'ETH';
        const wallet = { uid: 100_001 + listed.length + formerly.length, currency, address };
        (label.delisted ? formerly : listed).push(wallet);
      } else if (label.scam) scams.push(`${address},Fake_Phishing${scams.length},phish-hack,False`);
      else {
        const name = label.entity ?? `${scenario.id} ${role}`;
        const id = label.entityId ?? name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
        const cells = [
          address,
          scenario.chain,
          id,
          name,
          label.category ?? '',
          String(label.confidence ?? 1),
        ];
        own.push(cells.map(csvCell).join(','));
      }
    }
  }
  const checkedNow = ['--checked', checked];
  return [
    ['import', 'own', file('own.csv', `${own.join('\n')}\n`)],
    ['import', 'scams', file('phishing_scams.csv', `${scams.join('\n')}\n`)],
    ['import', 'ofac', file('sdn-before.xml', sdnList('11/01/2026', [...listed, ...formerly]))],
    ['import', 'ofac', file('sdn.xml', sdnList('11/20/2026', listed)), ...checkedNow],
    ['import', 'ofac', file('consolidated.xml', CONSOLIDATED), ...checkedNow],
    ['import', 'un', file('un.xml', UN), ...checkedNow],
    ['import', 'eu', file('eu.xml', EU), ...checkedNow],
    ['import', 'ch', file('ch.xml', SWISS), ...checkedNow],
    ['import', 'uk', file('uk.jsonl', `${UK}\n`), '--published', '2026-11-20', ...checkedNow],
  ];
}

/**
 * Writes the transfers of the scenarios into a folder.
 *
 * @returns the file of each chain
 */
export function writeTransferFiles(
  folder: string,
  scenarios: readonly Scenario[],
): ReadonlyMap<string, string> {
  const file = fileWriter(folder);
  const rows = new Map<string, object[]>();
  for (const scenario of scenarios)
    rows.set(scenario.chain, [...(rows.get(scenario.chain) ?? []), ...transferRows(scenario)]);
  return new Map(
    [...rows]
      .filter(([, all]) => all.length > 0)
      .map(([chain, all]) => [
        chain,
        file(`${chain.toLowerCase()}.ndjson`, all.map((row) => `${JSON.stringify(row)}\n`).join('')),
      ]),
  );
}

/** A front end with real accounts in a folder of its own, over use cases that know three addresses. */

import { expect } from 'vitest';
import { type Access, createAccess } from '../../src/accounts/access.ts';
import type { Gate } from '../../src/accounts/gate.ts';
import type { Permission } from '../../src/accounts/keys.ts';
import type { DeriveKey } from '../../src/accounts/password.ts';
import type { PlanName, Plans, RateOverrides } from '../../src/accounts/plans.ts';
import { billingStreams } from '../../src/app/billing-events.ts';
import type { AttributionAnswer } from '../../src/attribution/explain.ts';
import { systemClock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import type { Mailer } from '../../src/base/mail.ts';
import { workerUrl } from '../../src/base/paths.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Billing } from '../../src/billing/service.ts';
import type { PayPerCall } from '../../src/billing/x402/pay-per-call.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { type ChainId, parseChainId } from '../../src/chains/registry.ts';
import { createHttpApp } from '../../src/http/http-app.ts';
import { openApiDocument } from '../../src/http/openapi.ts';
import type { Operation } from '../../src/http/operation.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import { compileBody, parseJson } from '../../src/http/pipeline/json-body.ts';
import type { HttpApp, HttpDeps, HttpOptions, Readiness, UseCases } from '../../src/http/ports.ts';
import { BulkBody } from '../../src/http/schemas/labels.ts';
import type { SanctionsEntry } from '../../src/labels/label.ts';
import type { StreamHub } from '../../src/monitoring/stream.ts';
import { parseEvmChain } from '../../src/receipts/oracle/accounts.ts';
import type { OracleRoot } from '../../src/receipts/oracle/trees.ts';
import type { ExchangeStatus } from '../../src/registers/exchange-answer.ts';
import type {
  Coverage,
  EntityLabelSet,
  OracleAnswer,
  SanctionsCheckAnswer,
  ScreeningAnswer,
} from '../../src/screening/answers.ts';
import type { KytAnswer, KytFlag } from '../../src/screening/kyt-answers.ts';
import type { BridgeCrossing, TraceAnswer, TraceNode } from '../../src/screening/trace-answers.ts';
import { createTransactionSearch } from '../../src/screening/transaction-search.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { type OpenedBillingOptions, openedBilling } from '../billing/opened.ts';
import { backendHere } from '../setup/backend.ts';
import { cheapPasswords } from '../setup/cheap-passwords.ts';
import { sleep } from '../support/wait.ts';
import { worldNames } from './world-names.ts';
import { worldOperator } from './world-operator.ts';
import { worldReports } from './world-reports.ts';

export const EXCHANGE = '0x28c6c06298d514db089934071355e5743bf21d60';
export const SANCTIONED = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';
export const UNKNOWN = '0x0000000000000000000000000000000000c0ffee';

const NONE = { status: 'NONE', asOf: null } as const;
const READ = { status: 'COMPLETE', asOf: '2026-11-21T00:00:00.000Z' } as const;
const coverage: Coverage = { labels: READ, graph: NONE, balances: NONE, history: NONE, sanctions: READ };
const DATA_VERSION = 'v1-abc';

const entry: SanctionsEntry = {
  list: 'OFAC_SDN',
  authority: 'OFAC',
  program: 'DPRK3',
  entityName: 'LAZARUS GROUP',
  entityId: '27307',
  listedAt: '2019-09-13',
  listedAtBasis: 'PARTY',
  delistedAt: null,
  sourceUrl: 'https://example.org/sdn',
  matchType: 'DIRECT',
};

interface Subject {
  readonly chain: ReturnType<typeof parseChainId>;
  readonly address: string;
}

function subjectOf(chainText: string, addressText: string): Subject {
  const chain = parseChainId(chainText);
  if (!/^0x[0-9a-fA-F]{40}$/.test(addressText))
    throw new AssayError('INVALID_ADDRESS', 'address: has not the form of an Ethereum address.', {
      field: 'address',
    });
  return { chain, address: addressText.toLowerCase() };
}

function labelSet({ chain, address }: Subject): EntityLabelSet {
  const sanctioned = address === SANCTIONED;
  const known = sanctioned || address === EXCHANGE;
  return {
    address,
    chain,
    labels: known
      ? [
          {
            name: sanctioned ? 'Lazarus “Group” é' : 'Binance',
            category: sanctioned ? 'SANCTIONED_ENTITY' : 'EXCHANGE',
            threatLevel: sanctioned ? 'CRITICAL' : 'SAFE',
            source: 'seed',
            class: 'published',
            tags: ['hot wallet'],
            confidence: 0.9,
            entityId: 'e1',
            jurisdiction: null,
            url: null,
            sourceUrl: null,
            firstSeen: null,
            lastSeen: null,
            verified: false,
            chain: 'EVM',
          },
        ]
      : [],
    sanctioned,
    sanctionsDetail: sanctioned
      ? { isSanctioned: true, lists: [entry], agreementCount: 1, dataAsOf: READ.asOf }
      : null,
    coverage,
    assessed: known,
    reasons: [],
    dataVersion: DATA_VERSION,
  };
}

const sanctionsAnswer = (subject: Subject): SanctionsCheckAnswer => ({
  ...subject,
  sanctioned: subject.address === SANCTIONED,
  lists: subject.address === SANCTIONED ? [entry] : [],
  agreementCount: subject.address === SANCTIONED ? 1 : 0,
  dataAsOf: READ.asOf,
  freshness: { OFAC_SDN: { publishedAt: '2026-11-20', checkedAt: READ.asOf } },
  coverage,
  assessed: true,
  reasons: [],
  dataVersion: DATA_VERSION,
});

const oracleAnswer = (
  subject: Subject,
  { limit, remaining, resetAt }: OracleAnswer['quota'],
): OracleAnswer => ({
  ...subject,
  verdict: subject.address === SANCTIONED ? 'danger' : 'safe',
  score: subject.address === SANCTIONED ? 100 : 0,
  riskLevel: subject.address === SANCTIONED ? 'CRITICAL' : 'LOW',
  sanctioned: subject.address === SANCTIONED,
  reasons:
    subject.address === SANCTIONED
      ? [
          {
            code: 'SANCTIONED',
            severity: 'CRITICAL',
            category: 'SANCTIONED_ENTITY',
            message: 'OFAC_SDN: LAZARUS GROUP',
            source: 'OFAC',
            verified: true,
          },
        ]
      : [],
  entity: null,
  coverage,
  assessed: true,
  exposureAsOf: null,
  dataVersion: DATA_VERSION,
  policyVersion: 'p1',
  evaluatedAt: READ.asOf,
  ttlSeconds: 60,
  quota: { limit, remaining, resetAt },
});

const noFlow = { valueUsd: null, txCount: 0, byAsset: [] } as const;

const screeningAnswer = (subject: Subject, jurisdiction: string): ScreeningAnswer => ({
  walletAddress: subject.address,
  address: subject.address,
  chain: subject.chain,
  asOf: null,
  riskScore: 0,
  riskLevel: 'LOW',
  scoreBreakdown: [],
  policyVersion: 'p1',
  assessed: false,
  reasons: [],
  balance: null,
  balanceUsd: null,
  totalTransactions: null,
  sanctionsCheck: { isSanctioned: false, lists: [], agreementCount: 0, dataAsOf: READ.asOf },
  sanctioned: false,
  entity: null,
  entityLabels: [],
  labelConflicts: [],
  flaggedTransactions: [],
  spoofableTransfers: [],
  topCounterparties: [],
  exposureSending: {},
  exposureReceiving: {},
  exposures: [],
  stoppedAt: [],
  taint: { basis: 'ACCOUNTS', methods: [] },
  clusterAnalysis: { clusterId: null, size: null, heuristics: [], confidence: null, members: [] },
  transactionFlow: { inflow: noFlow, outflow: noFlow, net: noFlow, daily: [], dailyIsComplete: true },
  geographicRisk: { jurisdictions: [], highRisk: [], listed: [], territories: [], score: null },
  fundFlowJurisdictions: [],
  historicalServices: [],
  crossChainBalances: {},
  bridgeActivity: { bridges: [], inUsd: null, outUsd: null, txCount: 0 },
  darknetExposure: { direct: 0, indirect: null, percentage: 0, markets: [] },
  addressValidation: { valid: true, canonical: subject.address, kind: 'account', checksum: false },
  legalInterpretation: {
    jurisdiction,
    standard: 'FATF',
    regulator: null,
    framework: [],
    assessment: 'none',
    recommendedAction: 'none',
    obligations: [],
    reportingTo: null,
    sanctionsAuthority: null,
    travelRule: null,
    sources: [],
    version: null,
    disclaimer: 'none',
  },
  coverage,
  dataVersion: DATA_VERSION,
  screenedAt: READ.asOf,
});

const sanctionedFlag: KytFlag = {
  code: 'SANCTIONED',
  severity: 'CRITICAL',
  party: 'address',
  category: 'SANCTIONED_ENTITY',
  riskType: 'OWNERSHIP',
  direction: 'both',
  entity: { name: 'LAZARUS GROUP', category: 'SANCTIONED_ENTITY', threatLevel: 'CRITICAL' },
  percentage: 100,
  valueUsd: null,
  hops: 0,
  message: 'Listed in force by OFAC_SDN.',
};

const binance = { name: 'Binance', category: 'EXCHANGE', threatLevel: 'SAFE' } as const;

/** One transfer to the exchange, if the address is known. */
function traceAnswer(
  { chain, address }: Subject,
  direction: 'in' | 'out' | 'both',
  isKnown: boolean,
  target: string | undefined,
  crossChain: boolean | undefined,
): TraceAnswer {
  const node = { label: null, category: 'UNKNOWN', riskLevel: 'LOW', sanctioned: false } as const;
  const nodes: readonly TraceNode[] = [
    { ...node, address, entity: null, threatLevel: null, depth: 0 },
    {
      ...node,
      address: EXCHANGE,
      label: 'Binance',
      category: 'EXCHANGE',
      entity: binance,
      threatLevel: 'SAFE',
      depth: 1,
    },
  ];
  const edge = {
    from: address,
    to: EXCHANGE,
    asset: 'ETH',
    value: '1.5',
    decimals: 18,
    valueUsd: 3_000,
    txCount: 1,
    firstSeen: READ.asOf,
    lastSeen: READ.asOf,
  } as const;
  const edges = isKnown ? [edge] : [];
  const graph = {
    nodes: isKnown ? nodes : [],
    edges,
    stats: { totalNodes: isKnown ? 2 : 0, totalEdges: edges.length, maxDepthReached: edges.length },
    stoppedAt: isKnown ? [{ address: EXCHANGE, reason: 'SERVICE' } as const] : [],
  };
  const path = { addresses: [address, EXCHANGE], edges, hops: 1, bottleneckUsd: 3_000 };
  const paths = { found: isKnown, target: target ?? '', paths: isKnown ? [path] : [], truncated: false };
  const crossing: BridgeCrossing = {
    bridge: { name: 'Some Bridge', category: 'BRIDGE', threatLevel: 'LOW' },
    bridgeAddress: EXCHANGE,
    address,
    direction: 'out',
    valueUsd: null,
    txCount: 1,
    fromChain: chain,
    toChain: 'BASE',
    connectedChains: ['BASE'],
    matchedBy: 'SAME_ADDRESS',
    explanation: 'Some Bridge leads to BASE.',
    graph,
  };
  return {
    address,
    chain,
    direction,
    ...graph,
    ...(target === undefined ? {} : paths),
    ...(crossChain === true ? { crossChain: [crossing] } : {}),
    coverage,
    assessed: isKnown,
    dataVersion: DATA_VERSION,
    tracedAt: READ.asOf,
  };
}

/** Writes JSON like a writer: into the buffer if it fits. */
function written(value: unknown, out: Buffer, offset: number): number {
  const bytes = Buffer.from(JSON.stringify(value));
  if (offset + bytes.length > out.length) return -1;
  out.set(bytes, offset);
  return offset + bytes.length;
}

const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

const exchangeStatus = (name: string): ExchangeStatus => ({
  exchange: 'Kraken',
  matched: { by: 'NAME', value: name, exact: true, similarity: 1 },
  entityId: 'kraken',
  aliases: [],
  legalEntities: [],
  domains: ['kraken.com'],
  homeJurisdiction: 'US',
  closed: null,
  sanctioned: false,
  designations: [],
  reasons: [],
  jurisdiction: null,
  registrations: [],
  totalRegistrations: 0,
  restrictedJurisdictions: [],
  restrictions: null,
  registersChecked: [],
  registersNotRead: [],
});

const readBulk = compileBody(BulkBody);

const treeFacts = (chain: ChainId): OracleRoot => ({
  ...{ chain, root: `0x${'ab'.repeat(32)}`, size: 0, depth: 0, dataVersion: DATA_VERSION },
  snapshot: `0x${'cd'.repeat(32)}`,
});

/** What rules found about an address: one forwarding, which is too little for a label. */
const foundBy = (chain: string, address: string): AttributionAnswer => ({
  ...{
    address,
    chain: chain.toUpperCase(),
    labels: [],
    dispute: null,
    judgedAt: READ.asOf,
    dataVersion: DATA_VERSION,
  },
  findings: [
    {
      ...{ rule: 'exchange-deposit', version: 1, precision: 0.99, recall: 0.95 },
      ...{
        measuredOn: 'a simulated exchange',
        measuredAt: '2026-11-26',
        notMeasured: null,
        source: 'deposits',
      },
      ...{ status: 'INSUFFICIENT', entityId: 'kraken', entityName: 'Kraken', confidence: null },
      ...{ summary: '1 payment was forwarded.', count: 1 },
      evidence: [
        {
          ...{ role: 'FORWARDED', txHash: `0x${'1'.repeat(64)}`, blockNumber: 1, timestamp: READ.asOf },
          ...{ logIndex: null, asset: 'ETH', amount: '1' },
        },
      ],
    },
  ],
});

export function worldUseCases(): UseCases {
  return {
    attribution: foundBy,
    labelReports: worldReports(),
    monitoring: () => {
      throw new Error('This world watches nothing.');
    },
    cases: () => {
      throw new Error('This world has no cases.');
    },
    savedScreenings: () => {
      throw new Error('This world saves no screenings.');
    },
    billingStreams: () => {
      throw new Error('This world sells nothing.');
    },
    billing: () => {
      throw new Error('This world sells nothing.');
    },
    receiptLog: () => {
      throw new Error('This world has no transparency log.');
    },
    receipts: () => {
      throw new Error('This world signs no receipts.');
    },
    receiptBatches: () => {
      throw new Error('This world signs no receipts.');
    },
    attestedOracle: () => {
      throw new Error('This world signs no receipts.');
    },
    attestedSanctionsCheck: () => {
      throw new Error('This world signs no receipts.');
    },
    jobs: () => {
      throw new Error('This world has no jobs.');
    },
    labelSet: (chain, address, out, offset) => written(labelSet(subjectOf(chain, address)), out, offset),
    labelSetVersion: () => DATA_VERSION,
    sanctionsCheck: (chain, address, out, offset) =>
      written(sanctionsAnswer(subjectOf(chain, address)), out, offset),
    oracle: (chain, address, quota, out, offset) =>
      written(oracleAnswer(subjectOf(chain, address), quota), out, offset),
    oracleTrees: {
      async root(chain) {
        return treeFacts(parseEvmChain(chain));
      },
      async proof(chain, address) {
        const { canonical } = parseAddress(parseEvmChain(chain), address);
        return {
          ...{ address: canonical.toLowerCase(), sanctioned: false, ...treeFacts(parseEvmChain(chain)) },
          ...{ low: `0x${'00'.repeat(21)}`, high: `0x01${'00'.repeat(19)}01`, index: 0, path: [] },
        };
      },
    },
    async bulk(body) {
      const { addresses, chain = 'ETH' } = readBulk(parseJson(body));
      const results = addresses.map((item) => {
        const address = typeof item === 'string' ? item : item.address;
        try {
          return labelSet(subjectOf(typeof item === 'string' ? chain : (item.chain ?? chain), address));
        } catch (error) {
          return { address, error: (error as Error).message };
        }
      });
      const items = results.map((result) => {
        if ('error' in result) return result;
        const { coverage: _coverage, reasons: _reasons, dataVersion: _version, ...item } = result;
        return item;
      });
      return {
        json: bytesOf({ results: items, coverage, reasons: [], dataVersion: DATA_VERSION }),
        answered: results.filter((result) => !('error' in result)).length,
      };
    },
    exchangeStatus: (name) => {
      if (name === 'nobody') throw new AssayError('NOT_FOUND', 'name: no such exchange.', { field: 'name' });
      return bytesOf(exchangeStatus(name));
    },
    async screening({ chain, address, jurisdiction = 'CH' }) {
      return { json: bytesOf(screeningAnswer(subjectOf(chain, address), jurisdiction)) };
    },
    async kyt({ chain, address, from, to, direction = 'both' }) {
      const party = (text: string) => {
        const subject = subjectOf(chain, text);
        return { address: subject.address, entity: null, sanctioned: subject.address === SANCTIONED };
      };
      const [first = '', second] = address === undefined ? [from, to] : [address];
      const sanctioned = [first, second ?? ''].some((text) => text.toLowerCase() === SANCTIONED);
      const judged = {
        chain: subjectOf(chain, first).chain,
        riskScore: sanctioned ? 100 : 0,
        riskLevel: sanctioned ? 'CRITICAL' : 'LOW',
        decision: sanctioned ? 'BLOCK' : 'ALLOW',
      } as const;
      const parties: Partial<KytAnswer> =
        second === undefined
          ? { address: party(first), direction: direction as 'both' }
          : { from: party(first), to: party(second), link: { riskScore: 0, sent: noFlow, returned: null } };
      const answer: KytAnswer = {
        ...judged,
        ...parties,
        flags: sanctioned ? [sanctionedFlag] : [],
        reasons: [],
        resolved: {},
        assessed: true,
        coverage,
        dataVersion: DATA_VERSION,
        policyVersion: 'p1',
        checkedAt: READ.asOf,
      };
      return { json: bytesOf(answer) };
    },
    transaction: createTransactionSearch({
      clock: systemClock,
      search: async ({ chain }) => ({ json: bytesOf({ chain, status: 'NOT_FOUND', transaction: null }) }),
    }),
    async trace({ chain, address, direction = 'both', targetAddress, crossChain }) {
      const subject = subjectOf(chain, address);
      const isKnown = subject.address !== UNKNOWN;
      return {
        isKnown,
        json: bytesOf(traceAnswer(subject, direction as 'both', isKnown, targetAddress, crossChain)),
      };
    },
    names: worldNames(),
  };
}

/**
 * Returns the (operation, status) pairs which the server has counted and which the OpenAPI document does not name. Every world checks it
 * when it closes, so that all tests over HTTP compare the document with what the server does.
 */
async function undocumentedStatuses(url: string, list: readonly Operation[]): Promise<readonly string[]> {
  // A world with a certificate of its own cannot be read by fetch; its front end is the same.
  if (!url.startsWith('http:')) return [];
  const text = await (await fetch(`${url}/metrics`)).text();
  // The document leaves out pages for browsers, but their descriptors name their statuses too.
  const all = list.map((operation) => ({ ...operation, isListed: true }));
  const { paths } = openApiDocument('0', all) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>;
  };
  const counted = text.matchAll(/^assay_http_requests_total\{route="([A-Z]+) ([^"]*)",status="(\d+)"\}/gm);
  const others = new Set(list.filter(({ isListed }) => !isListed).map(({ path }) => path));
  return [...counted].flatMap(([, method = '', path = '', status = '']) => {
    if (others.has(path)) return [];
    // Status 0 is a client that disconnected.
    const isNamed = Object.hasOwn(paths[path]?.[method.toLowerCase()]?.responses ?? {}, status);
    return status === '0' || isNamed ? [] : [`${method} ${path} ${status}`];
  });
}

export interface World {
  readonly app: HttpApp;
  readonly port: number;
  readonly url: string;
  readonly access: Access;
  readonly billing: Billing;
  /** Folder of the accounts. */
  readonly folder: string;
  /** Makes a key and returns its text. */
  key(options?: {
    permissions?: readonly Permission[];
    rateLimits?: RateOverrides;
    accountId?: string;
    plan?: PlanName;
  }): Promise<string>;
  close(): Promise<void>;
}

export interface WorldOptions extends Partial<HttpOptions> {
  /** Default: nothing is sold, and no event of Stripe is accepted. */
  readonly billing?: OpenedBillingOptions;
  /** Default: the operations of the program. */
  readonly list?: readonly Operation[];
  readonly backend: 'uws' | 'node';
  readonly useCases?: Partial<UseCases>;
  readonly readiness?: Readiness;
  readonly log?: Logger;
  /** Default: registration is closed, and no email can be sent. */
  readonly people?: { readonly registration: 'open'; readonly mailer: Mailer };
  /** Default: those of the program. */
  readonly plans?: Plans;
  /** Default: passwords that cost nothing. In the program, one takes a fifth of a second of a core. */
  readonly derive?: DeriveKey;
  /** Payments of single requests, over the accounts of the world. Default: none. */
  readonly payPerCall?: (access: Access) => PayPerCall | null;
  readonly gasless?: HttpDeps['gasless'];
  /** The gate answers in a later turn, like a gate behind a network. */
  readonly isGateLate?: boolean;
}

/** Returns the same gate, which answers a turn of the event loop later. */
const late = (gate: Gate): Gate => ({
  ...gate,
  async admit(asked, monotonicMs) {
    await sleep(1);
    return gate.admit(asked, monotonicMs);
  },
});

/**
 * Acceptor threads of the worlds on uWebSockets.js, which pass every request on: `ASSAY_TEST_ACCEPTORS=2 npx vitest run test/http`. Default: none.
 * Tests of pipelined requests then fail.
 */
const acceptorCount = Number(process.env.ASSAY_TEST_ACCEPTORS ?? 0);

export async function openWorld(options: WorldOptions): Promise<World> {
  const folder: TempFolder = tempFolder();
  const log = options.log ?? silentLogger;
  const parts = { clock: systemClock, random: systemRandom, log };
  const { people } = options;
  const embedded = createAccess(
    { folder: folder.path, ...(people === undefined ? {} : { registration: people.registration }) },
    {
      ...parts,
      mailer: people?.mailer ?? null,
      ...(options.plans === undefined ? {} : { plans: options.plans }),
      derive: options.derive ?? cheapPasswords,
    },
  );
  const access = options.isGateLate === true ? { ...embedded, gate: late(embedded.gate) } : embedded;
  const billing = openedBilling(folder.path, access, { stripeSecret: null, ...options.billing });
  let streams: StreamHub | null = null;
  const app = createHttpApp(
    {
      host: '127.0.0.1',
      port: 0,
      tls: null,
      publicHost: null,
      trustedProxies: [],
      version: '0.0.0',
      ...options,
      backend: await backendHere(options.backend),
    },
    {
      ...parts,
      access,
      useCases: {
        ...worldUseCases(),
        billing: () => billing,
        billingStreams: () => {
          streams ??= billingStreams(billing, { clock: systemClock });
          return streams;
        },
        ...options.useCases,
      },
      readiness: () =>
        options.readiness ?? {
          ready: true,
          reasons: [],
          snapshot: {
            dataVersion: DATA_VERSION,
            builtAt: READ.asOf,
            addresses: 2,
            labels: 2,
            syntheticLabels: 0,
          },
          lists: [
            {
              list: 'EU',
              publishedAt: null,
              checkedAt: null,
              checkedBy: null,
              stale: true,
              publicationOld: false,
            },
          ],
        },
      operator: worldOperator,
      payPerCall: () => options.payPerCall?.(access) ?? null,
      gasless: () => options.gasless?.() ?? null,
      gauges: [{ name: 'assay_test_gauge', help: 'A gauge of another room.', value: () => 7 }],
      acceptors:
        acceptorCount < 2
          ? null
          : { count: acceptorCount, worker: workerUrl('acceptor'), stores: null, counting: null },
    },
    options.list,
  );
  const { port, url } = await app.listen();
  return {
    app,
    port,
    url,
    access,
    billing,
    folder: folder.path,
    async key({ permissions, rateLimits, accountId, plan } = {}) {
      const created = await access.keys.create({
        name: 'test',
        ...(permissions ? { permissions } : {}),
        ...(rateLimits ? { rateLimits } : {}),
        ...(accountId ? { accountId } : {}),
        ...(plan ? { plan } : {}),
      });
      return created.apiKey;
    },
    async close() {
      const undocumented = await undocumentedStatuses(url, options.list ?? OPERATIONS);
      await app.close();
      await billing.close();
      await access.close();
      folder.remove();
      expect(undocumented).toEqual([]);
    },
  };
}

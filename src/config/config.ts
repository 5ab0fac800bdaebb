/**
 * Reads the environment into one frozen, validated Config. The only reader of process.env; an invalid value stops the start with an error
 * message.
 */
import { readFileSync } from 'node:fs';
import { AssayError } from '../base/errors.ts';
import type { LogFormat, LogLevel } from '../base/log.ts';
import type { Role } from '../nodes/roles.ts';
import { type RedisPlace, readRedisUrl } from '../state/redis-url.ts';
import {
  type Bucket,
  type HostAndPort,
  isLoopback,
  type PullPlace,
  type S3Place,
} from '../state/snapshot-places.ts';
import type { WitnessSetting } from './log.ts';
import type { Setting } from './setting.ts';
import { SETTINGS } from './settings.ts';

export interface Config {
  /** API key with which `assay bulk --remote` calls a server. */
  readonly apiKey: string | null;
  /** Private key of the account that pushes lists into contracts, `0x` and hexadecimal. */
  readonly oracleKey: string | null;
  /** URL of the server of `assay mcp`. */
  readonly baseUrl: string | null;
  /** Origins of pages that may send MCP requests, beside the server's own. */
  readonly mcpOrigins: readonly string[];
  readonly registration: 'open' | 'closed';
  /** Mail server and sender; null: no email is sent. */
  readonly mail: { readonly url: string; readonly from: string } | null;
  /** Hosts that may have private addresses and may receive alerts over plain http. */
  readonly webhookTrustedHosts: readonly string[];
  readonly stripe: {
    /** The secret with which Stripe signs its events; null: no payments. */
    readonly webhookSecret: string | null;
    /** Creates checkouts; null: none are offered. */
    readonly api: { readonly secretKey: string; readonly apiUrl: string } | null;
  };
  /** Payments by a signed authorization. */
  readonly authorizedPayments: {
    /** Chains of pay per call; empty: off. */
    readonly callChains: readonly string[];
    readonly payTo: string | null;
    /** Chains on which invoices are paid by a signature; empty: off. */
    readonly gaslessChains: readonly string[];
    /** The key itself, or the file that has it. */
    readonly relayKey: string | null;
    readonly relayKeyFile: string | null;
    /** Decimal texts: coins, and gwei. */
    readonly relayBalanceMax: string;
    readonly relayMaxFeeGwei: string;
    readonly confirmations: number;
  };
  /** Watch-only keys for invoices in cryptocurrency, as text; null: not offered. */
  readonly paymentKeys: Readonly<
    Record<'BTC' | 'LTC' | 'DOGE' | 'BCH' | 'EVM' | 'TRON' | 'SOL', string | null>
  >;
  /** The operator's details on receipts. */
  readonly seller: {
    readonly name: string | null;
    readonly address: readonly string[];
    readonly vatId: string | null;
    /** Hundredths of a percent. */
    readonly vatBasisPoints: number | null;
    readonly receiptPrefix: string;
  };
  /** The operator's account for payments by wire; null: none. */
  readonly bankAccount: {
    readonly iban: string;
    readonly bic: string | null;
    readonly holder: string;
    readonly bank: string | null;
    readonly address: {
      readonly street: string | null;
      readonly postcode: string;
      readonly town: string;
      readonly country: string;
    } | null;
  } | null;
  /** Hundredths of a percent by which a payment may be short. */
  readonly paymentToleranceBasisPoints: number;
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly dataDir: string;
  /** Folder of the files of bulk jobs; null: inside the data folder. */
  readonly jobsDir: string | null;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly httpBackend: 'auto' | 'uws' | 'node';
  readonly httpKeepAliveSeconds: number;
  /** PEM files; both or neither. */
  readonly tls: { readonly keyFile: string; readonly certFile: string } | null;
  /** Host (with port, if it is not the default one) to which `www.` requests are redirected; null rejects them. */
  readonly publicHost: string | null;
  /** Addresses or CIDR ranges of proxies; their X-Forwarded-For and X-Forwarded-Proto are trusted. */
  readonly trustedProxies: readonly string[];
  /** Threads that accept connections; 1: the main thread. */
  readonly acceptors: number;
  /** Threads of the worker pool. */
  readonly workers: number;
  /** The roles of this node, each once, in the order of ROLES. */
  readonly roles: readonly Role[];
  /** Redis with the accounts and all other live state of many nodes; null keeps them in files of this machine. */
  readonly redis: {
    readonly place: RedisPlace;
    /** Number of replicas that must have a charge before it is acknowledged. */
    readonly replicas: number;
    /** True: accepts servers that may evict or lose data. */
    readonly mayLose: boolean;
  } | null;
  /** Names of the chains of which this node stores the transfers; `all`: every stored chain. */
  readonly graphChains: 'all' | readonly string[];
  readonly syncEnabled: boolean;
  readonly syncIntervalHours: number;
  /** Least time between two publications of derived labels, in minutes. */
  readonly attributeMinutes: number;
  readonly walletRefreshHours: number;
  /** Whether decisions on cases need the approval of another person. */
  readonly caseFourEyes: boolean;
  /** Days after closing for which a case is kept; null: without end. */
  readonly caseRetentionDays: number | null;
  /** Days for which a saved screening is kept; null: without end. */
  readonly screeningRetentionDays: number | null;
  /** The transparency log of receipts. */
  readonly receiptLog: {
    /** Origin of a log that is created; null: a default. */
    readonly origin: string | null;
    /** Where it is published as static files; null: nowhere. */
    readonly publish: { readonly folder: string } | { readonly s3: S3Place } | null;
    readonly witnesses: readonly WitnessSetting[];
  };
  /** Days for which a receipt and its evidence are kept. */
  readonly receiptRetentionDays: number;
  /** Days for which transactions of watched wallets are kept. */
  readonly transactionRetentionDays: number;
  /** Base URL of a mirror that replaces every publisher's address; null: the publishers themselves. */
  readonly syncFrom: string | null;
  /** Headers that authenticate requests to publishers, by source; a source that is not here has none. */
  readonly sourceCredentials: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Age in days since the last successful check after which a sanctions list is stale. */
  readonly listMaxAgeDays: number;
  /** File of own links between entities and listed parties; null: only the shipped links. */
  readonly entityParties: string | null;
  /** A price server with CoinGecko's API, and its key; null: prices come only from the tables. */
  readonly priceServer: {
    readonly url: string;
    readonly key: string | null;
    /** Requests per minute that it allows. */
    readonly perMinute: number;
  } | null;
  /** The operator's own list of tokens with transfers that are evidence; null: no list. */
  readonly tokensFile: string | null;
  /** Snapshot replication between nodes. */
  readonly snapshots: {
    /** Address on which other nodes can pull from this one. */
    readonly listen: HostAndPort | null;
    /** Secret that the nodes of one cluster share. */
    readonly secret: string | null;
    /** Object store to which snapshots are uploaded. */
    readonly store: S3Place | null;
    /** Location from which snapshots are pulled; a node that pulls builds none itself. */
    readonly from: PullPlace | null;
    /** Replication lag in seconds after which /ready returns 503; 0: never. */
    readonly behindMaxSeconds: number;
  };
  /** If true, /ready returns 503 while a list is stale. */
  readonly readyNeedsFreshLists: boolean;
  readonly chains: {
    /** Texts of ASSAY_RPC_<CHAIN> and ASSAY_HISTORY_<CHAIN>, by role and by the chain in the variable. */
    readonly endpoints: {
      readonly rpc: Readonly<Record<string, string>>;
      readonly history: Readonly<Record<string, string>>;
    };
    /** Texts of ASSAY_GRAPH_STORE_<CHAIN>, by chain. */
    readonly graphStores: Readonly<Record<string, string>>;
    readonly publicEndpoints: boolean;
    /** Maximum time in milliseconds that one screening waits for chains. */
    readonly budgetMs: number;
    /** Minutes after which the fetched data of an address is fetched again. */
    readonly maxAgeMinutes: number;
    readonly quorum: number;
    readonly offchainNames: boolean;
  };
}

/** Variables with these prefixes end in the name of a chain, which the chain modules validate. */
const CHAIN_PREFIXES = {
  rpc: 'ASSAY_RPC_',
  history: 'ASSAY_HISTORY_',
  graphStore: 'ASSAY_GRAPH_STORE_',
} as const;

/** Returns the texts of all variables with a prefix, by the rest of their names. */
const byChain = (
  environment: Readonly<Record<string, string | undefined>>,
  prefix: string,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([variable, text]) =>
      variable.startsWith(prefix) && text !== undefined ? [[variable.slice(prefix.length), text]] : [],
    ),
  );

/** Several acceptors share their counters in the memory of one process. */
function readAcceptors(value: <T>(row: Setting<T>) => T): number {
  const acceptors = value(SETTINGS.acceptors);
  if (acceptors === 1) return acceptors;
  const { variable } = SETTINGS.acceptors;
  const problem =
    value(SETTINGS.redisUrl) !== null
      ? `must be 1 together with ${SETTINGS.redisUrl.variable}: add nodes behind the proxy instead`
      : value(SETTINGS.httpBackend) === 'node'
        ? `must be 1 if ${SETTINGS.httpBackend.variable} is node`
        : process.platform === 'linux'
          ? null
          : 'must be 1 on this system: only Linux spreads the connections of a port over threads';
  if (problem !== null)
    throw new AssayError('INVALID_CONFIG', `${variable}: ${problem} (got ${acceptors}).`, {
      field: variable,
    });
  return acceptors;
}

function readTls(keyFile: string, certFile: string): Config['tls'] {
  if (keyFile === '' && certFile === '') return null;
  if (keyFile === '' || certFile === '') {
    const missing = keyFile === '' ? SETTINGS.tlsKey.variable : SETTINGS.tlsCert.variable;
    throw new AssayError(
      'INVALID_CONFIG',
      `${missing} is not set: TLS needs both a key and a certificate file.`,
      { field: missing },
    );
  }
  for (const [variable, file] of [
    [SETTINGS.tlsKey.variable, keyFile],
    [SETTINGS.tlsCert.variable, certFile],
  ] as const) {
    try {
      readFileSync(file);
    } catch (cause) {
      throw new AssayError('INVALID_CONFIG', `${variable}: the file '${file}' cannot be read.`, {
        field: variable,
        cause,
      });
    }
  }
  return { keyFile, certFile };
}

type Value = <T>(row: Setting<T>) => T;

const need = (row: Setting<unknown>, by: Setting<unknown>, why: string): AssayError =>
  new AssayError('INVALID_CONFIG', `${row.variable} is not set: ${by.variable} needs it${why}.`, {
    field: row.variable,
  });

/** Returns the function that adds the credentials of the object store to a bucket. It throws INVALID_CONFIG without credentials. */
function s3Places(value: Value): (bucket: Bucket, by: Setting<unknown>) => S3Place {
  const accessKeyId = value(SETTINGS.s3AccessKeyId);
  const secretAccessKey = value(SETTINGS.s3SecretAccessKey);
  const sessionToken = value(SETTINGS.s3SessionToken);
  return (bucket, by) => {
    if (accessKeyId === null) throw need(SETTINGS.s3AccessKeyId, by, '');
    if (secretAccessKey === null) throw need(SETTINGS.s3SecretAccessKey, by, '');
    return {
      ...bucket,
      endpoint: value(SETTINGS.s3Endpoint),
      region: value(SETTINGS.s3Region),
      credentials: { accessKeyId, secretAccessKey, sessionToken },
    };
  };
}

/** Combines the settings of the transparency log. Throws INVALID_CONFIG. */
function readReceiptLog(value: Value): Config['receiptLog'] {
  const publish = value(SETTINGS.logPublish);
  return {
    origin: value(SETTINGS.logOrigin),
    publish:
      publish === null || 'folder' in publish
        ? publish
        : { s3: s3Places(value)(publish, SETTINGS.logPublish) },
    witnesses: value(SETTINGS.logWitnesses),
  };
}

/** Combines the settings of snapshot replication. Throws INVALID_CONFIG if a setting lacks another that it needs. */
function readSnapshots(value: Value): Config['snapshots'] {
  const place = s3Places(value);
  const secret = value(SETTINGS.clusterSecret);
  const listen = value(SETTINGS.snapshotListen);
  if (listen !== null && secret === null && !isLoopback(listen.host))
    throw need(SETTINGS.clusterSecret, SETTINGS.snapshotListen, ' beyond loopback');
  const store = value(SETTINGS.snapshotStore);
  const from = value(SETTINGS.snapshotFrom);
  return {
    listen,
    secret,
    store: store === null ? null : place(store, SETTINGS.snapshotStore),
    from:
      from === null
        ? null
        : 'url' in from
          ? { kind: 'http', url: from.url }
          : { kind: 's3', place: place(from, SETTINGS.snapshotFrom) },
    behindMaxSeconds: value(SETTINGS.snapshotBehindMaxSeconds),
  };
}

/** Whether a server on this address listens on all addresses of its machine, so that its URL is not known. */
const isAnyAddress = (host: string): boolean => host === '::' || /^0+(\.0+){0,3}$/.test(host);

/** Combines the settings of the FCA. Throws INVALID_CONFIG if only one of the two is set. */
function readSourceCredentials(value: <T>(row: Setting<T>) => T): Config['sourceCredentials'] {
  const email = value(SETTINGS.fcaEmail);
  const key = value(SETTINGS.fcaKey);
  if (email === null && key === null) return {};
  if (email === null) throw need(SETTINGS.fcaEmail, SETTINGS.fcaKey, '');
  if (key === null) throw need(SETTINGS.fcaKey, SETTINGS.fcaEmail, '');
  return { fca: { 'x-auth-email': email, 'x-auth-key': key } };
}

/** Combines the settings of the price server. Throws INVALID_CONFIG for a key without a server. */
function readPriceServer(value: Value): Config['priceServer'] {
  const url = value(SETTINGS.priceUrl);
  const key = value(SETTINGS.priceKey);
  if (url !== null) return { url, key, perMinute: value(SETTINGS.pricePerMinute) };
  if (key !== null) throw need(SETTINGS.priceUrl, SETTINGS.priceKey, '');
  return null;
}

/** Combines the settings of payments by a signed authorization. Throws INVALID_CONFIG for an address without a chain. */
function readAuthorizedPayments(value: Value): Config['authorizedPayments'] {
  const callChains = value(SETTINGS.x402Chains);
  const payTo = value(SETTINGS.x402Address);
  if (payTo !== null && callChains.length === 0) throw need(SETTINGS.x402Chains, SETTINGS.x402Address, '');
  return {
    callChains,
    payTo,
    gaslessChains: value(SETTINGS.gaslessChains),
    relayKey: value(SETTINGS.relayKey),
    relayKeyFile: value(SETTINGS.relayKeyFile),
    relayBalanceMax: value(SETTINGS.relayBalanceMax),
    relayMaxFeeGwei: value(SETTINGS.relayMaxFeeGwei),
    confirmations: value(SETTINGS.relayConfirmations),
  };
}

/** Combines the settings of Stripe. Throws INVALID_CONFIG if checkouts would be paid and never booked, or have no page to return to. */
function readStripe(value: <T>(row: Setting<T>) => T): Config['stripe'] {
  const webhookSecret = value(SETTINGS.stripeSecret);
  const secretKey = value(SETTINGS.stripeKey);
  const apiUrl = value(SETTINGS.stripeUrl);
  if (secretKey !== null && webhookSecret === null) {
    const { variable } = SETTINGS.stripeSecret;
    throw new AssayError(
      'INVALID_CONFIG',
      `${variable} is not set: ${SETTINGS.stripeKey.variable} needs it, because credits are booked when Stripe reports a payment.`,
      { field: variable },
    );
  }
  if (secretKey !== null && value(SETTINGS.publicHost) === null && isAnyAddress(value(SETTINGS.host)))
    throw need(
      SETTINGS.publicHost,
      SETTINGS.stripeKey,
      ', because a customer returns from the payment page to it',
    );
  return { webhookSecret, api: secretKey === null ? null : { secretKey, apiUrl } };
}

/** Combines the settings of the account for payments by wire. Throws INVALID_CONFIG if its owner is not named. */
function readBankAccount(value: <T>(row: Setting<T>) => T): Config['bankAccount'] {
  const iban = value(SETTINGS.sellerIban);
  if (iban === null) return null;
  const holder = value(SETTINGS.sellerName);
  if (holder === null)
    throw need(SETTINGS.sellerName, SETTINGS.sellerIban, ', because a bank needs the owner of the account');
  const postcode = value(SETTINGS.sellerPostcode);
  const town = value(SETTINGS.sellerTown);
  const country = value(SETTINGS.sellerCountry);
  const isKnown = postcode !== null && town !== null && country !== null;
  return {
    ...{ iban, holder, bic: value(SETTINGS.sellerBic), bank: value(SETTINGS.sellerBank) },
    address: isKnown ? { street: value(SETTINGS.sellerStreet), postcode, town, country } : null,
  };
}

/** Returns the validated URLs of the graph stores, by chain. Throws INVALID_CONFIG. */
function readGraphStores(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const stores = byChain(environment, CHAIN_PREFIXES.graphStore);
  for (const [chain, url] of Object.entries(stores))
    if (url !== '') readRedisUrl(url, `${CHAIN_PREFIXES.graphStore}${chain}`);
  return stores;
}

/** The secret of webhooks, which the Python client and the consumer of the examples read. It may be set where commands of Assay run. */
const CLIENT_SECRET = 'ASSAY_WEBHOOK_SECRET';

/**
 * Reads and validates every setting.
 *
 * @throws INVALID_CONFIG naming the variable
 */
export function loadConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const known = new Set<string>(Object.values(SETTINGS).map((row) => row.variable));
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith('ASSAY_') || variable.startsWith('ASSAY_TEST_')) continue;
    if (known.has(variable) || variable === CLIENT_SECRET) continue;
    if (Object.values(CHAIN_PREFIXES).some((prefix) => variable.startsWith(prefix))) continue;
    throw new AssayError(
      'INVALID_CONFIG',
      `${variable}: not a setting of Assay. Settings: ${[...known].join(', ')}.`,
      { field: variable },
    );
  }
  const value = <T>(row: Setting<T>): T => row.read(environment[row.variable] ?? row.fallback, row.variable);
  // Also those that another setting switches off: a mistake in them would be found on the day on which they are needed.
  for (const row of Object.values<Setting<unknown>>(SETTINGS)) value(row);
  const smtpUrl = value(SETTINGS.smtpUrl);
  const redisPlace = value(SETTINGS.redisUrl);
  return Object.freeze({
    apiKey: value(SETTINGS.apiKey),
    oracleKey: value(SETTINGS.oracleKey),
    baseUrl: value(SETTINGS.baseUrl),
    mcpOrigins: value(SETTINGS.mcpOrigins),
    registration: value(SETTINGS.registration),
    mail: smtpUrl === null ? null : { url: smtpUrl, from: value(SETTINGS.mailFrom) },
    webhookTrustedHosts: value(SETTINGS.webhookTrustedHosts),
    stripe: readStripe(value),
    authorizedPayments: readAuthorizedPayments(value),
    paymentKeys: {
      BTC: value(SETTINGS.paymentKeyBtc),
      LTC: value(SETTINGS.paymentKeyLtc),
      DOGE: value(SETTINGS.paymentKeyDoge),
      BCH: value(SETTINGS.paymentKeyBch),
      EVM: value(SETTINGS.paymentKeyEvm),
      TRON: value(SETTINGS.paymentKeyTron),
      SOL: value(SETTINGS.paymentAddressSol),
    },
    seller: {
      name: value(SETTINGS.sellerName),
      address: value(SETTINGS.sellerAddress),
      vatId: value(SETTINGS.sellerVatId),
      vatBasisPoints: value(SETTINGS.vatPercent),
      receiptPrefix: value(SETTINGS.receiptPrefix),
    },
    bankAccount: readBankAccount(value),
    paymentToleranceBasisPoints: value(SETTINGS.paymentTolerance) ?? 0,
    host: value(SETTINGS.host),
    port: value(SETTINGS.port),
    dataDir: value(SETTINGS.dataDir),
    jobsDir: value(SETTINGS.jobsDir),
    logLevel: value(SETTINGS.logLevel),
    logFormat: value(SETTINGS.logFormat),
    httpBackend: value(SETTINGS.httpBackend),
    httpKeepAliveSeconds: value(SETTINGS.httpKeepAliveSeconds),
    tls: readTls(value(SETTINGS.tlsKey), value(SETTINGS.tlsCert)),
    publicHost: value(SETTINGS.publicHost),
    trustedProxies: value(SETTINGS.trustedProxies),
    acceptors: readAcceptors(value),
    workers: value(SETTINGS.workers),
    roles: value(SETTINGS.roles),
    redis:
      redisPlace === null
        ? null
        : {
            place: redisPlace,
            replicas: value(SETTINGS.redisReplicas) ?? (redisPlace.kind === 'single' ? 0 : 1),
            mayLose: value(SETTINGS.redisMayLose),
          },
    graphChains: value(SETTINGS.graphChains),
    syncEnabled: value(SETTINGS.syncEnabled),
    syncIntervalHours: value(SETTINGS.syncIntervalHours),
    attributeMinutes: value(SETTINGS.attributeMinutes),
    walletRefreshHours: value(SETTINGS.walletRefreshHours),
    caseFourEyes: value(SETTINGS.caseFourEyes),
    caseRetentionDays: value(SETTINGS.caseRetentionDays),
    screeningRetentionDays: value(SETTINGS.screeningRetentionDays),
    receiptLog: readReceiptLog(value),
    receiptRetentionDays: value(SETTINGS.receiptRetentionDays),
    transactionRetentionDays: value(SETTINGS.transactionRetentionDays),
    syncFrom: value(SETTINGS.syncFrom),
    sourceCredentials: readSourceCredentials(value),
    listMaxAgeDays: value(SETTINGS.listMaxAgeDays),
    entityParties: value(SETTINGS.entityParties),
    priceServer: readPriceServer(value),
    tokensFile: value(SETTINGS.tokensFile),
    snapshots: readSnapshots(value),
    readyNeedsFreshLists: value(SETTINGS.readyNeedsFreshLists),
    chains: {
      endpoints: {
        rpc: byChain(environment, CHAIN_PREFIXES.rpc),
        history: byChain(environment, CHAIN_PREFIXES.history),
      },
      graphStores: readGraphStores(environment),
      publicEndpoints: value(SETTINGS.publicEndpoints),
      budgetMs: value(SETTINGS.chainBudgetMs),
      maxAgeMinutes: value(SETTINGS.chainMaxAgeMinutes),
      quorum: value(SETTINGS.chainQuorum),
      offchainNames: value(SETTINGS.offchainNames),
    },
  });
}

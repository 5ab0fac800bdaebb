/**
 * Reads the environment into one frozen, validated Config. The only reader of process.env; an invalid value stops the start with an error
 * message.
 */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { AssayError } from '../base/errors.ts';
import type { LogLevel } from '../base/log.ts';
import { projectRoot } from '../base/paths.ts';
import { ROLES, type Role, readRoles } from '../nodes/roles.ts';
import { type RedisPlace, readRedisUrl } from '../state/redis.ts';
import {
  type Bucket,
  type HostAndPort,
  isLoopback,
  optionalBucket,
  optionalHostAndPort,
  optionalPullPlace,
  type PullPlace,
  type S3Place,
} from '../state/snapshot-places.ts';

export interface Config {
  /** API key with which `assay bulk --remote` calls a server. */
  readonly apiKey: string | null;
  readonly registration: 'open' | 'closed';
  /** Mail server and sender; null: no email is sent. */
  readonly mail: { readonly url: string; readonly from: string } | null;
  /** Hosts that may have private addresses and may receive alerts over plain http. */
  readonly webhookTrustedHosts: readonly string[];
  /** The secret with which Stripe signs its events; null: no payments. */
  readonly stripeSecret: string | null;
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly dataDir: string;
  /** Folder of the files of bulk jobs; null: inside the data folder. */
  readonly jobsDir: string | null;
  readonly logLevel: LogLevel;
  readonly httpBackend: 'auto' | 'uws' | 'node';
  /** PEM files; both or neither. */
  readonly tls: { readonly keyFile: string; readonly certFile: string } | null;
  /** Host (with port, if it is not the default one) to which `www.` requests are redirected; null rejects them. */
  readonly publicHost: string | null;
  /** Addresses or CIDR ranges of proxies; their X-Forwarded-For and X-Forwarded-Proto are trusted. */
  readonly trustedProxies: readonly string[];
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
  readonly walletRefreshHours: number;
  /** Base URL of a mirror that replaces every publisher's address; null: the publishers themselves. */
  readonly syncFrom: string | null;
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

/** One setting: its variable, its default text, its parser, and its description in the README. */
interface Setting<T> {
  readonly variable: string;
  readonly fallback: string;
  readonly about: string;
  readonly read: (text: string, variable: string) => T;
}

const wrong = (variable: string, text: string, expected: string): AssayError =>
  new AssayError('INVALID_CONFIG', `${variable} is '${text}', but it must be ${expected}.`, {
    field: variable,
  });

const number =
  (min: number, max: number, whole = true) =>
  (text: string, variable: string): number => {
    const value = Number(text);
    const fits = text.trim() !== '' && value >= min && value <= max && (!whole || Number.isInteger(value));
    if (!fits) throw wrong(variable, text, `a ${whole ? 'whole ' : ''}number from ${min} to ${max}`);
    return value;
  };

const oneOf =
  <T extends string>(...words: readonly T[]) =>
  (text: string, variable: string): T => {
    const word = words.find((candidate) => candidate === text);
    if (!word) throw wrong(variable, text, `one of ${words.join(', ')}`);
    return word;
  };

const graphChains = (text: string, variable: string): Config['graphChains'] => {
  if (text === 'all') return 'all';
  if (text === 'none') return [];
  const words = text.split(',').map((word) => word.trim().toUpperCase());
  if (!words.every((word) => /^[A-Z0-9]{2,16}$/.test(word)))
    throw wrong(variable, text, 'all, none, or chains with commas between them');
  return [...new Set(words)];
};

const onOff = (text: string, variable: string): boolean => oneOf('on', 'off')(text, variable) === 'on';

const hostName = (text: string, variable: string): string => {
  if (!/^[0-9A-Za-z.:[\]-]+$/.test(text)) throw wrong(variable, text, 'a host name or an IP address');
  return text;
};

const optionalHost = (text: string, variable: string): string | null =>
  text === '' ? null : hostName(text, variable);

const hostNames = (text: string, variable: string): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => hostName(part, variable));

const optionalUrl = (text: string, variable: string): string | null => {
  if (text === '') return null;
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw wrong(variable, text, 'an http or https URL');
  return text;
};

/** Returns true for an IP address or a CIDR range. */
function isRange(text: string): boolean {
  const [address = '', prefix, more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more !== undefined) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

const optionalSmtpUrl = (text: string, variable: string): string | null => {
  if (text === '') return null;
  // The text contains a password, so no error repeats it.
  if (!URL.canParse(text) || !/^smtps?:$/.test(new URL(text).protocol))
    throw wrong(variable, '…', 'an smtp or smtps URL');
  return text;
};

const mailAddress = (text: string, variable: string): string => {
  if (!/^[^\s@]+@[^\s@]+$/.test(text)) throw wrong(variable, text, 'a mail address');
  return text;
};

const optionalSecret = (text: string, variable: string): string | null => {
  if (text === '') return null;
  if (!/^whsec_[\x21-\x7e]{8,}$/.test(text)) throw wrong(variable, '…', 'a secret that begins with whsec_');
  return text;
};

const optionalKey = (text: string, variable: string): string | null => {
  if (text === '') return null;
  // An error must not repeat a key.
  if (!/^[\x21-\x7e]{1,256}$/.test(text)) throw wrong(variable, '…', 'a key of printable characters');
  return text;
};

const optionalRedis = (text: string, variable: string): RedisPlace | null =>
  text === '' ? null : readRedisUrl(text, variable);

const optionalToken = (text: string, variable: string): string | null => {
  if (text === '') return null;
  if (!/^[\x21-\x7e]{1,8192}$/.test(text)) throw wrong(variable, '…', 'a token of printable characters');
  return text;
};

const optionalClusterSecret = (text: string, variable: string): string | null => {
  if (text === '') return null;
  // An error must not repeat a secret.
  if (!/^[\x21-\x7e]{16,256}$/.test(text))
    throw wrong(variable, '…', 'a secret of 16 to 256 printable characters');
  return text;
};

const ranges = (text: string, variable: string): readonly string[] => {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  for (const part of parts)
    if (!isRange(part)) throw wrong(variable, text, 'IP addresses or CIDR ranges with commas between them');
  return parts;
};

const folder = (text: string): string => (isAbsolute(text) ? text : resolve(text));

const setting = <T>(
  variable: string,
  fallback: string,
  read: (text: string, variable: string) => T,
  about: string,
): Setting<T> => ({ variable, fallback, read, about });

/** Every setting; the table in the README is generated from these rows. */
export const SETTINGS = {
  host: setting('ASSAY_HOST', '127.0.0.1', hostName, 'Address to listen on.'),
  port: setting('ASSAY_PORT', '8080', number(0, 65_535), 'Port to listen on; 0 picks a free one.'),
  dataDir: setting(
    'ASSAY_DATA_DIR',
    join(projectRoot, 'data', 'store'),
    folder,
    'Folder of all state: labels, snapshots, transfers, keys. Default: data/store of the project.',
  ),
  jobsDir: setting(
    'ASSAY_JOBS_DIR',
    '',
    (text) => (text === '' ? null : folder(text)),
    'Folder of the files of bulk jobs; nodes that share a Redis share it too. Default: jobs in the folder of all state.',
  ),
  logLevel: setting(
    'ASSAY_LOG_LEVEL',
    'info',
    oneOf<LogLevel>('debug', 'info', 'warn', 'error', 'silent'),
    'debug, info, warn, error or silent. Logs are JSON lines on stderr.',
  ),
  httpBackend: setting(
    'ASSAY_HTTP_BACKEND',
    'auto',
    oneOf('auto', 'uws', 'node'),
    'uws (uWebSockets.js), node (node:http) or auto (uws where its binary loads).',
  ),
  tlsKey: setting(
    'ASSAY_TLS_KEY',
    '',
    String,
    'PEM file of the private key; with ASSAY_TLS_CERT it switches TLS on.',
  ),
  tlsCert: setting('ASSAY_TLS_CERT', '', String, 'PEM file of the certificate chain.'),
  publicHost: setting(
    'ASSAY_PUBLIC_HOST',
    '',
    optionalHost,
    'Host that requests to www.… are redirected to.',
  ),
  trustedProxies: setting(
    'ASSAY_TRUSTED_PROXIES',
    '',
    ranges,
    'Addresses or CIDR ranges of proxies whose X-Forwarded-* headers are believed.',
  ),
  workers: setting(
    'ASSAY_WORKERS',
    String(Math.max(1, availableParallelism() - 1)),
    number(1, 64),
    'Threads of the worker pool. Default: one less than there are cores.',
  ),
  roles: setting(
    'ASSAY_ROLES',
    ROLES.join(','),
    readRoles,
    'What this node does, of api, worker, listener and delivery, with commas between them; fewer than all need a Redis.',
  ),
  redisUrl: setting(
    'ASSAY_REDIS_URL',
    '',
    optionalRedis,
    'Redis that many nodes share their live state in: redis://user:password@host:port/database, redis+cluster://a:6379,b:6379 or redis+sentinel://a,b/master; rediss… with TLS; ?prefix=… for a prefix of its own.',
  ),
  redisReplicas: setting(
    'ASSAY_REDIS_REPLICAS',
    '',
    (text, variable) => (text === '' ? null : number(0, 16)(text, variable)),
    'Replicas that have a charge before it is acknowledged; where they do not answer, it is refused. Default: 1 with Sentinels or a cluster, else 0.',
  ),
  redisMayLose: setting(
    'ASSAY_REDIS_MAY_LOSE',
    'off',
    onOff,
    'on: takes a Redis that evicts keys or keeps nothing on disk, and may so lose accounts and credits.',
  ),
  graphChains: setting(
    'ASSAY_GRAPH_CHAINS',
    'all',
    graphChains,
    'Chains whose transfers this node holds, as ETH,BTC, or all, or none; other nodes are asked about the rest.',
  ),
  syncEnabled: setting('ASSAY_SYNC', 'on', onOff, 'off: serve never downloads lists by itself.'),
  syncIntervalHours: setting(
    'ASSAY_SYNC_INTERVAL_HOURS',
    '6',
    number(0.01, 24 * 30, false),
    'Hours between two refreshes of the lists (with jitter).',
  ),
  walletRefreshHours: setting(
    'ASSAY_WALLET_REFRESH_HOURS',
    '24',
    number(1, 24 * 30, false),
    'Hours between two screenings of a monitored wallet; each alert of it brings another.',
  ),
  syncFrom: setting(
    'ASSAY_SYNC_FROM',
    '',
    optionalUrl,
    'Base URL of a mirror that stands in for the publishers.',
  ),
  listMaxAgeDays: setting(
    'ASSAY_LIST_MAX_AGE_DAYS',
    '7',
    number(0.01, 3650, false),
    'Days since the last successful check after which a sanctions list is stale.',
  ),
  entityParties: setting(
    'ASSAY_ENTITY_PARTIES',
    '',
    (text) => (text === '' ? null : folder(text)),
    'File of own links between entities of labels and listed parties, in the layout of data/entity-parties.json, merged over it.',
  ),
  priceUrl: setting(
    'ASSAY_PRICE_URL',
    '',
    optionalUrl,
    "Price server in CoinGecko's layout, as https://api.coingecko.com/api/v3: prices on demand, and daily closes by `assay sync`. Without it, tables and own EVM nodes give prices.",
  ),
  tokensFile: setting(
    'ASSAY_TOKENS_FILE',
    '',
    (text) => (text === '' ? null : folder(text)),
    'CSV (`chain,asset,symbol,decimals`) of further tokens whose transfers are evidence; see docs/transfers.md.',
  ),
  priceKey: setting('ASSAY_PRICE_KEY', '', optionalKey, 'Key of the price server.'),
  pricePerMinute: setting(
    'ASSAY_PRICE_PER_MINUTE',
    '25',
    number(1, 10_000),
    'Requests a minute that the price server allows; the public tier of CoinGecko allows 30.',
  ),
  readyNeedsFreshLists: setting(
    'ASSAY_READY_NEEDS_FRESH_LISTS',
    'off',
    onOff,
    'on: /ready answers 503 while a list is missing or stale.',
  ),
  snapshotListen: setting(
    'ASSAY_SNAPSHOT_LISTEN',
    '',
    optionalHostAndPort,
    'Host and port on which other nodes may pull label snapshots from this one, as `0.0.0.0:8090`.',
  ),
  snapshotFrom: setting(
    'ASSAY_SNAPSHOT_FROM',
    '',
    optionalPullPlace,
    'Where this node pulls its label snapshots from, `http://host:8090` or `s3://bucket/prefix`; it then builds and syncs none itself.',
  ),
  snapshotStore: setting(
    'ASSAY_SNAPSHOT_STORE',
    '',
    optionalBucket,
    'Object store (S3) that this node carries its label snapshots to, `s3://bucket/prefix`.',
  ),
  snapshotBehindMaxSeconds: setting(
    'ASSAY_SNAPSHOT_BEHIND_MAX_SECONDS',
    '0',
    number(0, 30 * 24 * 3_600),
    'Seconds behind its publisher after which /ready of a node that pulls answers 503; 0: never.',
  ),
  clusterSecret: setting(
    'ASSAY_CLUSTER_SECRET',
    '',
    optionalClusterSecret,
    'Secret that all nodes share: signs snapshots and lets nodes pull them, and is what the `installation.key` of nodes with a Redis is made from; needed where ASSAY_SNAPSHOT_LISTEN is not of loopback.',
  ),
  s3Endpoint: setting('ASSAY_S3_ENDPOINT', '', optionalUrl, 'URL of the object store; without it AWS.'),
  s3Region: setting('ASSAY_S3_REGION', 'us-east-1', hostName, 'Region of the bucket.'),
  s3AccessKeyId: setting('ASSAY_S3_ACCESS_KEY_ID', '', optionalKey, 'Key of the object store.'),
  s3SecretAccessKey: setting('ASSAY_S3_SECRET_ACCESS_KEY', '', optionalKey, 'Its secret; never logged.'),
  s3SessionToken: setting(
    'ASSAY_S3_SESSION_TOKEN',
    '',
    optionalToken,
    'Token that temporary credentials come with.',
  ),
  apiKey: setting('ASSAY_API_KEY', '', optionalKey, 'API key that `assay bulk --remote` asks a server with.'),
  registration: setting(
    'ASSAY_REGISTRATION',
    'closed',
    oneOf('open', 'closed'),
    'open: anyone may register; free credits come with a confirmed mail address.',
  ),
  smtpUrl: setting(
    'ASSAY_SMTP_URL',
    '',
    optionalSmtpUrl,
    'Mail server, smtp://user:password@host:port or smtps://…; without it no mail is sent.',
  ),
  mailFrom: setting('ASSAY_MAIL_FROM', 'assay@localhost', mailAddress, 'Sender of mails.'),
  webhookTrustedHosts: setting(
    'ASSAY_WEBHOOK_TRUSTED_HOSTS',
    '',
    hostNames,
    'Hosts of your own that alerts may be sent to though they are private, with commas between them; plain http is allowed there. Nodes of the roles api (which take the URL) and delivery (which send) need the same value.',
  ),
  stripeSecret: setting(
    'ASSAY_STRIPE_SECRET',
    '',
    optionalSecret,
    'Signing secret of the Stripe webhook (whsec_…); without it POST /payments/stripe is 404.',
  ),
  chainRpc: setting(
    'ASSAY_RPC_<CHAIN>',
    '',
    String,
    'Nodes of a chain, as in `ASSAY_RPC_ETH=http://127.0.0.1:8545,ws://127.0.0.1:8546`: URLs with commas between them, the best first.',
  ),
  chainHistory: setting(
    'ASSAY_HISTORY_<CHAIN>',
    '',
    String,
    'Explorers or indexers of a chain, as in `ASSAY_HISTORY_ETH=blockscout+https://eth.blockscout.com`.',
  ),
  chainGraphStore: setting(
    'ASSAY_GRAPH_STORE_<CHAIN>',
    '',
    String,
    'Where the transfers of a chain are read that is too large for a machine, as in `ASSAY_GRAPH_STORE_ETH=redis+cluster://a:6666,b:6666`: a Kvrocks or Redis that `assay graph push` fills.',
  ),
  publicEndpoints: setting(
    'ASSAY_PUBLIC_ENDPOINTS',
    'off',
    onOff,
    'on: chains without endpoints of your own are asked at the public ones of data/endpoints.json, whose operators then see the addresses you screen.',
  ),
  chainBudgetMs: setting(
    'ASSAY_CHAIN_BUDGET_MS',
    '2500',
    number(0, 60_000),
    'Milliseconds that a screening waits for chains at most.',
  ),
  chainMaxAgeMinutes: setting(
    'ASSAY_CHAIN_MAX_AGE_MINUTES',
    '10',
    number(0, 100_000),
    'Minutes after which the history of a screened address is fetched again.',
  ),
  chainQuorum: setting(
    'ASSAY_CHAIN_QUORUM',
    '1',
    number(1, 16),
    'Nodes of a chain that must agree on a balance or a name.',
  ),
  offchainNames: setting(
    'ASSAY_OFFCHAIN_NAMES',
    'off',
    onOff,
    'on: an `.eth` name may make the server ask the URL that the name’s owner chose (CCIP-Read), public https only.',
  ),
} as const;

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

/** Combines the settings of snapshot replication. Throws INVALID_CONFIG if a setting lacks another that it needs. */
function readSnapshots(value: <T>(row: Setting<T>) => T): Config['snapshots'] {
  const need = (row: Setting<unknown>, by: Setting<unknown>, why: string): AssayError =>
    new AssayError('INVALID_CONFIG', `${row.variable} is not set: ${by.variable} needs it${why}.`, {
      field: row.variable,
    });
  const accessKeyId = value(SETTINGS.s3AccessKeyId);
  const secretAccessKey = value(SETTINGS.s3SecretAccessKey);
  const sessionToken = value(SETTINGS.s3SessionToken);
  const place = (bucket: Bucket, by: Setting<unknown>): S3Place => {
    if (accessKeyId === null) throw need(SETTINGS.s3AccessKeyId, by, '');
    if (secretAccessKey === null) throw need(SETTINGS.s3SecretAccessKey, by, '');
    return {
      ...bucket,
      endpoint: value(SETTINGS.s3Endpoint),
      region: value(SETTINGS.s3Region),
      credentials: { accessKeyId, secretAccessKey, sessionToken },
    };
  };
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

/** Returns the validated URLs of the graph stores, by chain. Throws INVALID_CONFIG. */
function readGraphStores(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const stores = byChain(environment, CHAIN_PREFIXES.graphStore);
  for (const [chain, url] of Object.entries(stores))
    if (url !== '') readRedisUrl(url, `${CHAIN_PREFIXES.graphStore}${chain}`);
  return stores;
}

/**
 * Reads and validates every setting.
 *
 * @throws INVALID_CONFIG naming the variable
 */
export function loadConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const known = new Set<string>(Object.values(SETTINGS).map((row) => row.variable));
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith('ASSAY_') || variable.startsWith('ASSAY_TEST_') || known.has(variable)) continue;
    if (Object.values(CHAIN_PREFIXES).some((prefix) => variable.startsWith(prefix))) continue;
    throw new AssayError(
      'INVALID_CONFIG',
      `${variable} is not a setting of Assay. Settings: ${[...known].join(', ')}.`,
      { field: variable },
    );
  }
  const value = <T>(row: Setting<T>): T => row.read(environment[row.variable] ?? row.fallback, row.variable);
  const smtpUrl = value(SETTINGS.smtpUrl);
  const priceUrl = value(SETTINGS.priceUrl);
  const redisPlace = value(SETTINGS.redisUrl);
  return Object.freeze({
    apiKey: value(SETTINGS.apiKey),
    registration: value(SETTINGS.registration),
    mail: smtpUrl === null ? null : { url: smtpUrl, from: value(SETTINGS.mailFrom) },
    webhookTrustedHosts: value(SETTINGS.webhookTrustedHosts),
    stripeSecret: value(SETTINGS.stripeSecret),
    host: value(SETTINGS.host),
    port: value(SETTINGS.port),
    dataDir: value(SETTINGS.dataDir),
    jobsDir: value(SETTINGS.jobsDir),
    logLevel: value(SETTINGS.logLevel),
    httpBackend: value(SETTINGS.httpBackend),
    tls: readTls(value(SETTINGS.tlsKey), value(SETTINGS.tlsCert)),
    publicHost: value(SETTINGS.publicHost),
    trustedProxies: value(SETTINGS.trustedProxies),
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
    walletRefreshHours: value(SETTINGS.walletRefreshHours),
    syncFrom: value(SETTINGS.syncFrom),
    listMaxAgeDays: value(SETTINGS.listMaxAgeDays),
    entityParties: value(SETTINGS.entityParties),
    priceServer:
      priceUrl === null
        ? null
        : { url: priceUrl, key: value(SETTINGS.priceKey), perMinute: value(SETTINGS.pricePerMinute) },
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

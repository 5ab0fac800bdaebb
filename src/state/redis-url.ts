/** The location of the Redis servers, parsed from a URL. */
import { AssayError, messageOf } from '../base/errors.ts';

/** The Redis servers that `ASSAY_REDIS_URL` names. */
export interface RedisPlace {
  readonly kind: 'single' | 'sentinel' | 'cluster';
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  /** Name of the master that the Sentinels watch; empty otherwise. */
  readonly master: string;
  readonly username: string | null;
  readonly password: string | null;
  readonly database: number;
  readonly tls: boolean;
  /** The prefix of all keys. */
  readonly prefix: string;
}

const SCHEMES: Readonly<Record<string, Pick<RedisPlace, 'kind' | 'tls'>>> = {
  'redis:': { kind: 'single', tls: false },
  'rediss:': { kind: 'single', tls: true },
  'redis+sentinel:': { kind: 'sentinel', tls: false },
  'rediss+sentinel:': { kind: 'sentinel', tls: true },
  'redis+cluster:': { kind: 'cluster', tls: false },
  'rediss+cluster:': { kind: 'cluster', tls: true },
};
const DEFAULT_PORTS = { single: 6379, sentinel: 26_379, cluster: 6379 } as const;
const DEFAULT_PREFIX = 'assay';

/** The error names the problem but not the URL, which holds a password. */
const wrong = (reason: string): AssayError =>
  new AssayError('INVALID_CONFIG', `The Redis URL ${reason}.`, { field: 'ASSAY_REDIS_URL' });

function readNode(text: string, defaultPort: number): RedisPlace['nodes'][number] {
  const match = /^(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(?::(\d{1,5}))?$/.exec(text);
  const port = Number(match?.[2] ?? defaultPort);
  if (match === null || port < 1 || port > 65_535) throw wrong('must name servers as host or host:port');
  return { host: (match[1] as string).replace(/^\[|\]$/g, ''), port };
}

/**
 * Parses `redis://user:password@host:port/database?prefix=assay` and its forms `rediss` (TLS), `redis+cluster://a:1,b:2` and
 * `redis+sentinel://a:1,b:2/master`.
 *
 * @throws INVALID_CONFIG
 */
export function parseRedisUrl(text: string): RedisPlace {
  const match = /^([a-z+]+:)\/\/(?:([^@/?]*)@)?([^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(text);
  const scheme = match === null ? undefined : SCHEMES[match[1] as string];
  if (match === null || scheme === undefined)
    throw wrong(`must begin with one of ${Object.keys(SCHEMES).join('//, ')}//`);
  const [, , credentials, hosts = '', path = '', query = ''] = match;
  const { kind, tls } = scheme;
  const nodes = hosts.split(',').map((node) => readNode(node, DEFAULT_PORTS[kind]));
  if (kind === 'single' && nodes.length > 1)
    throw wrong('names several servers: use redis+cluster:// or redis+sentinel://');
  if (kind === 'sentinel' && !/^[0-9A-Za-z._-]+$/.test(path))
    throw wrong('must end in the name of the master');
  if (kind === 'cluster' && path !== '' && path !== '0')
    throw wrong('must not name a database: Redis Cluster has only one');
  if (kind === 'single' && !/^\d{0,3}$/.test(path))
    throw wrong('must end in a database number or after the host');
  const [user, password] = (credentials ?? '').split(/:(.*)/s);
  const settings = new URLSearchParams(query);
  for (const name of settings.keys())
    if (name !== 'prefix') throw wrong(`has an unknown setting '${name}' (allowed: prefix)`);
  const prefix = settings.get('prefix') ?? DEFAULT_PREFIX;
  // Braces would turn the prefix into a hash tag and put all keys into one slot.
  if (!/^[0-9A-Za-z:_.-]{1,64}$/.test(prefix))
    throw wrong('must have a prefix of 1 to 64 letters, digits, colons, dots, hyphens or underscores');
  return {
    kind,
    nodes,
    master: kind === 'sentinel' ? path : '',
    username: user ? decodeURIComponent(user) : null,
    password: password ? decodeURIComponent(password) : null,
    database: kind === 'single' ? Number(path) : 0,
    tls,
    prefix,
  };
}

/**
 * Parses the Redis URL of a setting. Like `parseRedisUrl`, but the error names the setting.
 *
 * @throws INVALID_CONFIG naming the setting, without the password
 */
export function readRedisUrl(text: string, setting: string): RedisPlace {
  try {
    return parseRedisUrl(text);
  } catch (error) {
    throw new AssayError('INVALID_CONFIG', `${setting}: ${messageOf(error)}`, { field: setting });
  }
}

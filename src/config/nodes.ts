/** Settings: roles of a node and the Redis that nodes share. */
import { ROLES, readRoles } from '../nodes/roles.ts';
import { graphChains, number, onOff, optionalClusterSecret, optionalRedis } from './readers.ts';
import { setting } from './setting.ts';

export const nodesSettings = {
  roles: setting(
    'ASSAY_ROLES',
    ROLES.join(','),
    readRoles,
    'Roles of this node, comma-separated: `api`, `worker`, `listener`, `delivery`. A node without all four needs a Redis.',
  ),
  redisUrl: setting(
    'ASSAY_REDIS_URL',
    '',
    optionalRedis,
    'Redis with the live state of all nodes: redis://user:password@host:port/database, redis+cluster://a:6379,b:6379 or redis+sentinel://a,b/master; rediss… for TLS; ?prefix=… for a key prefix.',
  ),
  redisReplicas: setting(
    'ASSAY_REDIS_REPLICAS',
    '',
    (text, variable) => (text === '' ? null : number(0, 16)(text, variable)),
    'Replicas that must acknowledge a charge. If they do not respond, the charge is refused. Default: 1 with Sentinels or a Redis Cluster, otherwise 0.',
  ),
  redisMayLose: setting(
    'ASSAY_REDIS_MAY_LOSE',
    'off',
    onOff,
    '`on`: accepts a Redis that evicts keys or does not persist to disk, and therefore may lose accounts and credits.',
  ),
  graphChains: setting(
    'ASSAY_GRAPH_CHAINS',
    'all',
    graphChains,
    'Chains whose transfers this node stores, such as `ETH,BTC`; or `all`, or `none`. Queries about other chains are sent to other nodes.',
  ),
  clusterSecret: setting(
    'ASSAY_CLUSTER_SECRET',
    '',
    optionalClusterSecret,
    'Secret shared by all nodes. It signs snapshots, authorizes nodes that pull them, and derives the `installation.key` of nodes with a Redis. Required if `ASSAY_SNAPSHOT_LISTEN` is not a loopback address.',
  ),
} as const;

/**
 * Cluster membership: each node sends a heartbeat every second with its facts. The membership is kept in Redis, by the server's clock; a
 * node that ends without leaving is gone after a few missed heartbeats.
 */
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { RedisStore } from '../state/redis.ts';
import { scoped } from '../state/redis-installation.ts';

export interface Member<Facts> {
  readonly id: string;
  readonly facts: Facts;
}

/** The members as of the last heartbeat. Both lists are sorted by id. */
export interface Membership<Facts> {
  live(): readonly Member<Facts>[];
  /** Nodes that were present within the last day and are absent now. A node is omitted if a present or later node has the same facts. */
  gone(): readonly Member<Facts>[];
  /** Sends a heartbeat, and reads the other members. Rejects with NOT_READY. */
  heartbeat(): Promise<void>;
  /** Marks this node as gone. Never rejects. */
  leave(): Promise<void>;
  /** Removes this node without a trace, if it did no work. Never rejects. */
  expire(): Promise<void>;
}

export interface MembershipOptions<Facts> {
  readonly nodeId: string;
  readonly facts: Facts;
  /** Scope of the installation: nodes of another installation in the same Redis are not visible. Default: empty. */
  readonly scope?: string;
  /** Interval of the heartbeat in ms; default 1 s. A node that is silent for four intervals is gone. */
  readonly heartbeatMs?: number;
}

export interface MembershipDeps {
  readonly redis: RedisStore;
  readonly log: Logger;
}

const HEARTBEAT_MS = 1_000;
const HEARTBEATS_MISSED = 4;
const RETENTION_MS = 24 * 3_600_000;
/** Maximum number of stored nodes: every start of a program is one. */
const MEMBERS_MAX = 1_000;

/**
 * Records a heartbeat. KEYS: times, facts. ARGV: id, facts, retention in ms, maximum number of nodes, ms after which a node is gone.
 * Replies, for each node, with its id, the ms since its last heartbeat, and its facts. A gone node is removed if a node with the same facts
 * was heard from later: every start of a program is a node, and each heartbeat would otherwise return all of them.
 */
const HEARTBEAT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3])
local surplus = redis.call('ZCARD', KEYS[1]) - ARGV[4]
if surplus > #old then old = redis.call('ZRANGE', KEYS[1], 0, surplus - 1) end
for _, id in ipairs(old) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
end
local reply, known = {}, {}
local heard = redis.call('ZREVRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 1, #heard, 2 do
  local id, silent = heard[i], now - tonumber(heard[i + 1])
  local facts = redis.call('HGET', KEYS[2], id)
  if not facts or (silent >= tonumber(ARGV[5]) and known[facts]) then
    redis.call('ZREM', KEYS[1], id)
    redis.call('HDEL', KEYS[2], id)
  else
    known[facts] = true
    reply[#reply + 1] = id
    reply[#reply + 1] = silent
    reply[#reply + 1] = facts
  end
end
return reply`;

/** KEYS: times. ARGV: id, ms. Sets the last heartbeat of the node to that long ago; a node that was removed stays removed. */
const LEAVE = `
local time = redis.call('TIME')
return redis.call('ZADD', KEYS[1], 'XX', time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[2], ARGV[1])`;

/** KEYS: times, facts. ARGV: id. */
const EXPIRE = `
redis.call('ZREM', KEYS[1], ARGV[1])
return redis.call('HDEL', KEYS[2], ARGV[1])`;

/**
 * Joins the cluster: announces this node, and sends heartbeats until it leaves. Facts are stored as JSON.
 *
 * @throws NOT_READY if Redis is unavailable
 */
export async function joinMembership<Facts>(
  options: MembershipOptions<Facts>,
  { redis, log }: MembershipDeps,
): Promise<Membership<Facts>> {
  const { nodeId, facts, scope = '', heartbeatMs = HEARTBEAT_MS } = options;
  const [times, texts] = ['times', 'facts'].map((part) => redis.key('roster', scoped(scope, part))) as [
    string,
    string,
  ];
  const record = redis.script('membership_heartbeat', HEARTBEAT);
  const markGone = redis.script('membership_leave', LEAVE);
  const remove = redis.script('membership_expire', EXPIRE);
  const text = JSON.stringify(facts);
  const silentMsMax = heartbeatMs * HEARTBEATS_MISSED;
  let live: readonly Member<Facts>[] = [];
  let gone: readonly Member<Facts>[] = [];

  async function heartbeat(): Promise<void> {
    const reply = (await record(
      [times, texts],
      [nodeId, text, RETENTION_MS, MEMBERS_MAX, silentMsMax],
    )) as readonly (string | number)[];
    const nodes: (Member<Facts> & { readonly silentMs: number })[] = [];
    for (let i = 0; i < reply.length; i += 3)
      nodes.push({
        id: String(reply[i]),
        silentMs: Number(reply[i + 1]),
        facts: JSON.parse(String(reply[i + 2])) as Facts,
      });
    nodes.sort((a, b) => (a.id < b.id ? -1 : 1));
    live = nodes.filter(({ silentMs }) => silentMs < silentMsMax);
    gone = nodes.filter(({ silentMs }) => silentMs >= silentMsMax);
  }
  const logFailure = (error: unknown): void =>
    log.debug({ error: messageOf(error) }, 'leave failed, this node expires at its last heartbeat');
  await heartbeat();
  const timer = setInterval(() => {
    heartbeat().catch((error: unknown) => log.debug({ error: messageOf(error) }, 'heartbeat failed'));
  }, heartbeatMs);
  timer.unref();

  return {
    live: () => live,
    gone: () => gone,
    heartbeat,
    async leave() {
      clearInterval(timer);
      await markGone([times], [nodeId, silentMsMax]).catch(logFailure);
    },
    async expire() {
      clearInterval(timer);
      await remove([times, texts], [nodeId]).catch(logFailure);
    },
  };
}

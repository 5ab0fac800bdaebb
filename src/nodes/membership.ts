/**
 * Cluster membership: each node sends a heartbeat every second with its facts. The membership is kept in Redis, by the server's clock; a
 * node that ends without leaving is gone after a few missed heartbeats.
 */
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { RedisStore } from '../state/redis.ts';
import { scoped } from '../state/redis-installation.ts';

export interface RosterNode<Facts> {
  readonly id: string;
  readonly facts: Facts;
}

/** The members as of the last heartbeat. Both lists are sorted by id. */
export interface Roster<Facts> {
  live(): readonly RosterNode<Facts>[];
  /** Nodes that were present within the last day and are absent now. A node is omitted if a present or later node has the same facts. */
  gone(): readonly RosterNode<Facts>[];
  /** Sends a heartbeat, and reads the other members. Rejects with NOT_READY. */
  beat(): Promise<void>;
  /** Marks this node as gone. Never rejects. */
  leave(): Promise<void>;
  /** Removes this node without a trace, if it did no work. Never rejects. */
  forget(): Promise<void>;
}

export interface RosterOptions<Facts> {
  readonly nodeId: string;
  readonly facts: Facts;
  /** Scope of the installation: nodes of another installation in the same Redis are not visible. Default: empty. */
  readonly scope?: string;
  /** Interval of the heartbeat in ms; default 1 s. A node that is silent for four intervals is gone. */
  readonly beatMs?: number;
}

export interface RosterDeps {
  readonly redis: RedisStore;
  readonly log: Logger;
}

const BEAT_MS = 1_000;
const BEATS_MISSED = 4;
const KEPT_MS = 24 * 3_600_000;
/** Maximum number of stored nodes: every start of a program is one. */
const KEPT_MAX = 1_000;

/**
 * Records a heartbeat. KEYS: times, facts. ARGV: id, facts, retention in ms, maximum number of nodes, ms after which a node is gone.
 * Replies, for each node, with its id, the ms since its last heartbeat, and its facts. A gone node is removed if a node with the same facts
 * was heard from later: every start of a program is a node, and each heartbeat would otherwise return all of them.
 */
const BEAT = `
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
const FORGET = `
redis.call('ZREM', KEYS[1], ARGV[1])
return redis.call('HDEL', KEYS[2], ARGV[1])`;

/**
 * Joins the cluster: announces this node, and sends heartbeats until it leaves. Facts are stored as JSON.
 *
 * @throws NOT_READY if Redis is unavailable
 */
export async function joinRoster<Facts>(
  options: RosterOptions<Facts>,
  { redis, log }: RosterDeps,
): Promise<Roster<Facts>> {
  const { nodeId, facts, scope = '', beatMs = BEAT_MS } = options;
  const [times, texts] = ['times', 'facts'].map((part) => redis.key('roster', scoped(scope, part))) as [
    string,
    string,
  ];
  const tell = redis.script('roster_beat', BEAT);
  const retire = redis.script('roster_leave', LEAVE);
  const erase = redis.script('roster_forget', FORGET);
  const text = JSON.stringify(facts);
  const silentMsMax = beatMs * BEATS_MISSED;
  let live: readonly RosterNode<Facts>[] = [];
  let gone: readonly RosterNode<Facts>[] = [];

  async function beat(): Promise<void> {
    const reply = (await tell([times, texts], [nodeId, text, KEPT_MS, KEPT_MAX, silentMsMax])) as readonly (
      | string
      | number
    )[];
    const nodes: (RosterNode<Facts> & { readonly silentMs: number })[] = [];
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
  const unheard = (error: unknown): void =>
    log.debug({ error: messageOf(error) }, 'The other nodes find out by themselves that this one has left.');
  await beat();
  const beats = setInterval(() => {
    beat().catch((error: unknown) =>
      log.debug({ error: messageOf(error) }, 'The other nodes could not be told.'),
    );
  }, beatMs);
  beats.unref();

  return {
    live: () => live,
    gone: () => gone,
    beat,
    async leave() {
      clearInterval(beats);
      await retire([times], [nodeId, silentMsMax]).catch(unheard);
    },
    async forget() {
      clearInterval(beats);
      await erase([times, texts], [nodeId]).catch(unheard);
    },
  };
}

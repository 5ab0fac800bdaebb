/**
 * Cluster membership: each node sends a heartbeat every second with its facts. The membership is kept in Redis, by the server's clock; a
 * node that ends without leaving is gone after a few missed heartbeats.
 */
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { luaScript } from '../base/paths.ts';
import type { RedisStore } from '../state/redis.ts';
import { scoped } from '../state/redis-installation.ts';

export interface Member<Facts> {
  readonly id: string;
  readonly facts: Facts;
  /** Time since its last heartbeat, as of this node's last heartbeat. */
  readonly silentMs: number;
  /** Time of its first heartbeat, in ms since the epoch by the clock of Redis; null for a node of an earlier version. */
  readonly sinceMs: number | null;
}

/** The members as of the last heartbeat. Both lists are sorted by id. */
export interface Membership<Facts> {
  live(): readonly Member<Facts>[];
  /** Nodes that were present within the last day and are absent now. A node is omitted if a present or later node has the same facts. */
  gone(): readonly Member<Facts>[];
  /** Replaces the facts of this node; the next heartbeat announces them. */
  setFacts(facts: Facts): void;
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
 * Joins the cluster: announces this node, and sends heartbeats until it leaves. Facts are stored as JSON.
 *
 * @throws NOT_READY if Redis is unavailable
 */
export async function joinMembership<Facts>(
  options: MembershipOptions<Facts>,
  { redis, log }: MembershipDeps,
): Promise<Membership<Facts>> {
  const { nodeId, facts, scope = '', heartbeatMs = HEARTBEAT_MS } = options;
  const [times, texts, firsts] = ['times', 'facts', 'firsts'].map((part) =>
    redis.key('roster', scoped(scope, part)),
  ) as [string, string, string];
  const record = redis.script('membership_heartbeat', luaScript('nodes', 'lua', 'membership-heartbeat'));
  const markGone = redis.script('membership_leave', luaScript('nodes', 'lua', 'membership-leave'));
  const remove = redis.script('membership_expire', luaScript('nodes', 'lua', 'membership-expire'));
  let text = JSON.stringify(facts);
  const silentMsMax = heartbeatMs * HEARTBEATS_MISSED;
  let live: readonly Member<Facts>[] = [];
  let gone: readonly Member<Facts>[] = [];

  async function heartbeat(): Promise<void> {
    const reply = (await record(
      [times, texts, firsts],
      [nodeId, text, RETENTION_MS, MEMBERS_MAX, silentMsMax],
    )) as readonly (string | number)[];
    const nodes: Member<Facts>[] = [];
    for (let i = 0; i < reply.length; i += 4)
      nodes.push({
        id: String(reply[i]),
        silentMs: Number(reply[i + 1]),
        sinceMs: reply[i + 2] === '' ? null : Number(reply[i + 2]),
        facts: JSON.parse(String(reply[i + 3])) as Facts,
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
    setFacts(changed) {
      text = JSON.stringify(changed);
    },
    heartbeat,
    async leave() {
      clearInterval(timer);
      await markGone([times], [nodeId, silentMsMax]).catch(logFailure);
    },
    async expire() {
      clearInterval(timer);
      await remove([times, texts, firsts], [nodeId]).catch(logFailure);
    },
  };
}

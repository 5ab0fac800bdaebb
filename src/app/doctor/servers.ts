/** Checks of the servers that an installation uses: nodes of chains, and Redis. */
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { silentLogger } from '../../base/log.ts';
import { systemJitter } from '../../base/random.ts';
import { within } from '../../base/within.ts';
import { createChainAdapters } from '../../chains/families/adapters.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { Finding } from '../../cli/doctor.ts';
import type { Config } from '../../config/config.ts';
import { openRedis } from '../../state/redis.ts';
import { serversOf } from '../../state/redis-connection.ts';
import type { OtherClock } from './machine.ts';

/** Time that a node has to answer with its head, including fail-over. */
const NODE_BUDGET_MS = 10_000;
/** Time of a Redis to answer INFO and TIME: a healthy one needs milliseconds. */
const REDIS_MS = 5_000;
/** No supported chain pauses longer between two blocks, except after an incident. */
const HEAD_AGE_MS_MAX = 2 * 3_600_000;

/** Findings, and the clocks that were seen on the way. */
export interface Examined {
  readonly findings: readonly Finding[];
  readonly clocks: readonly OtherClock[];
}

/** Checks the nodes of all configured chains, at the same time. */
export async function examineNodes(
  { chains }: Pick<Config, 'chains'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<Examined> {
  const adapters = createChainAdapters(chains, { clock, log: silentLogger, jitter: systemJitter });
  try {
    const configured = adapters.configured.filter((chain) => adapters.isConfigured(chain, 'rpc'));
    if (configured.length === 0)
      return {
        findings: [
          {
            check: 'nodes',
            state: 'ok',
            text: 'No node of a chain is configured: screening reads stored transfers only.',
            advice: null,
          },
        ],
        clocks: [],
      };
    const all = await Promise.all(configured.map((chain) => examineNode(chain)));
    return { findings: all.map(({ finding }) => finding), clocks: all.flatMap(({ clocks }) => clocks) };
  } finally {
    await adapters.close();
  }

  async function examineNode(
    chain: ChainId,
  ): Promise<{ readonly finding: Finding; readonly clocks: readonly OtherClock[] }> {
    const check = 'nodes';
    const setting = `ASSAY_RPC_${chain}`;
    try {
      const adapter = await adapters.of(chain);
      const { height, timestampMs, source } = await adapter.head({ signal, budgetMs: NODE_BUDGET_MS });
      const nowMs = clock.now();
      const text = `${chain}: ${source ?? 'the node'} has block ${height}.`;
      const clocks: OtherClock[] =
        timestampMs === null
          ? []
          : [{ name: `the newest block of ${chain}`, timeMs: timestampMs, nowMs, kind: 'past' }];
      if (timestampMs !== null && nowMs - timestampMs > HEAD_AGE_MS_MAX)
        return {
          finding: {
            check,
            state: 'warning',
            text: `${chain}: the newest block (${height}) of ${source ?? 'the node'} is ${Math.round((nowMs - timestampMs) / 3_600_000)} hours old.`,
            advice: `Wait until the node has synchronised, or name another one in ${setting}.`,
          },
          clocks,
        };
      return { finding: { check, state: 'ok', text, advice: null }, clocks };
    } catch (error) {
      signal.throwIfAborted();
      return {
        finding: {
          check,
          state: 'problem',
          text: `${chain}: ${messageOf(error)}`,
          advice: `Start the node, or correct ${setting}.`,
        },
        clocks: [],
      };
    }
  }
}

/** Checks the Redis that nodes share: reachable, keeps its data, enough replicas, the same time. */
export async function examineRedis(
  { redis: settings }: Pick<Config, 'redis'>,
  clock: Clock,
): Promise<Examined> {
  const check = 'redis';
  if (settings === null)
    return {
      findings: [
        { check, state: 'ok', text: 'Not used: the state is in files of this machine.', advice: null },
      ],
      clocks: [],
    };
  const warnings: string[] = [];
  const log = {
    ...silentLogger,
    warn: (_: unknown, message?: string): void => void warnings.push(message ?? ''),
  } as typeof silentLogger;
  const redis = openRedis(settings.place, { log: silentLogger }, { replicas: settings.replicas });
  const watched = openRedis(settings.place, { log }, { replicas: settings.replicas });
  try {
    await redis.checkReachable('ASSAY_REDIS_URL');
    if (!settings.mayLose) await within(REDIS_MS, watched.checkDurability(), 'Redis');
    const [server] = serversOf(redis.connection);
    const reply = server === undefined ? null : await within(REDIS_MS, server.time(), 'Redis');
    const nowMs = clock.now();
    const clocks: OtherClock[] =
      reply === null
        ? []
        : [
            {
              name: 'Redis',
              timeMs: Number(reply[0]) * 1_000 + Number(reply[1]) / 1_000,
              nowMs,
              kind: 'same',
            },
          ];
    const findings: Finding[] = warnings.map((text) => ({
      check,
      state: 'problem',
      text: `${text}.`,
      advice: 'Start the replicas, or lower ASSAY_REDIS_REPLICAS.',
    }));
    const fine: Finding = { check, state: 'ok', text: 'Redis answers and keeps its data.', advice: null };
    return { findings: findings.length > 0 ? findings : [fine], clocks };
  } catch (error) {
    return {
      findings: [
        {
          check,
          state: 'problem',
          text: messageOf(error),
          advice: 'Start Redis, or correct its settings or ASSAY_REDIS_URL (docs/OPERATIONS.md, Redis).',
        },
      ],
      clocks: [],
    };
  } finally {
    await Promise.all([redis.close(), watched.close()]);
  }
}

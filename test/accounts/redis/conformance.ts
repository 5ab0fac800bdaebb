/** All suites of the ports of the accounts over one Redis installation. */
import { afterAll, describe } from 'vitest';
import { ACCOUNT_LIMITS } from '../../../src/accounts/limits.ts';
import { gateConformance } from '../../conformance/gate.ts';
import { idempotencyConformance } from '../../conformance/idempotency.ts';
import { ledgerConformance } from '../../conformance/ledger.ts';
import { quotaConformance } from '../../conformance/quota.ts';
import { rateLimiterConformance } from '../../conformance/rate-limit.ts';
import { accountsAt, closing } from './world.ts';

export function redisConformance(name: string, url: () => string, replicas = 0): void {
  const ledgerWorld = async () => {
    const world = accountsAt(url(), replicas);
    return Object.assign(world, {
      holdMs: ACCOUNT_LIMITS.ledgerHoldMs,
      open() {
        const node = world.node();
        return closing(node.ledger, node);
      },
      dispose: async () => {},
    });
  };
  ledgerConformance(name, ledgerWorld);
  idempotencyConformance(name, ledgerWorld, { forgetsByOwnClock: false });
  const quotaWorld = async () => {
    const world = accountsAt(url(), replicas);
    return Object.assign(world, {
      open() {
        const node = world.node();
        return closing(node.quota, node);
      },
      dispose: async () => {},
    });
  };
  // Each take is a script of its own, so all are alike.
  quotaConformance(name, quotaWorld, 1_000);
  describe(`${name}: windows`, () => {
    const nodes: { close(): Promise<void> }[] = [];
    afterAll(async () => {
      await Promise.all(nodes.splice(0).map((node) => node.close()));
    });
    // One node serves all worlds: each world has its own limit and keys.
    let shared: ReturnType<typeof accountsAt> | null = null;
    let limiter: ReturnType<ReturnType<typeof accountsAt>['node']>['limiter'] | null = null;
    let made = 0;
    rateLimiterConformance(name, (limit) => {
      if (shared === null || limiter === null) {
        shared = accountsAt(url(), replicas);
        const node = shared.node();
        nodes.push(node);
        limiter = node.limiter;
      }
      const own = `${made++}`;
      const [world, asked] = [shared, limiter];
      world.setRateLimit(limit);
      return {
        limiter: {
          check: (subject, rateClass, at) => asked.check(`${own}:${subject}`, rateClass, at),
          uncount: (subject, rateClass, second) => asked.uncount(`${own}:${subject}`, rateClass, second),
          refuses: (subject, rateClass, at) => asked.refuses(`${own}:${subject}`, rateClass, at),
        },
        setLimit: (next) => world.setRateLimit(next),
      };
    });
  });
  gateConformance(name, async () => {
    const world = accountsAt(url(), replicas);
    world.limit = 5;
    const node = world.node();
    return Object.assign(world, {
      gate: node.gate,
      ledger: node.ledger,
      quota: node.quota,
      dispose: () => node.close(),
    });
  });
}

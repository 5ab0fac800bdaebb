/** The order in which test files start. */
import { statSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take twenty seconds or more, longest first. They start first, so that none is left over at the end, when the other workers have
 * nothing to do: without this, a fresh clone waited a minute for test/http/server.test.ts. Vitest knows times only from an earlier run.
 */
export const LONGEST: readonly string[] = [
  'test/e2e/killed-authorizations.test.ts',
  'test/sim/whole-process.test.ts',
  'test/e2e/attribution.test.ts',
  'test/e2e/full-disk-commands.test.ts',
  'test/scenarios/scenarios.test.ts',
  'test/e2e/real-data.test.ts',
  'test/sim/monitoring.test.ts',
  'test/e2e/dashboard-operator.test.ts',
  'test/e2e/dashboard-trace.test.ts',
  'test/e2e/dashboard.test.ts',
  'test/e2e/full-disk-exposure.test.ts',
  'test/http/server.test.ts',
  'test/e2e/dashboard-inbox.test.ts',
  'test/e2e/scaled-out.test.ts',
  'test/monitoring/refresh.test.ts',
  'test/e2e/full-disk.test.ts',
  'test/jobs/bulk/jobs.test.ts',
  'test/graph/remote/remote.test.ts',
  'test/e2e/killed-payments.test.ts',
  'test/state/replicated-store.test.ts',
  'test/sdk/python.test.ts',
  'test/e2e/visibility.test.ts',
  'test/e2e/damaged-folder.test.ts',
  'test/labels/tagpacks.test.ts',
  'test/e2e/monitoring.test.ts',
  'test/e2e/names.test.ts',
  'test/chains/families/utxo/litecoin.test.ts',
  'test/e2e/dashboard-manage.test.ts',
  'test/e2e/first-start.test.ts',
  'test/cli/interrupt.test.ts',
  'test/state/damaged-files.test.ts',
  'test/graph/bulk.test.ts',
  'test/e2e/killed-scheduler.test.ts',
  'test/e2e/killed-cases.test.ts',
  'test/state/redis.test.ts',
  'test/exposure/build.test.ts',
  'test/graph/remote/pushes.test.ts',
  'test/http/acceptors-server.test.ts',
  'test/exposure/update.test.ts',
  'test/e2e/second-server.test.ts',
  'test/e2e/receipts.test.ts',
  'test/sources/ofac/read.test.ts',
  'test/e2e/person.test.ts',
  'test/e2e/gasless.test.ts',
  'test/chains/prices/uniswap-v2.test.ts',
  'test/state/leases.test.ts',
  'test/e2e/emptied-redis.test.ts',
  'test/cli/garbage-files.test.ts',
  'test/e2e/docs-api.test.ts',
  'test/app/redis-fill.test.ts',
  'test/graph/transfer-graph.test.ts',
  'test/labels/real-files.test.ts',
  'test/http/guide.test.ts',
  'test/e2e/oracle-push.test.ts',
  'test/e2e/redis-fill.test.ts',
  'test/e2e/faults.test.ts',
  'test/names/candidates.test.ts',
  'test/accounts/redis/faults.test.ts',
  'test/pool/queue-bullmq.test.ts',
  'test/labels/index/synth.test.ts',
  'test/labels/index/swap.test.ts',
  'test/e2e/dashboard-billing.test.ts',
  'test/cli/bulk-remote.test.ts',
  'test/billing/crypto/litecoind.test.ts',
  'test/app/redis-restore.test.ts',
  'test/monitoring/delivery.test.ts',
  'test/sdk/typescript.test.ts',
  'test/billing/crypto/scenarios.test.ts',
  'test/billing/billing.test.ts',
  'test/names/index.test.ts',
  'test/monitoring/wallet-purchases.test.ts',
  'test/accounts/members.test.ts',
  'test/e2e/outage.test.ts',
  'test/e2e/snapshot-travel.test.ts',
  'test/e2e/dashboard-transaction.test.ts',
];

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = LONGEST.findIndex((path) => moduleId.endsWith(`/${path}`));
  return place < 0 ? LONGEST.length : place;
};

/** First files with a process of their own, because a process that several use ends if the next file needs its own. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sized = files.map((file) => ({
      file,
      shares: file.project.config.isolate ? 0 : 1,
      place: placeOf(file),
      bytes: statSync(file.moduleId).size,
    }));
    sized.sort((a, b) => a.shares - b.shares || a.place - b.place || b.bytes - a.bytes);
    return sized.map(({ file }) => file);
  }
}

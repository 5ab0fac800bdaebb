/** The order in which test files start. */
import { statSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take twelve seconds or more, longest first. They start first, so that none is left over at the end, when the other workers have
 * nothing to do: without this, a fresh clone waited a minute for test/http/server.test.ts. Vitest knows times only from an earlier run.
 */
export const LONGEST: readonly string[] = [
  'test/e2e/attribution.test.ts',
  'test/http/server.test.ts',
  'test/e2e/real-data.test.ts',
  'test/e2e/dashboard-trace.test.ts',
  'test/e2e/dashboard-operator.test.ts',
  'test/scenarios/scenarios.test.ts',
  'test/e2e/scaled-out.test.ts',
  'test/e2e/dashboard.test.ts',
  'test/e2e/dashboard-manage.test.ts',
  'test/e2e/full-disk-exposure.test.ts',
  'test/e2e/killed-authorizations.test.ts',
  'test/state/replicated-store.test.ts',
  'test/monitoring/refresh.test.ts',
  'test/graph/bulk.test.ts',
  'test/e2e/killed-cases.test.ts',
  'test/labels/tagpacks.test.ts',
  'test/sdk/python.test.ts',
  'test/graph/remote/remote.test.ts',
  'test/e2e/full-disk-commands.test.ts',
  'test/state/redis.test.ts',
  'test/state/leases.test.ts',
  'test/graph/remote/pushes.test.ts',
  'test/sim/whole-process.test.ts',
  'test/jobs/bulk/jobs.test.ts',
  'test/chains/families/utxo/litecoin.test.ts',
  'test/state/damaged-files.test.ts',
  'test/e2e/visibility.test.ts',
  'test/e2e/monitoring.test.ts',
  'test/http/acceptors-server.test.ts',
  'test/e2e/damaged-folder.test.ts',
  'test/e2e/dashboard-inbox.test.ts',
  'test/e2e/names.test.ts',
  'test/pool/queue-bullmq.test.ts',
  'test/sources/ofac/read.test.ts',
  'test/accounts/redis/faults.test.ts',
  'test/graph/transfer-graph.test.ts',
  'test/e2e/gasless.test.ts',
  'test/e2e/emptied-redis.test.ts',
  'test/app/redis-fill.test.ts',
  'test/chains/prices/uniswap-v2.test.ts',
  'test/cli/bulk-remote.test.ts',
  'test/e2e/redis-fill.test.ts',
  'test/e2e/killed-payments.test.ts',
  'test/e2e/docs-api.test.ts',
  'test/e2e/first-start.test.ts',
  'test/e2e/killed-scheduler.test.ts',
  'test/e2e/oracle-push.test.ts',
  'test/billing/crypto/litecoind.test.ts',
  'test/e2e/second-server.test.ts',
  'test/screening/derived-labels.test.ts',
  'test/scripts/mutants-tree.test.ts',
  'test/e2e/outage.test.ts',
  'test/cli/interrupt.test.ts',
  'test/exposure/update.test.ts',
  'test/http/docs-curl.test.ts',
  'test/e2e/full-disk.test.ts',
  'test/http/statuses.test.ts',
  'test/http/roles.test.ts',
  'test/sim/monitoring.test.ts',
  'test/exposure/build.test.ts',
  'test/sdk/typescript.test.ts',
  'test/http/guide.test.ts',
  'test/e2e/receipts.test.ts',
  'test/attribution/deposits.test.ts',
  'test/e2e/jobs.test.ts',
  'test/e2e/dashboard-whole-way.test.ts',
  'test/backup/stores.test.ts',
  'test/e2e/dashboard-payments.test.ts',
  'test/e2e/faults.test.ts',
  'test/http/monitoring.test.ts',
  'test/e2e/two-nodes.test.ts',
  'test/monitoring/wallet-purchases.test.ts',
  'test/e2e/log.test.ts',
  'test/mcp/mcp.test.ts',
  'test/graph/remote/screening.test.ts',
  'test/e2e/person.test.ts',
  'test/labels/real-files.test.ts',
  'test/e2e/live.test.ts',
  'test/e2e/damaged-state.test.ts',
  'test/supply/binaries.test.ts',
  'test/sim/replicated-store.test.ts',
  'test/scripts/guide.test.ts',
  'test/e2e/snapshot-travel.test.ts',
  'test/jobs/bulk/killed.test.ts',
  'test/jobs/bulk/full-disk.test.ts',
  'test/e2e/designated-owners.test.ts',
  'test/replication/follow.test.ts',
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

/** Monitoring with real stores below a folder, and nobody around it: no chain, no label, one score for all. */

import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { loadAssetFacts } from '../../src/chains/known-assets.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import { type Monitoring, type MonitoringDeps, openMonitoring } from '../../src/monitoring/open.ts';
import { loadPolicy } from '../../src/risk/policy.ts';

export const openedMonitoring = (dataDir: string, deps: Partial<MonitoringDeps> = {}): Monitoring =>
  openMonitoring(
    { dataDir, receivers: { trustedHosts: new Set(['127.0.0.1']) } },
    {
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      mailer: null,
      riskPolicy: loadPolicy(loadTaxonomy().rows),
      assets: loadAssetFacts(),
      labels: () => null,
      transfers: null,
      adapter: async () => null,
      ingest: null,
      price: async function* (transfers) {
        yield* transfers;
      },
      screen: async () => Buffer.from(JSON.stringify({ riskScore: 42, riskLevel: 'MEDIUM' })),
      walletsMax: () => 5_000,
      ...deps,
    },
  );

/** Monitoring with real stores below a folder, and nothing around it: no chain, no label, one score for all. */

import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { loadAssetFacts } from '../../src/chains/known-assets.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import type { Label } from '../../src/labels/label.ts';
import { type Monitoring, type MonitoringDeps, openMonitoring } from '../../src/monitoring/open.ts';
import { loadPolicy, type RiskLevel } from '../../src/risk/policy.ts';
import type { Coverage, CoverageEntry } from '../../src/screening/answers.ts';

const NOT_READ: CoverageEntry = { status: 'NONE', asOf: null };
export const NOTHING_READ: Coverage = {
  labels: NOT_READ,
  graph: NOT_READ,
  balances: NOT_READ,
  history: NOT_READ,
  sanctions: NOT_READ,
};

/** A published label under the rule SCAM-001. */
export const SCAM_LABEL: Label = {
  entity: { id: 's', name: 'The Scam', category: 'SCAM', jurisdiction: null, url: null },
  scope: 'EVM',
  category: 'SCAM',
  threatLevel: 'HIGH',
  source: 'test',
  sourceUrl: null,
  tags: [],
  confidence: 1,
  sanctions: [],
  verified: true,
  synthetic: false,
  class: 'published',
  firstSeen: null,
  lastSeen: null,
};

/** The parts of a screening that a wallet keeps. */
export const screeningJson = (riskScore: number, riskLevel: RiskLevel, atMs = Date.now()): Uint8Array =>
  Buffer.from(
    JSON.stringify({
      riskScore,
      riskLevel,
      assessed: riskScore > 0,
      coverage: NOTHING_READ,
      screenedAt: new Date(atMs).toISOString(),
    }),
  );

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
      screen: async () => screeningJson(42, 'MEDIUM'),
      walletsMax: () => 5_000,
      billing: {
        charge: async ({ data }) => ({ body: Buffer.from(data), replayed: false }),
        refund: async () => {},
      },
      ...deps,
    },
  );

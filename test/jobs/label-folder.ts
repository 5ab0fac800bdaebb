/** A folder with a published label snapshot of a few addresses, for code that opens its stores by path. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { buildSnapshot } from '../../src/labels/index/build.ts';
import { dayFromIso } from '../../src/labels/index/days.ts';
import { createSegmentWriter } from '../../src/labels/index/segment.ts';
import { primaryOrder } from '../../src/labels/primary.ts';
import { loadSourceTable } from '../../src/labels/source-table.ts';

export interface LabelFolder {
  readonly path: string;
  readonly snapshotsFolder: string;
  /** Builds and publishes a snapshot that labels each EVM address with the name of an exchange. */
  publish(names: Readonly<Record<string, string>>): Promise<void>;
  remove(): void;
}

export function labelFolder(path: string = mkdtempSync(join(tmpdir(), 'assay-label-folder-'))): LabelFolder {
  mkdirSync(path, { recursive: true });
  const snapshotsFolder = join(path, 'snapshots');
  let builds = 0;
  return {
    path,
    snapshotsFolder,
    async publish(names) {
      const segment = join(path, `segment-${builds++}`);
      const writer = createSegmentWriter(segment);
      for (const [address, name] of Object.entries(names)) {
        const { key } = parseAddress('ETH', address);
        const template = writer.template({
          entity: { id: name.toLowerCase(), name, category: 'EXCHANGE', jurisdiction: null, url: null },
          scope: 'EVM',
          category: 'EXCHANGE',
          threatLevel: 'LOW',
          source: 'own',
          sourceUrl: null,
          tags: [],
          confidence: 0.9,
          sanctions: [],
          verified: true,
          synthetic: false,
        });
        writer.add(key, 0, key.length, template, dayFromIso(null), dayFromIso(null));
      }
      await writer.close();
      const source = {
        id: 'own',
        dataset: 'test',
        publishedAt: null,
        importedAt: '2026-11-20T00:00:00.000Z',
        url: null,
        lists: [],
      };
      await buildSnapshot(
        {
          segments: [{ path: segment, source }],
          folder: snapshotsFolder,
          compareLabels: primaryOrder(loadSourceTable()),
        },
        { clock: systemClock, log: silentLogger },
      );
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

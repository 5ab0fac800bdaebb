/** `assay index build|stats|verify|synth`: the label snapshot. */
import { createHash } from 'node:crypto';
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { buildLabelIndex, ensureShipped } from '../labels/build-index.ts';
import { importSegment } from '../labels/import-segment.ts';
import { currentSnapshot } from '../labels/index/folder.ts';
import type { SnapshotMeta } from '../labels/index/reader.ts';
import { type IndexStats, readIndexStats } from '../labels/index/stats.ts';
import { synthSegment } from '../labels/index/synth.ts';
import { assertSound } from '../labels/index/verify.ts';
import { answer, type Terminal, table, wholeNumber } from './context.ts';
import { createProgress } from './progress.ts';
import type { Services } from './services.ts';

/** Ten times the size for which the index is designed; above it a typing error would fill the disk. */
const SYNTH_LABELS_MAX = 100_000_000;

const countLine = (what: string, counts: SnapshotMeta['real']): string =>
  `${what}: ${counts.labels} labels on ${counts.addresses} addresses, ${counts.entities} entities`;

const metaLines = (meta: Omit<SnapshotMeta, 'layout'>): readonly string[] => [
  `snapshot ${meta.dataVersion}, built ${meta.builtAt}`,
  countLine('real', meta.real),
  countLine('synthetic', meta.synthetic),
];

function statsLines({ meta, bytesOnDisk, path }: IndexStats): readonly string[] {
  const largestFirst = (counts: Readonly<Record<string, number>>): [string, string][] =>
    Object.entries(counts)
      .sort(([, a], [, b]) => b - a)
      .map(([name, count]) => [name, String(count)]);
  return [
    ...metaLines(meta),
    `${(bytesOnDisk / 2 ** 20).toFixed(1)} MiB in ${path}`,
    '',
    ...table([
      ['SOURCE', 'DATASET', 'LABELS', 'PUBLISHED', 'IMPORTED'],
      ...meta.sources.map((source) => [
        source.id,
        source.dataset,
        String(source.labels),
        source.publishedAt ?? '-',
        source.importedAt,
      ]),
    ]),
    '',
    ...table([['CHAIN', 'LABELS'], ...largestFirst(meta.byChain)]),
    '',
    ...table([['CATEGORY', 'LABELS'], ...largestFirst(meta.byCategory)]),
  ];
}

/** Builds a snapshot of the label store and publishes it, with progress on the terminal. */
export async function buildIndex(opened: Services, terminal: Terminal, force = false) {
  const progress = createProgress(terminal);
  try {
    return await opened.runs.record(
      'BUILD',
      async () => {
        // As at the start of a server, so that an index contains the shipped labels even if no server was ever started.
        await ensureShipped(opened);
        const built = await buildLabelIndex(
          {
            snapshotsFolder: opened.snapshotsFolder,
            force,
            signal: terminal.signal,
            onProgress: ({ phase, done, total }) => progress.update(phase, done, total, 'labels'),
          },
          opened,
        );
        return { ...built, names: await opened.buildNames() };
      },
      ({ meta }) => ({ sources: [], dataVersion: meta?.dataVersion ?? null, error: null }),
    );
  } finally {
    progress.end();
  }
}

/** Adds `assay index`. */
export function addIndexCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const index = program.command('index').description('build, describe and check the label snapshot');

  index
    .command('build')
    .description('build a snapshot of the label store and publish it; a running server switches to it')
    .option('--force', 'build even if nothing has changed')
    .option('--json', 'answer as JSON')
    .action(async (options: { force?: boolean; json?: boolean }) => {
      const report = await buildIndex(services(), terminal, options.force);
      answer(terminal, options.json ?? false, report, ({ meta, names }) => [
        ...(meta === null ? ['The published snapshot already has all of it.'] : metaLines(meta)),
        ...(names.meta ? [`names: ${names.meta.names} names of ${names.meta.entities} listed parties`] : []),
      ]);
    });

  index
    .command('stats')
    .description('describe the published snapshot; synthetic labels are counted separately')
    .option('--json', 'answer as JSON')
    .action(async (options: { json?: boolean }) => {
      answer(terminal, options.json ?? false, await readIndexStats(services().snapshotsFolder), statsLines);
    });

  index
    .command('verify')
    .description('check every byte of the published snapshot against its checksums')
    .option('--json', 'answer as JSON')
    .action(async (options: { json?: boolean }) => {
      const root = services().snapshotsFolder;
      const path = currentSnapshot(root);
      if (path === null)
        throw new AssayError(
          'NOT_READY',
          `No label index was built yet in ${root}. Run 'assay index build'.`,
        );
      answer(terminal, options.json ?? false, await assertSound(path), (report) => [
        `Snapshot ${report.dataVersion} is intact: ${report.addresses} addresses, ${report.templates} label templates.`,
      ]);
    });

  index
    .command('synth')
    .description('add deterministic synthetic labels for load tests; they are always counted separately')
    .requiredOption('--count <n>', 'number of labels')
    .requiredOption('--seed <s>', 'seed; the same seed gives the same labels')
    .option('--json', 'answer as JSON')
    .action(async (options: { count: string; seed: string; json?: boolean }) => {
      const count = wholeNumber('--count', options.count, 1, SYNTH_LABELS_MAX);
      const seed = wholeNumber('--seed', options.seed, 0, 0xffff_ffff);
      const progress = createProgress(terminal);
      try {
        const report = await importSegment(
          {
            source: 'synthetic',
            dataset: 'synthetic',
            layout: 'SYNTHETIC',
            contentHash: createHash('sha256').update(`synthetic ${count} ${seed}`).digest('hex'),
            files: [],
            publishedAt: null,
            write: async (path) => {
              const stats = await synthSegment(path, {
                count,
                seed,
                signal: terminal.signal,
                onProgress: (labels) => progress.update('synth', labels, count, 'labels'),
              });
              return { labels: stats.labels, records: stats.labels };
            },
          },
          services(),
        );
        progress.end();
        answer(terminal, options.json ?? false, report, () => [
          `${report.labels} synthetic labels in the store. Run \`assay index build\` to publish them.`,
        ]);
      } finally {
        progress.end();
      }
    });
}

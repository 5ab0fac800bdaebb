/**
 * `assay cluster <chain>`: clusters the stored transactions of a UTXO chain, and labels the members of a cluster by its known
 * members.
 */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { UTXO_CHAINS } from '../chains/families/utxo/chains.ts';
import { type ChainId, chainOf, parseChainId } from '../chains/registry.ts';
import { buildClusters, type ClusterReport, type ClusterStage } from '../graph/cluster/build.ts';
import { clustersFolderOf } from '../graph/cluster/store.ts';
import { isWholeHistory, storedBlocks } from '../graph/cluster/stored-transactions.ts';
import { importClusterLabels, type SpreadReport } from '../screening/cluster-labels.ts';
import { answer, type Terminal } from './context.ts';
import { createProgress } from './progress.ts';
import type { Services } from './services.ts';

interface ClusterAnswer {
  /** Null with `--labels-only`. */
  readonly build: ClusterReport | null;
  /** Null with `--no-labels`. */
  readonly labels: SpreadReport | null;
}

interface ClusterOptions {
  readonly labelsOnly?: boolean;
  readonly labels: boolean;
  readonly fresh?: boolean;
  readonly json?: boolean;
}

/** The unit of the progress of each stage. */
const UNITS: Readonly<Record<ClusterStage, string>> = { read: 'transactions', join: 'parts', sort: 'parts' };

function utxoChainFrom(text: string): ChainId {
  const chain = parseChainId(text, 'chain');
  if (chainOf(chain).family === 'utxo') return chain;
  throw new AssayError(
    'INVALID_REQUEST',
    `chain: ${chain} is a chain of accounts. Only chains of outputs (BTC, LTC, …) have clusters.`,
    { field: 'chain' },
  );
}

function buildLines(build: ClusterReport): readonly string[] {
  const mixed = Object.entries(build.coinJoins).map(([kind, count]) => `${kind} ${count}`);
  return [
    `${build.transactions} transactions of blocks ${build.firstBlock ?? '-'} to ${build.lastBlock ?? '-'}: ` +
      `${build.clusters} clusters of ${build.clustered} of ${build.addresses} addresses, the largest of ${build.largest}.`,
    ...(build.continuedAfter > 0
      ? [`Continued after ${build.continuedAfter} transactions that the last run had read.`]
      : []),
    `CoinJoins excluded: ${mixed.length === 0 ? 'none' : mixed.join(', ')}. Change merged: ${build.changeMerged}.`,
    ...(build.completeHistory
      ? []
      : [
          'The store does not contain the first blocks of the chain, so it is not known which addresses were new.',
        ]),
  ];
}

function labelLines(report: SpreadReport): readonly string[] {
  return [
    `${report.labels} labels for the members of ${report.spread} clusters; ${report.conflicts} clusters name several owners, ` +
      `${report.superClusters} are too large to be plausible.`,
    ...report.conflictsListed.map(
      ({ clusterId, size, entities }) => `  ${clusterId} (${size} addresses): ${entities.join(', ')}`,
    ),
    report.dataset.status === 'unchanged'
      ? 'The store already had all of these labels.'
      : 'Run `assay index build` to publish them.',
  ];
}

/** Adds `assay cluster`. */
export function addClusterCommand(program: Command, terminal: Terminal, services: () => Services): void {
  program
    .command('cluster')
    .description('cluster the addresses of a UTXO chain, and label members by the labels of others')
    .argument('<chain>', UTXO_CHAINS.map(({ id }) => id).join(', '))
    .option('--labels-only', 'keep the clusters, and only label their members again')
    .option('--no-labels', 'build the clusters without labels')
    .option('--fresh', 'read all blocks again, also those that the last run has read')
    .option('--json', 'answer as JSON')
    .action(async (chainText: string, options: ClusterOptions) => {
      const chain = utxoChainFrom(chainText);
      const { signal } = terminal;
      if (options.labelsOnly && !options.labels)
        throw new AssayError('INVALID_REQUEST', '--labels-only: cannot be combined with --no-labels.');
      const progress = createProgress(terminal);
      try {
        const opened = services();
        let build: ClusterReport | null = null;
        if (!options.labelsOnly) {
          const outputs = opened.outputs('read');
          if (outputs.coverage(chain).transactions === 0)
            throw new AssayError(
              'NOT_READY',
              `No transaction of ${chain} is stored. Run \`assay ingest\` first.`,
            );
          build = await buildClusters(
            {
              chain,
              folder: clustersFolderOf(opened.dataDir),
              completeHistory: isWholeHistory(chain, outputs),
              signal,
              fresh: options.fresh ?? false,
              onProgress: (stage, done, total) => progress.update(stage, done, total, UNITS[stage]),
            },
            { source: storedBlocks(chain, outputs), clock: terminal.clock },
          );
        }
        let labels: SpreadReport | null = null;
        if (options.labels) {
          const clusters = opened.clusters();
          if (clusters.build(chain) === null)
            throw new AssayError(
              'NOT_READY',
              `${chain} has no clusters yet. Run \`assay cluster ${chain}\`.`,
            );
          const deps = { clusters, labels: opened.snapshots().current, importing: opened };
          labels = await importClusterLabels({ chain, signal }, deps);
        }
        progress.end();
        answer(terminal, options.json ?? false, { build, labels } satisfies ClusterAnswer, () => [
          ...(build ? buildLines(build) : []),
          ...(labels ? labelLines(labels) : []),
        ]);
      } finally {
        progress.end();
      }
    });
}

/** `assay snapshot publish|pull|status`: snapshot replication between nodes. Exports and comparisons: snapshot-product.ts. */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { keysOf, openSource, openStoreAt, type ReleaseSummary } from '../replication/follow.ts';
import { openPublisher } from '../replication/publish.ts';
import { openPuller } from '../replication/pull.ts';
import { pullNewest } from '../replication/pull-newest.ts';
import { bytesOfRelease, type Release } from '../replication/release.ts';
import { openS3 } from '../replication/s3/client.ts';
import { optionalPullPlace, type PullPlace } from '../state/snapshot-places.ts';
import { answer, type Terminal } from './context.ts';
import { createProgress, megabytes } from './progress.ts';
import type { Services } from './services.ts';
import { addSnapshotProducts } from './snapshot-product.ts';

const shown = ({ id, dataVersion, publishedAt }: Release): ReleaseSummary => ({
  release: id,
  dataVersion,
  publishedAt,
});

const line = (what: string, state: ReleaseSummary | null): string =>
  state === null
    ? `${what}: nothing yet`
    : `${what}: release ${state.release}, data version ${state.dataVersion}, published ${state.publishedAt}`;

/** Returns the source to pull from: the option, or else the settings. */
function placeOf(opened: Services, from: string | undefined): PullPlace {
  if (from === undefined) {
    if (opened.replication.settings.from !== null) return opened.replication.settings.from;
    throw new AssayError(
      'INVALID_REQUEST',
      '--from: is missing, and ASSAY_SNAPSHOT_FROM is not set. Give the URL of a source.',
    );
  }
  const place = optionalPullPlace(from, '--from');
  if (place === null) throw new AssayError('INVALID_REQUEST', '--from: must not be empty.');
  if ('url' in place) return { kind: 'http', url: place.url };
  throw new AssayError(
    'INVALID_REQUEST',
    '--from: must be an http or https URL. For an object store, set ASSAY_SNAPSHOT_FROM and its credentials.',
  );
}

/** Adds `assay snapshot`. */
export function addSnapshotCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const snapshot = program
    .command('snapshot')
    .description(
      'publish labels, names and registers to other nodes, or pull them; export and compare label snapshots',
    );
  addSnapshotProducts(snapshot, terminal, services);

  snapshot
    .command('publish')
    .description(
      'publish a release of the current labels, names and registers, and upload it if ASSAY_SNAPSHOT_STORE is set',
    )
    .option('--json', 'answer as JSON')
    .action(async (options: { json?: boolean }) => {
      const opened = services();
      const { settings, deps } = opened.replication;
      const progress = createProgress(terminal);
      const keys = keysOf(settings.secret);
      const publisher = openPublisher({ dataDir: opened.dataDir, keys }, deps);
      const isNew = await publisher.capture(terminal.signal);
      const { current } = publisher;
      if (current === null)
        throw new AssayError('NOT_READY', "No label index was built yet. Run 'assay index build'.");
      const { release } = current;
      let carried: { readonly to: string; readonly bytes: number } | null = null;
      if (settings.store !== null) {
        const client = openS3(settings.store, deps);
        try {
          const store = openStoreAt(
            client.name,
            opened.dataDir,
            settings.store,
            deps,
            ({ path, bytes, totalBytes }) => progress.update(path, bytes, totalBytes, 'bytes'),
            client,
          );
          const { bytes } = await store.put(current, publisher.blobs, terminal.signal);
          carried = { to: client.name, bytes };
        } finally {
          progress.end();
          await client.close();
        }
      }
      const report = { ...shown(release), isNew, bytes: bytesOfRelease(release), carried };
      answer(terminal, options.json ?? false, report, () => [
        `${line('published', report)}, ${release.files.length} files, ${megabytes(report.bytes)}`,
        ...(carried === null ? [] : [`uploaded ${megabytes(carried.bytes)} to ${carried.to}`]),
      ]);
    });

  snapshot
    .command('pull')
    .description('fetch the newest release and activate it; an interrupted pull resumes')
    .option('--from <url>', 'publishing node, http or https (default: ASSAY_SNAPSHOT_FROM)')
    .option('--json', 'answer as JSON')
    .action(async (options: { from?: string; json?: boolean }) => {
      const opened = services();
      const { settings, deps } = opened.replication;
      const progress = createProgress(terminal);
      try {
        const pulled = await pullNewest(
          settings,
          {
            from: placeOf(opened, options.from),
            patienceMs: 0,
            signal: terminal.signal,
            onProgress: ({ path, bytes, totalBytes }) => progress.update(path, bytes, totalBytes, 'bytes'),
          },
          deps,
        );
        progress.end();
        const { release, installedAt, swapped, fetchedBytes } = pulled;
        const report = { ...shown(release), installedAt, swapped, fetchedBytes };
        answer(terminal, options.json ?? false, report, () => [
          line(swapped ? 'now active' : 'already active', report),
          ...(swapped ? [`fetched ${megabytes(fetchedBytes)}`] : []),
        ]);
      } finally {
        progress.end();
      }
    });

  snapshot
    .command('status')
    .description('show the published and the active release, and the replication lag of this node')
    .option('--json', 'answer as JSON')
    .action(async (options: { json?: boolean }) => {
      const opened = services();
      const { settings, deps } = opened.replication;
      const keys = keysOf(settings.secret);
      const { dataDir } = opened;
      const published = openPublisher({ dataDir, keys }, deps).current?.release ?? null;
      let there: Release | null = null;
      let from: string | null = null;
      const installed = openPuller({ dataDir, keys }, deps).installed;
      if (settings.from !== null) {
        const source = openSource(settings.from, keys, deps);
        from = source.name;
        try {
          const latest = await source.latest(null, 0, terminal.signal);
          if (latest.state === 'new')
            there = openPuller({ dataDir, keys }, deps).read(latest.envelope, source);
        } finally {
          await source.close();
        }
      }
      const report = {
        published: published === null ? null : shown(published),
        pulled:
          installed === null ? null : { ...shown(installed.release), installedAt: installed.installedAt },
        from: from === null ? null : { name: from, newest: there === null ? null : shown(there) },
        behind: there !== null && there.id !== installed?.release.id,
      };
      answer(terminal, options.json ?? false, report, () => [
        line('published here', report.published),
        ...(report.from === null
          ? []
          : [
              line(`newest at ${report.from.name}`, report.from.newest),
              line('pulled and active', report.pulled),
              report.behind ? 'This node is behind.' : 'This node is up to date.',
            ]),
      ]);
    });
}

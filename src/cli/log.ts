/** `assay log`: the key of the transparency log, its verification, and audits of its checkpoints. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { auditCheckpoints, type Finding, verifyLog } from '../receipts/log/audit.ts';
import { type Checkpoint, parseCheckpoint, verifyCheckpoint } from '../receipts/log/checkpoint.ts';
import { type NoteVerifier, parseVkey } from '../receipts/log/note.ts';
import {
  CHECKPOINT,
  type LogSource,
  openLogSource,
  rememberCheckpoint,
  tilesIn,
} from '../receipts/log/places.ts';
import type { LogStore } from '../receipts/log/store.ts';
import { parseTilePath } from '../receipts/log/tiles.ts';
import { answer, type Terminal } from './context.ts';
import { createProgress } from './progress.ts';
import type { Services } from './services.ts';

/** The log of this installation as the files that it serves. */
function ownSource(store: LogStore): LogSource {
  return {
    name: 'the log of this installation',
    async read(path) {
      const tile = parseTilePath(path);
      const text = path === CHECKPOINT ? store.checkpoint() : null;
      return tile === null ? (text === null ? null : Buffer.from(text)) : store.tile(tile);
    },
    // The store is closed with the other services.
    close: async () => {},
  };
}

const keyOf = (text: string | undefined): NoteVerifier | null =>
  text === undefined ? null : parseVkey(text, '--key', 'log');

/** Reads a checkpoint. Without a key, its signature is not verified. */
const checkpointOf = (text: string, key: NoteVerifier | null): Checkpoint =>
  key === null ? parseCheckpoint(text) : verifyCheckpoint(text, key);

const UNSIGNED = 'The signature was not verified: give the key of the log with --key.';

async function checkpointIn(source: LogSource): Promise<string> {
  const bytes = await source.read(CHECKPOINT);
  if (bytes === null)
    throw new AssayError('INVALID_FILE', `${source.name}: has no file ${CHECKPOINT}, so it is not a log.`);
  return bytes.toString('utf8');
}

const isFolder = (place: string): boolean =>
  statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
const isLog = (place: string): boolean => /^https?:\/\//.test(place) || isFolder(place);

async function withSource<T>(source: LogSource, work: (source: LogSource) => Promise<T>): Promise<T> {
  try {
    return await work(source);
  } finally {
    await source.close();
  }
}

interface VerifyOptions {
  readonly key?: string;
  readonly json?: boolean;
}

async function verify(
  terminal: Terminal,
  source: LogSource,
  key: NoteVerifier | null,
  json: boolean,
): Promise<void> {
  const checkpoint = checkpointOf(await checkpointIn(source), key);
  const progress = createProgress(terminal);
  const report = await verifyLog(checkpoint, tilesIn(source), {
    signal: terminal.signal,
    onProgress: (done) => progress.update('verify', done, checkpoint.size, 'entries'),
  });
  progress.end();
  const isIntact = report.faults.length === 0;
  answer(terminal, json, { ...report, signature: key === null ? 'NOT_VERIFIED' : 'VALID' }, () => [
    `${report.origin}: ${report.size} entries, ${report.tiles} tiles read: ${isIntact ? 'all agree with the checkpoint.' : 'NOT intact.'}`,
    ...report.faults,
    ...(key === null ? [UNSIGNED] : []),
  ]);
  if (!isIntact)
    throw new AssayError('STORE_CORRUPT', `The transparency log is damaged: ${report.faults[0]}`);
}

const SENTENCES: Readonly<Record<Finding, (older: Checkpoint, newer: Checkpoint) => string>> = {
  consistent: (older, newer) =>
    `The log of ${newer.size} entries contains the ${older.size} entries of the older checkpoint, unchanged.`,
  rollback: (older, newer) =>
    `Rollback: the newer checkpoint has ${newer.size} entries, the older one has ${older.size}.`,
  fork: (older, newer) =>
    `Fork: the log of ${newer.size} entries does not contain the ${older.size} entries of the older checkpoint.`,
};

interface AuditOptions extends VerifyOptions {
  readonly tiles?: string;
  readonly remember?: boolean;
}

async function audit(
  terminal: Terminal,
  olderPath: string,
  newerPlace: string,
  { key: vkey, tiles, remember = false, json = false }: AuditOptions,
): Promise<void> {
  const key = keyOf(vkey);
  const place = isLog(newerPlace) ? newerPlace : tiles;
  const source = place === undefined ? null : openLogSource(place);
  const work = async (): Promise<void> => {
    const text =
      source !== null && isLog(newerPlace) ? await checkpointIn(source) : readFileSync(newerPlace, 'utf8');
    const newer = checkpointOf(text, key);
    const isFirst = remember && !existsSync(olderPath);
    const older = isFirst ? newer : checkpointOf(readFileSync(olderPath, 'utf8'), key);
    const finding = await auditCheckpoints(older, newer, (tile) => {
      if (source === null)
        throw new AssayError(
          'INVALID_REQUEST',
          '--tiles: is needed to compare two files of different sizes: the URL or folder of the log.',
        );
      return tilesIn(source)(tile);
    });
    const sentence = isFirst
      ? `The checkpoint of ${newer.size} entries is the first that is remembered.`
      : SENTENCES[finding](older, newer);
    const report = {
      origin: newer.origin,
      older: older.size,
      newer: newer.size,
      finding,
      signature: key === null ? 'NOT_VERIFIED' : 'VALID',
    };
    answer(terminal, json, report, () => [sentence, ...(key === null ? [UNSIGNED] : [])]);
    if (finding !== 'consistent') throw new AssayError('STORE_CORRUPT', sentence);
    if (remember) rememberCheckpoint(olderPath, text);
  };
  await (source === null ? work() : withSource(source, work));
}

/** Adds `assay log`. */
export function addLogCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const log = program.command('log').description('verify and audit the transparency log of receipts');

  log
    .command('key')
    .description('show the origin and the public key of the log of this installation')
    .option('--json', 'answer as JSON')
    .action(async ({ json = false }: VerifyOptions) => {
      await services().ready('accounts');
      const identity = services().logStore().identity();
      if (identity === null)
        throw new AssayError(
          'NOT_FOUND',
          'This installation has no log: its first `assay serve` creates it.',
        );
      const { origin, vkey } = identity;
      answer(terminal, json, { origin, vkey }, () => [vkey]);
    });

  log
    .command('verify [log]')
    .description(
      'read all tiles and entries of a log, and compare them with its checkpoint; without a URL or folder, of this installation',
    )
    .option('--key <key>', 'key of the log, NAME+ID+KEY, as `assay log key` shows it')
    .option('--json', 'answer as JSON')
    .action(async (place: string | undefined, { key, json = false }: VerifyOptions) => {
      if (place !== undefined) {
        const known = keyOf(key);
        await withSource(openLogSource(place), (source) => verify(terminal, source, known, json));
        return;
      }
      await services().ready('accounts');
      const store = services().logStore();
      await verify(terminal, ownSource(store), keyOf(key ?? store.identity()?.vkey), json);
    });

  log
    .command('audit <older> <newer>')
    .description(
      'check that a log continues an older checkpoint: a file, and another file or the URL or folder of the log; detects forks and rollbacks',
    )
    .option('--tiles <log>', 'URL or folder of the log, if both checkpoints are files')
    .option('--key <key>', 'key of the log, NAME+ID+KEY; without it, signatures are not verified')
    .option(
      '--remember',
      'replace the file of the older checkpoint by the newer one, if the log continues it',
    )
    .option('--json', 'answer as JSON')
    .action((older: string, newer: string, options: AuditOptions) => audit(terminal, older, newer, options));
}

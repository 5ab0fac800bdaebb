/** `assay installation` and `assay verify`: the stores of this installation, and whether all of them are intact. */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import {
  acceptLoss,
  hasStores,
  keyFault,
  missingStores,
  readInstallation,
} from '../state/installation-record.ts';
import { verifyFolder } from '../state/verify-folder.ts';
import { answer, type Terminal } from './context.ts';
import { createProgress, megabytes } from './progress.ts';
import { type FilePlaces, faultsOfFiles } from './verify-files.ts';

/** Settings of these commands, which read a folder without opening its stores as other commands do. */
export type InstallationPlace = FilePlaces;

const nothingVerified = (dataDir: string): AssayError =>
  new AssayError(
    'NOT_FOUND',
    `${dataDir} has no store, so nothing was verified. Set ASSAY_DATA_DIR to the folder of the server.`,
  );

/** Commands that verify stores. With a wrong ASSAY_DATA_DIR they would create empty ones, and find no fault in them. */
const VERIFYING: ReadonlySet<string> = new Set(['audit verify', 'ledger verify', 'billing verify']);

/**
 * Commands that only read or change existing records. With a wrong ASSAY_DATA_DIR they would create empty stores, and answer that there are no
 * keys, no people or no alerts.
 */
const OF_STORED_RECORDS: ReadonlySet<string> = new Set([
  'keys list',
  'keys revoke',
  'accounts list',
  'accounts disable',
  'accounts enable',
  'accounts disable-totp',
  'accounts notify',
  'audit show',
  'credits show',
  'monitor list',
  'monitor alerts',
  'monitor tail',
  'labels disputes',
  'labels reports',
  'labels decide',
  'receipt show',
  'receipt erase',
  'receipt keys list',
  'billing invoices',
  'billing statement',
  'billing release',
  'billing refuse',
  'billing cancel',
]);

/** Requires that the data folder has stores, before a command of stored records opens any. With a Redis, the stores are there. */
export function requireStoresOfRecords(program: Command, place: () => InstallationPlace): void {
  program.hook('preAction', (_, action) => {
    const path = commandPath(action);
    if (!VERIFYING.has(path) && !OF_STORED_RECORDS.has(path)) return;
    const { dataDir, isShared } = place();
    if (isShared || hasStores(dataDir)) return;
    if (VERIFYING.has(path)) throw nothingVerified(dataDir);
    throw new AssayError(
      'NOT_FOUND',
      `${dataDir} has no store. Set ASSAY_DATA_DIR to the folder of the server.`,
    );
  });
}

/** Returns the names of a command and of those above it, without that of the program. */
export function commandPath(action: Command): string {
  const names: string[] = [];
  for (let command = action; command.parent; command = command.parent) names.unshift(command.name());
  return names.join(' ');
}

/** Adds `assay installation`. */
export function addInstallationCommand(
  program: Command,
  terminal: Terminal,
  place: () => InstallationPlace,
): void {
  const command = program
    .command('installation')
    .description('show the stores of this installation')
    .option('--json', 'answer as JSON')
    .action((options: { json?: boolean }) => {
      const { dataDir, isShared } = place();
      const record = readInstallation(dataDir);
      if (record === null)
        throw new AssayError(
          'NOT_FOUND',
          `${dataDir} has no record of an installation yet: the first start writes it.`,
        );
      const missing = missingStores(dataDir, isShared).map(({ path }) => path);
      answer(terminal, options.json ?? false, { ...record, missing }, () => [
        `Installation ${record.id}, since ${record.createdAt.slice(0, 10)}.`,
        ...record.stores.map(
          ({ path, kind, since }) =>
            `${path}: ${kind}, since ${since.slice(0, 10)}${missing.includes(path) ? ', MISSING' : ''}`,
        ),
      ]);
    });
  command
    .command('accept-loss')
    .description('accept the loss of a missing store: the next start creates it again without its records')
    .argument('<store>', 'name of the store (see `assay installation`), such as accounts/ledger.mdb')
    .action((path: string) => {
      const { kind } = acceptLoss(place().dataDir, path);
      terminal.out.write(`${path} (${kind}) is accepted as lost: the next start creates a new one.\n`);
    });
}

/** Adds `assay verify`. */
export function addVerifyCommand(program: Command, terminal: Terminal, place: () => InstallationPlace): void {
  program
    .command('verify')
    .description('verify every page of every store and every other file against their checksums')
    .option('--json', 'answer as JSON')
    .action(async (options: { json?: boolean }) => {
      const places = place();
      const { dataDir, isShared } = places;
      const progress = createProgress(terminal);
      const { stores, faults } = verifyFolder(
        dataDir,
        (done, total) => progress.update('verify', done, total, 'stores'),
        terminal.signal,
      );
      const damagedFiles = await faultsOfFiles(places, terminal.signal);
      progress.end();
      const missing = missingStores(dataDir, isShared).map(
        ({ path, kind }) => `${path} (${kind}) is missing.`,
      );
      const wrongKey = isShared ? null : keyFault(dataDir);
      const ofKey = wrongKey === null ? [] : [wrongKey];
      const report = { stores, faults: [...faults, ...ofKey, ...damagedFiles, ...missing] };
      if (stores.length === 0 && report.faults.length === 0) throw nothingVerified(dataDir);
      answer(terminal, options.json ?? false, report, () => [
        `${stores.length} stores, ${megabytes(stores.reduce((sum, { bytes }) => sum + bytes, 0))}: ${report.faults.length === 0 ? 'all are intact.' : 'NOT intact.'}`,
        ...report.faults,
      ]);
      if (report.faults.length > 0)
        throw new AssayError('STORE_CORRUPT', `The stores are not intact: ${report.faults[0]}`);
    });
}

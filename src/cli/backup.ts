/** `assay backup FOLDER`: copies all state while it is served and written. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { backUp, verifyBackup } from '../backup/backup.ts';
import { answer, type Terminal } from './context.ts';
import { megabytes, withProgress } from './progress.ts';
import type { Services } from './services.ts';

/** Adds `assay backup`. */
export function addBackupCommand(program: Command, terminal: Terminal, services: () => Services): void {
  program
    .command('backup')
    .description('back up all state while it is served and written; to restore, see docs/OPERATIONS.md')
    .argument('<folder>', 'a folder that does not exist or is empty')
    .option('--verify', 'verify the backup in the folder instead: read every byte')
    .option('--json', 'answer as JSON')
    .action(async (text: string, options: { verify?: boolean; json?: boolean }) => {
      const folder = resolve(text);
      if (options.verify === true) {
        const found = await verifyBackup(folder, terminal.signal);
        return answer(terminal, options.json ?? false, found, () => [
          `The backup of ${found.takenAt} is intact: ${found.files} files, ${megabytes(found.bytes)}, ` +
            `${found.entries} entries of ${found.environments} stores.`,
        ]);
      }
      const { dataDir, clock } = services();
      const report = await withProgress(terminal, (progress) =>
        backUp(
          {
            dataDir,
            folder,
            signal: terminal.signal,
            onProgress: ({ files, totalFiles }) => progress.update('backup', files, totalFiles, 'files'),
          },
          { clock },
        ),
      );
      answer(terminal, options.json ?? false, report, () => [
        `${report.files.length} files, ${megabytes(report.files.reduce((sum, file) => sum + file.bytes, 0))} in ${folder}.`,
      ]);
    });
}

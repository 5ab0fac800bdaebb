/** Entry of the process that copies and reads files of stores for a backup. */
import { runCopier } from '../src/backup/copier-process.ts';

runCopier();

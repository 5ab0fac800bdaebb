/** Entry of the process that copies and reads store files for a backup. */
import { runCopier } from '../src/backup/copier-process.ts';

runCopier();

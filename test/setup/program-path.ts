/** The built program that tests start. */
import { join } from 'node:path';
import { projectRoot } from '../../src/base/paths.ts';

/** The program that ships, joined to one file (scripts/joined). */
export const PROGRAM: string = join(projectRoot, 'dist', 'joined', 'main.cjs');

/** The same program with a module for each source file. */
export const MODULES_PROGRAM: string = join(projectRoot, 'dist', 'src', 'main.js');

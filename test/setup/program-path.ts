/** The built program that tests start. */
import { join } from 'node:path';
import { projectRoot } from '../../src/base/paths.ts';

/** The program that ships: one module for each source file. */
export const SHIPPED_PROGRAM: string = join(projectRoot, 'dist', 'src', 'main.js');

/**
 * The same code in one file, already compiled, which starts in a quarter of the time (`bundle.ts`). `npm run test:long` starts the shipped
 * one everywhere, as does `ASSAY_TEST_PROGRAM=shipped npm test`.
 */
export const PROGRAM: string =
  process.env.ASSAY_TEST_PROGRAM === 'shipped'
    ? SHIPPED_PROGRAM
    : join(projectRoot, 'dist', 'bundled', 'main.js');

/**
 * Writes the guide to `dist/guide`: the last step of a build.
 *
 * Usage: node dist/scripts/guide/main.js [--quick]
 *
 * `--quick` compresses in 1 s of processor time instead of 14 s, to files that are 4 % larger: for the build of a clone, which somebody waits for.
 */
import { builtGuide, projectRoot } from '../../src/base/paths.ts';
import { buildGuide, writeGuide } from './build.ts';

const QUICK_BROTLI = 6;

const isQuick = process.argv.includes('--quick');
await writeGuide(buildGuide(projectRoot), builtGuide, isQuick ? QUICK_BROTLI : undefined);

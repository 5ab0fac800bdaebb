/** Writes the guide to `dist/guide`: the last step of a build. */
import { builtGuide, projectRoot } from '../../src/base/paths.ts';
import { buildGuide, writeGuide } from './build.ts';

await writeGuide(buildGuide(projectRoot), builtGuide);

/** The project's test settings, changed so that a run against a mutant ends at the first failure and starts with the nearest tests. */
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import project from '../../vitest.config.ts';
import { ORDER_VARIABLE } from './reporter.ts';

// Each file has a process of its own, in which the functions that it calls are recorded.
const { projects: _, ...test } = project.test ?? {};

const order = (process.env[ORDER_VARIABLE] ?? '').split(',');
const placeOf = (specification: TestSpecification): number =>
  order.findIndex((test) => specification.moduleId.endsWith(`/${test}`));

class NearestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.sort((a, b) => placeOf(a) - placeOf(b));
  }
}

export default defineConfig({
  ...project,
  // node_modules is a link to the project's. The durations measured in this run must not be stored there.
  cacheDir: '.vite',
  test: {
    ...test,
    // A run differs from the one before by a single file: all other modules are read as they were compiled then.
    experimental: { fsModuleCache: true, fsModuleCachePath: '.vite/modules' },
    retry: 0,
    setupFiles: process.env.NODE_V8_COVERAGE === undefined ? [] : ['./scripts/mutants/record-calls.ts'],
    reporters: ['./scripts/mutants/reporter.ts'],
    sequence: { sequencer: NearestFirst },
  },
});

/**
 * A set-up file of vitest: records which functions of the program a test file calls in the process of the test. Node's own coverage
 * (`NODE_V8_COVERAGE`) contains only the processes that the test starts, because vitest compiles the modules of a test itself.
 */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const folder = process.env.NODE_V8_COVERAGE as string;
const session = new Session();
session.connect();
await session.post('Profiler.enable');
// Without the number of calls, V8 still optimizes: a test then takes about as long as without the recording.
await session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: false });

afterAll(async () => {
  const coverage = await session.post('Profiler.takePreciseCoverage');
  writeFileSync(join(folder, `test-${process.pid}.json`), JSON.stringify(coverage));
});

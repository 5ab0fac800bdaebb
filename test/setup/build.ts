/** Builds dist/ once before the tests: workers and the command line always run built JavaScript. */
import { fileURLToPath } from 'node:url';
import { spawnSync } from '../support/child-process.ts';
import { bundleForTests } from './bundle.ts';

export default async function setup(): Promise<void> {
  if (process.env.ASSAY_TEST_PREBUILT !== '1') buildAll();
  await bundleForTests();
}

function buildAll(): void {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  for (const step of [
    ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'],
    ['dist/scripts/kernels/main.js'],
    ['dist/scripts/guide/main.js', '--quick'],
    ['scripts/dashboard.mjs'],
  ]) {
    const built = spawnSync(process.execPath, step, { cwd: root, encoding: 'utf8' });
    if (built.status !== 0) throw new Error(`${step[0]} failed:\n${built.stdout}${built.stderr}`);
  }
}

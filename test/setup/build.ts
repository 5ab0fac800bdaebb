/** Builds dist/ once before the tests: workers and the command line always run built JavaScript. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export default function setup(): void {
  if (process.env.ASSAY_TEST_PREBUILT === '1') return;
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const built = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'], {
    cwd: root,
    encoding: 'utf8',
  });
  if (built.status !== 0) throw new Error(`tsc failed:\n${built.stdout}${built.stderr}`);
}

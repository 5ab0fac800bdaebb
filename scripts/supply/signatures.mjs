/**
 * Verifies the signatures of the registry over all installed packages (`npm audit signatures`). Fails if a signature is wrong or missing;
 * if the keys cannot be had, it says why and succeeds: the hashes of the lockfile still hold. `npm run lint` runs it.
 */
import { spawnSync } from 'node:child_process';
import { root } from './binaries.mjs';

/** `npm audit signatures` asks about each package; beyond this, something hangs. */
const TIMEOUT_MS = 300_000;

/** Outputs of npm if no verification was possible, with the reason for each. */
const SKIPPED = [
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|network request/i,
    'the keys of the registry cannot be reached from here',
  ],
  [/installed from a supported registry/i, 'the registry offers no keys'],
  [/no installed dependencies/i, 'no packages are installed'],
];
const FAILED = /invalid (registry )?signature|invalid attestation|tampered/i;

const run = spawnSync('npm', ['audit', 'signatures', '--fetch-retries=0', '--loglevel=error'], {
  cwd: root,
  encoding: 'utf8',
  timeout: TIMEOUT_MS,
  shell: process.platform === 'win32',
});
const output = `${run.stdout ?? ''}${run.stderr ?? ''}`;
const skipped = SKIPPED.find(([pattern]) => pattern.test(output))?.[1];

if (run.status === 0) process.stdout.write(output);
else if (FAILED.test(output) || skipped === undefined) {
  process.stderr.write(`${output}\nassay: npm audit signatures failed.\n`);
  process.exitCode = 1;
} else process.stdout.write(`assay: signatures of packages were not verified: ${skipped}.\n`);

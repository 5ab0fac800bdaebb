/** The publication of disputes in a child process: one run at a time, none lost, and a failure ends nothing. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DisputePublisher } from '../../src/attribution/publish.ts';
import { silentLogger } from '../../src/base/log.ts';
import { until } from '../support/wait.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-publish-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A command that writes a line when it begins and one when it ends, and takes some time between them. */
const command = (exitCode: number, ms = 150): readonly string[] => [
  process.execPath,
  '-e',
  `const { appendFileSync } = require('node:fs');
   const note = (word) => appendFileSync(${JSON.stringify(join(folder, 'runs'))}, word + '\\n');
   note('begins');
   setTimeout(() => { note('ends'); process.exit(${exitCode}); }, ${ms});`,
  '--',
];
const lines = (): readonly string[] => {
  try {
    return readFileSync(join(folder, 'runs'), 'utf8').trim().split('\n');
  } catch {
    return [];
  }
};

it('answers the requests during a run by one more run', async () => {
  const publisher = new DisputePublisher(command(0), silentLogger);
  publisher.request();
  await until(() => lines().length === 1);
  for (let again = 0; again < 5; again++) publisher.request();
  await until(() => lines().length === 4);
  expect(lines()).toEqual(['begins', 'ends', 'begins', 'ends']);
  await publisher.stop();
});

it('logs a failure, and publishes at the next request', async () => {
  const warnings: unknown[] = [];
  const log = { ...silentLogger, warn: (fields: unknown, text: unknown) => warnings.push([fields, text]) };
  const publisher = new DisputePublisher(command(1), log as never);
  publisher.request();
  await until(() => warnings.length === 1);
  expect(warnings[0]).toEqual([
    { reason: expect.stringContaining('the publication of disputes exited with 1') },
    'disputes were not published',
  ]);
  publisher.request();
  await until(() => warnings.length === 2);
  await publisher.stop();
});

it('ends a run when it is stopped, without a warning', async () => {
  // So long that it cannot end by itself before it is stopped, however busy the machine is.
  const publisher = new DisputePublisher(command(0, 600_000), silentLogger);
  publisher.request();
  await until(() => lines().length === 1);
  publisher.request();
  await publisher.stop();
  expect(lines()).toEqual(['begins']);
});

/** Runs a command line in the process of the test, over a folder of state. */
import { Writable } from 'node:stream';
import { examine } from '../../src/app/doctor/doctor.ts';
import { createServices } from '../../src/app/services.ts';
import { systemClock } from '../../src/base/clock.ts';
import { commandModules } from '../../src/cli/commands.ts';
import { runProgram } from '../../src/cli/program.ts';
import { loadConfig } from '../../src/config/config.ts';

class Sink extends Writable {
  text = '';
  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

export interface CommandOutcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export async function runCommand(
  dataDir: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CommandOutcome> {
  const out = new Sink();
  const err = new Sink();
  const read = () =>
    loadConfig({
      ASSAY_DATA_DIR: dataDir,
      ASSAY_LOG_LEVEL: 'silent',
      ASSAY_SYNC: 'off',
      ...environment,
    });
  const code = await runProgram(
    commandModules({
      apiKey: () => null,
      place: () => ({ dataDir, jobsDir: null, isShared: read().redis !== null }),
      mcp: { baseUrl: () => null, operations: async () => [], version: '0.0.0' },
      examine: (signal) => examine(read, signal),
    }),
    args,
    { out, err, clock: systemClock, signal: new AbortController().signal, endAtOnce: () => () => {} },
    () => createServices(read(), '0.0.0'),
    '0.0.0',
  );
  return { code, out: out.text, err: err.text };
}

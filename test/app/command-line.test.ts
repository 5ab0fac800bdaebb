/** The process of a command: its exit code and its last line, also if the command never ends by itself. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { spawnSync } from '../support/child-process.ts';

/** Runs the command `wait` with this body. */
function run(body: string) {
  const built = pathToFileURL(join(projectRoot, 'dist', 'src', 'app', 'command-line.js')).href;
  const script = `
    const { runCommandLine } = await import(${JSON.stringify(built)});
    process.argv.splice(1, Infinity, 'assay', 'wait');
    const add = (program) => program.command('wait').action(async () => { ${body} });
    await runCommandLine({ version: '0', commands: [add], createServices: () => ({ close() {} }) });`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  return { status, stderr };
}

it('fails a command that waits for something which never comes', () => {
  expect(run('await new Promise(() => {});')).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^assay: .*The command stopped before its end\.$/m),
  });
});

it('ends with 0 and without a line if the command has done its work', () => {
  expect(run('')).toEqual({ status: 0, stderr: '' });
});

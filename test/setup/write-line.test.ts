import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';

it('waits for a reader that lags behind a full pipe', async () => {
  const module = pathToFileURL(join(projectRoot, 'dist/test/setup/write-line.js')).href;
  const script = `
    import { writeLine } from ${JSON.stringify(module)};
    // Makes the pipe one that refuses instead of waiting, as any use of the stream does.
    process.stdout;
    writeLine('first');
    for (let n = 0; n < 20_000; n++) writeLine('x'.repeat(99));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let bytes = 0;
  let err = '';
  child.stderr.on('data', (text: Buffer) => (err += text.toString()));
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    // Long enough for the child to fill the pipe.
    child.stdout.pause();
    setTimeout(() => child.stdout.resume(), 5);
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect([code, err, bytes]).toEqual([0, '', 6 + 20_000 * 100]);
});

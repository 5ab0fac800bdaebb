import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { redactKeys, textLine } from '../../src/base/log.ts';
import { smallDisk, smallDiskRefusal } from '../setup/small-disk.ts';
import { spawnSync } from '../support/child-process.ts';

it.each([
  ['key assay_live_Ab3 of', 'key assay_live_[redacted] of'],
  [
    'Invalid key: rk_live_51Ab3, and sk_test_51Ab3.',
    'Invalid key: rk_live_[redacted], and sk_test_[redacted].',
  ],
  ['"whsec_kFeGBqzqAbjc/KCijBSKejwyGx2QRDIdb1mcK7X40aI=" leaked', '"whsec_[redacted]" leaked'],
  [
    'POST https://api.telegram.org/bot1:a/sendMessage',
    'POST https://api.telegram.org/bot[redacted]/sendMessage',
  ],
  ['https://hooks.slack.com/services/T0/B0/abc failed', 'https://hooks.slack.com/[redacted] failed'],
  [
    'POST https://api.telegram.org/bot123456789:AAE-abcdefghijklmnopqrstuvwxyz_12345/sendMessage',
    'POST https://api.telegram.org/bot[redacted]/sendMessage',
  ],
])('keys and secrets are cut out of %j', (text, shown) => {
  expect(redactKeys(text)).toBe(shown);
});

it('does not redact times, hashes and addresses', () => {
  const text =
    '2026-11-21T10:32:23.495Z 0x9ab7d29c26a007f22a9f3ae717d46a81db17daf713eb7a357f382096ed30e05b 127.0.0.1:46059';
  expect(redactKeys(text)).toBe(text);
});

describe('a line of text', () => {
  const line = (fields: Record<string, unknown>): string =>
    textLine(JSON.stringify({ level: 40, time: '2026-11-23T01:00:00.000Z', ...fields }));

  it('has the time, the level, the message and the fields', () => {
    expect(
      line({ chain: 'ETH', seconds: 3, ok: ['un', 'uk'], none: null, msg: 'lists partly refreshed' }),
    ).toBe(
      '2026-11-23T01:00:00.000Z WARN  lists partly refreshed  chain=ETH seconds=3 ok=["un","uk"] none=null\n',
    );
  });

  it('escapes control characters of hostile values, and keeps them on their line', () => {
    const hostile = 'x\n2026 INFO  forged \u001b[2J \u202egpj.exe" admin="yes';
    const text = line({ reason: hostile, 'na\u001bme': 1, msg: `answered ${hostile}` });
    expect(text.trimEnd().split('\n')).toHaveLength(1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of these may be left
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
    expect(text).toContain('reason="x\\n2026 INFO  forged');
    expect(text).toContain('\\" admin=\\"yes"');
  });

  it('shows the message of an error, and its stack only if asked', () => {
    const err = { type: 'Error', message: 'no room', stack: 'Error: no room\n    at here' };
    expect(line({ err, msg: 'failed' })).toBe('2026-11-23T01:00:00.000Z WARN  failed  err="no room"\n');
    const json = JSON.stringify({ level: 50, time: 't', err, msg: 'failed' });
    expect(textLine(json, true)).toBe('t ERROR failed  err="no room"\n    at here\n');
  });
});

it.each(['json', 'text'] as const)('writes no secret to a log of %s', (format) => {
  const log = new URL('../../dist/src/base/log.js', import.meta.url).href;
  const script = `const { createLogger } = await import('${log}');
    const log = createLogger({ level: 'info', format: '${format}' });
    log.error({ url: '/x?key=assay_live_Ab3', err: new Error('whsec_Ab3 failed') }, 'sk_live_Ab3 refused');`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(stderr).toContain('sk_live_[redacted] refused');
  expect(stderr).not.toContain('Ab3');
});

describe('the format of the log', () => {
  const written = (format: string): string => {
    const log = new URL('../../dist/src/base/log.js', import.meta.url).href;
    const script = `const { createLogger } = await import('${log}');
      createLogger({ level: 'info', format: '${format}' }).info({ name: 'a\\u001bb' }, 'serving');
      createLogger({ level: 'info' }).info('of a thread');`;
    return spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }).stderr;
  };

  it('is JSON if stderr is not a terminal, and text if asked, for all loggers of the process', () => {
    for (const format of ['auto', 'json'])
      expect(
        written(format)
          .trimEnd()
          .split('\n')
          .map((line) => (JSON.parse(line) as { msg: string }).msg),
      ).toEqual(['serving', 'of a thread']);
    expect(written('text')).toMatch(/^\S+Z INFO {2}serving {2}name="a\\u001bb"\n\S+Z INFO {2}of a thread\n$/);
  });
});

describe.skipIf(process.platform !== 'linux')('a log that cannot be written', () => {
  const log = new URL('../../dist/src/base/log.js', import.meta.url).href;
  const run = (script: string, path: string, ...args: readonly string[]) => {
    const stderr = openSync(path, 'a');
    const begin = `const log = (await import('${log}')).createLogger({ level: 'info', format: 'json' });`;
    try {
      return spawnSync(process.execPath, ['--input-type=module', '-e', begin + script, ...args], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', stderr],
      });
    } finally {
      closeSync(stderr);
    }
  };

  it('does not throw from the call that logs, and does not end the process', () => {
    const script = `for (let line = 0; line < 20000; line++) log.info({ text: 'x'.repeat(100) }, 'a line');
      console.log('goes on');`;
    const { status, stdout } = run(script, '/dev/full');
    expect([status, stdout]).toEqual([0, 'goes on\n']);
  });

  const refusal = smallDiskRefusal('tmpfs');
  it.skipIf(refusal !== null)('has the lines that waited once there is room', () => {
    const disk = smallDisk('tmpfs', 1);
    try {
      const file = join(disk.path, 'log');
      const script = `const fs = await import('node:fs');
        const [folder] = process.argv.slice(1);
        log.info('before');
        try { for (;;) fs.appendFileSync(folder + '/filling', Buffer.alloc(4096)); } catch {}
        for (let line = 0; line < 100; line++) log.info({ text: 'x'.repeat(100) }, 'while full');
        fs.rmSync(folder + '/filling');
        log.info('after');`;
      expect(run(script, file, disk.path).status).toBe(0);
      const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
      const texts = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
      expect(texts).toEqual(['before', ...Array<string>(100).fill('while full'), 'after']);
    } finally {
      disk.remove();
    }
  });
});

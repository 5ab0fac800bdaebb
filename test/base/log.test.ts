import { describe, expect, it } from 'vitest';
import { redactKeys, textLine } from '../../src/base/log.ts';
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

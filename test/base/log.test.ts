import { expect, it } from 'vitest';
import { redactKeys } from '../../src/base/log.ts';

it.each([
  ['key assay_live_Ab3 of', 'key assay_live_[redacted] of'],
  ['"whsec_kFeGBqzqAbjc/KCijBSKejwyGx2QRDIdb1mcK7X40aI=" leaked', '"whsec_[redacted]" leaked'],
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

import { expect, it } from 'vitest';
import { hostsOnly } from '../../src/base/hosts-only.ts';

it.each([
  ['plain words stay', 'plain words stay'],
  ['at https://user:pass@node.example:8545/v3/KEY?token=T#x failed', 'at https://node.example:8545 failed'],
  ['wss://node.example/KEY, http://a.example/b', 'wss://node.example http://a.example'],
  ['redis://:secret@10.0.0.1:6379/0 is away', 'redis://10.0.0.1:6379 is away'],
  ['"https://u:p@a.example/x"', '"https://a.example"'],
  ['http://[', '[URL]'],
  ['key assay_live_abcDEF123 in a text', 'key assay_live_[redacted] in a text'],
])('shows no path, query or credentials of a URL: %s', (text, expected) => {
  expect(hostsOnly(text)).toBe(expected);
});

it('has an end', () => {
  expect(hostsOnly('x'.repeat(1_000_000))).toHaveLength(1_000);
});

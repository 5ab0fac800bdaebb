import { expect, it } from 'vitest';
import { isUrl } from '../../src/base/url.ts';

it('accepts letters outside ASCII however often it is asked', () => {
  // Node 20 answers wrongly from some thousand calls on, when V8 calls `URL.canParse` directly.
  let refused = 0;
  for (let call = 0; call < 50_000; call++) if (!isUrl('https://münchen.example.org/')) refused++;
  expect(refused).toBe(0);
});

it.each([
  ['https://example.org', undefined, true],
  ['/path', 'https://example.org', true],
  ['/path', undefined, false],
  ['https://', undefined, false],
  ['https://exa mple.org', undefined, false],
  ['', undefined, false],
] as const)('%j with the base %s: %s', (text, base, expected) => {
  expect(isUrl(text, base)).toBe(expected);
});

/** Titles made of texts that others chose, and what a failed response may claim. */
import { expect, it } from 'vitest';
import { ApiError } from '../src/api/errors.ts';
import { titleText } from '../src/pages/case/title.ts';

it('a title has no control characters and no halves of characters, and keeps one end of a long text', () => {
  expect(titleText('a\nb\u2028c')).toBe('abc');
  expect(titleText(`${'a'.repeat(199)}\u{1F600}b`)).toBe('a'.repeat(199));
  expect(titleText(`a\u{1F600}${'b'.repeat(199)}`, 'end')).toBe('b'.repeat(199));
});

it('only a response of the server itself says that nothing was charged', async () => {
  const own = await ApiError.of(
    new Response('{}', { status: 503, headers: { 'x-error-code': 'UNAVAILABLE' } }),
  );
  const proxy = await ApiError.of(new Response('<html>', { status: 502 }));
  expect([own, proxy, ApiError.offline(null)].map(({ isOfServer }) => isOfServer)).toEqual([
    true,
    false,
    false,
  ]);
});

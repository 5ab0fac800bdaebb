/** The small parts of the front end, each alone. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { outlineBody, parseJson } from '../../src/http/pipeline/json-body.ts';
import { decodeParameter, queryValue } from '../../src/http/pipeline/query.ts';
import { createClientOrigin } from '../../src/http/server/client-origin.ts';
import type { Exchange } from '../../src/http/server/port.ts';
import { createRouter } from '../../src/http/server/router.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('outlineBody', () => {
  it('returns the fields and the number of elements of any JSON object', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string(),
          fc.oneof(fc.array(fc.jsonValue({ maxDepth: 3 })), fc.jsonValue({ maxDepth: 3 })),
        ),
        fc.boolean(),
        (value, spaced) => {
          const text = JSON.stringify(value, null, spaced ? 2 : 0);
          const parsed = JSON.parse(text) as Record<string, unknown>;
          const outline = outlineBody(bytes(text));
          expect([...outline.fields].sort()).toEqual(Object.keys(parsed).sort());
          const elements = Object.values(parsed).reduce<number>(
            (sum, field) => sum + (Array.isArray(field) ? field.length : 0),
            0,
          );
          expect(outline.elements).toBe(elements);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('throws only typed errors for random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        for (const step of [outlineBody, parseJson]) {
          try {
            step(noise);
          } catch (error) {
            expect(error).toMatchObject({ name: 'AssayError', code: 'INVALID_JSON' });
          }
        }
      }),
    );
  });

  it('ignores brackets inside strings when it counts the depth', () => {
    expect(() => outlineBody(bytes(`{"a":"${'['.repeat(100)}"}`))).not.toThrow();
    expect(() => outlineBody(bytes(`${'{"a":'.repeat(16)}1${'}'.repeat(16)}`))).not.toThrow();
    expect(() => outlineBody(bytes(`${'{"a":'.repeat(17)}1${'}'.repeat(17)}`))).toThrow(
      /nested more than 16 levels/,
    );
  });
});

describe('the router', () => {
  const router = createRouter([
    { method: 'GET', pattern: '/a/{x}', value: 'parameter' },
    { method: 'GET', pattern: '/a/b', value: 'literal' },
    { method: 'POST', pattern: '/a/b', value: 'post' },
    { method: 'GET', pattern: '/a/{x}/c/{y}', value: 'two' },
  ]);
  it.each([
    ['GET', '/a/b', 'literal', []],
    ['POST', '/a/b', 'post', []],
    ['GET', '/a/z', 'parameter', ['z']],
    ['GET', '/a/1/c/2', 'two', ['1', '2']],
    ['POST', '/a/z', null, ['z']],
    ['GET', '/a/', null, []],
    ['GET', '/a', null, []],
    ['GET', '', null, []],
    ['GET', 'a/b', null, []],
    ['GET', '/a/1/c/2/', null, ['1', '2']],
  ])('%s %s', (method, path, value, expected) => {
    const params: string[] = [];
    expect(router.match(method, path, params)).toBe(value);
    expect(params).toEqual(expected);
  });

  it('matches a path in the same way, whatever was matched before', () => {
    const entries = ['/a/{x}', '/a/b', '/b/{x}', '/a/b/c/{x}', '/a/{x}/c/{y}', '/{x}/b/c', '/a/c/d'].map(
      (pattern) => ({ method: 'GET', pattern, value: pattern }),
    );
    const used = createRouter(entries);
    const matched = (router: typeof used, path: string): unknown => {
      const params: string[] = [];
      return [router.match('GET', path, params), params];
    };
    const segment = fc.constantFrom('a', 'b', 'c', 'd', 'ab', '');
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 5 }), (segments) => {
        const path = `/${segments.join('/')}`;
        expect(matched(used, path)).toEqual(matched(createRouter(entries), path));
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('parameters', () => {
  it('are decoded once and limited in length', () => {
    expect(decodeParameter('a%2Fb%20%C3%A9', 'x')).toBe('a/b é');
    expect(() => decodeParameter('%C3', 'x')).toThrow(/^x: the percent-encoding is invalid/);
    expect(() => decodeParameter('a'.repeat(513), 'x')).toThrow(/at most 512/);
  });
  it('are found by their full name', () => {
    expect(queryValue('xaddress=1&address=a%20b+c', 'address')).toBe('a b c');
    expect(queryValue('address', 'address')).toBe('');
    expect(queryValue('', 'address')).toBeUndefined();
    expect(() => queryValue('a=1&a=2', 'a')).toThrow(/only once/);
  });

  it('finds the same value as a split of the query, in any query', () => {
    const bySplit = (query: string, name: string): string | undefined => {
      const values = query
        .split('&')
        .map((pair) => [...pair.split('='), ''] as const)
        .filter(([key]) => key === name);
      if (values.length > 1) throw new Error(`${name}: must be given only once.`);
      return values[0]?.[1];
    };
    const outcome = (read: () => string | undefined): string | undefined => {
      try {
        return read();
      } catch (error) {
        return (error as Error).message;
      }
    };
    const part = fc.constantFrom('', 'a', 'b', 'ab', 'aa');
    const pair = fc.oneof(
      part,
      fc.tuple(part, part).map(([name, value]) => `${name}=${value}`),
    );
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 4 }), fc.constantFrom('a', 'ab'), (pairs, name) => {
        const query = pairs.join('&');
        expect(outcome(() => queryValue(query, name))).toBe(outcome(() => bySplit(query, name)));
      }),
    );
  });
});

describe('the client origin', () => {
  const from = (remote: string, headers: Readonly<Record<string, string>>): Exchange =>
    ({ remoteAddress: () => remote, header: (name: string) => headers[name] ?? '' }) as unknown as Exchange;
  const origin = createClientOrigin({ trustedProxies: ['10.0.0.0/8', '::1'], tls: false });

  it('is read from headers only if a trusted proxy wrote them', () => {
    const claim = { 'x-forwarded-for': '1.2.3.4', 'x-forwarded-proto': 'https' };
    expect(origin.address(from('9.9.9.9', claim))).toBe('9.9.9.9');
    expect(origin.isSecure(from('9.9.9.9', claim))).toBe(false);
    expect(origin.address(from('10.1.1.1', claim))).toBe('1.2.3.4');
    expect(origin.isSecure(from('10.1.1.1', claim))).toBe(true);
    expect(origin.address(from('::1', claim))).toBe('1.2.3.4');
  });
  it('is the nearest address that is not a proxy', () => {
    const forwarded = (value: string): Exchange => from('10.1.1.1', { 'x-forwarded-for': value });
    expect(origin.address(forwarded('6.6.6.6, 1.2.3.4, 10.2.2.2'))).toBe('1.2.3.4');
    expect(origin.address(forwarded('junk'))).toBe('10.1.1.1');
    expect(origin.address(forwarded(''))).toBe('10.1.1.1');
  });
  it.each([
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::FFFF:1.2.3.4, ::ffff:10.2.2.2', '1.2.3.4'],
    ['1.2.3.4:51234', '1.2.3.4'],
    ['[2001:db8::7]:51234', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['[::ffff:1.2.3.4]:443', '1.2.3.4'],
    ['2001:db8::7', '2001:db8::7'],
    ['1.2.3.4:', '10.1.1.1'],
    ['[1.2.3.4', '10.1.1.1'],
    ['1.2.3.4:80:80', '10.1.1.1'],
  ])('is the address of %s', (value, address) => {
    expect(origin.address(from('10.1.1.1', { 'x-forwarded-for': value }))).toBe(address);
  });
});

/** The bounds of requests: at exactly a limit and one beyond it, each half of a condition, and each status from 500 on. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ACCOUNT_LIMITS } from '../../src/accounts/limits.ts';
import type { PooledJson } from '../../src/base/buffer-pool.ts';
import { AssayError, ERRORS, type ErrorCode, type ErrorKind } from '../../src/base/errors.ts';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import { CHAIN_LIMITS } from '../../src/chains/limits.ts';
import { docsPage } from '../../src/http/docs-page.ts';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import type { Operation, Services } from '../../src/http/operation.ts';
import { alertStream } from '../../src/http/operations/alert-stream.ts';
import { createKey } from '../../src/http/operations/create-key.ts';
import { exchangeStatus } from '../../src/http/operations/exchange-status.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import { labels } from '../../src/http/operations/labels.ts';
import { listAlerts } from '../../src/http/operations/list-alerts.ts';
import { listKeys } from '../../src/http/operations/list-keys.ts';
import { listWallets } from '../../src/http/operations/list-wallets.ts';
import { ready as readyOperation } from '../../src/http/operations/ready.ts';
import { revokeKey } from '../../src/http/operations/revoke-key.ts';
import { screenBulk } from '../../src/http/operations/screen-bulk.ts';
import { stripeEvent } from '../../src/http/operations/stripe-event.ts';
import { toggleKey } from '../../src/http/operations/toggle-key.ts';
import { trace } from '../../src/http/operations/trace.ts';
import { walletTransactions } from '../../src/http/operations/wallet-transactions.ts';
import { headerReader, pathReader, queryReader } from '../../src/http/parameters.ts';
import { Call, callerOf } from '../../src/http/pipeline/call.ts';
import { referenceOf } from '../../src/http/pipeline/charging.ts';
import { renderError } from '../../src/http/pipeline/errors.ts';
import { compileBody, outlineBody, parseJson, unknownFields } from '../../src/http/pipeline/json-body.ts';
import { createPrincipalAuthenticator, sessionCookie } from '../../src/http/pipeline/principal.ts';
import { decodeParameter, queryList, queryValue } from '../../src/http/pipeline/query.ts';
import { createRequestIds } from '../../src/http/pipeline/request-id.ts';
import type { Page, Work } from '../../src/http/pipeline/work.ts';
import { createClientOrigin } from '../../src/http/server/client-origin.ts';
import { openFileParts } from '../../src/http/server/file-parts.ts';
import { BodyIntake } from '../../src/http/server/intake.ts';
import type { Exchange } from '../../src/http/server/port.ts';
import { mayAnswerRange, rangeOf } from '../../src/http/server/ranges.ts';
import { createRouter } from '../../src/http/server/router.ts';
import { receiveUpload, type Upload } from '../../src/http/server/uploads.ts';
import { SCREENING_LIMITS } from '../../src/screening/limits.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { sleep } from '../support/wait.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe('renderError', () => {
  it.each(Object.keys(ERRORS) as ErrorCode[])(
    '%s shows its message only if it is an error of the client',
    (code) => {
      const error = new AssayError(code, 'What was wrong.', { field: 'f', retryAfterSeconds: 7 });
      const { status, lines, body } = renderError(error, 'application/problem+json', 'r');
      const problem = JSON.parse(body) as Record<string, unknown>;
      const { scope, isShown }: ErrorKind = ERRORS[code];
      const isServer = (error.status >= 500 && isShown !== true) || scope === 'server';
      expect(status).toBe(isServer ? 500 : error.status);
      expect(problem.code).toBe(isServer && code !== 'STORAGE_FULL' ? 'INTERNAL' : code);
      expect(problem.type).toBe(`urn:assay:error:${String(problem.code)}`);
      expect(lines).toContain(`X-Error-Code: ${problem.code}`);
      expect(lines).toContain('Retry-After: 7');
      expect(lines.includes('WWW-Authenticate: Bearer')).toBe(status === 401);
      expect(problem).toMatchObject({ status, instance: 'urn:assay:request:r' });
      expect(problem.field).toBe(isServer ? undefined : 'f');
      if (code === 'STORAGE_FULL') expect(problem.detail).toContain('cannot write to its storage');
      else if (code === 'NOT_READY') expect(problem.detail).toContain('is not ready');
      else expect(problem.detail).toBe(isServer ? 'Internal server error.' : 'What was wrong.');
    },
  );

  it('hides the text of an unexpected error', () => {
    expect(renderError(new Error('secret'), '', 'r')).toEqual({
      status: 500,
      contentType: 'application/json',
      lines: '\r\nX-Error-Code: INTERNAL',
      body: '{"error":"Internal server error."}',
    });
    expect(() => callerOf(new Call({} as Exchange, 'r', 0))).toThrow('requires a key or a session');
  });
});

describe('request ids', () => {
  it('keeps the client’s id if it is valid and short enough', () => {
    const idOf = createRequestIds({ bytes: (count: number) => new Uint8Array(count) } as never);
    const longest = 'x'.repeat(HTTP_LIMITS.requestIdTextMax);
    expect([idOf(longest), idOf('a.b_c:d-9')]).toEqual([longest, 'a.b_c:d-9']);
    expect([idOf(''), idOf(`${longest}x`), idOf('a b')]).toEqual(
      ['0', '1', '2'].map((count) => `${'00'.repeat(8)}-${count}`),
    );
  });

  it('counts in base 36', () => {
    const idOf = createRequestIds({ bytes: (count: number) => new Uint8Array(count) } as never);
    const counts = Array.from({ length: 100_000 }, (_, count) => count);
    expect(counts.every((count) => idOf('') === `${'00'.repeat(8)}-${count.toString(36)}`)).toBe(true);
  });
});

describe('rangeOf', () => {
  it('includes the first and the last byte, and returns no range after the end', () => {
    expect([
      rangeOf('bytes=0-0', 10),
      rangeOf('bytes=0-9', 10),
      rangeOf('bytes=3-99', 10),
      rangeOf('BYTES = 9-', 10),
    ]).toEqual([
      { start: 0, end: 1 },
      { start: 0, end: 10 },
      { start: 3, end: 10 },
      { start: 9, end: 10 },
    ]);
    expect([rangeOf('bytes=-3', 10), rangeOf('bytes=-99', 10)]).toEqual([
      { start: 7, end: 10 },
      { start: 0, end: 10 },
    ]);
    expect([
      rangeOf('bytes=10-', 10),
      rangeOf('bytes=-0', 10),
      rangeOf('bytes=0-', 0),
      rangeOf('bytes=-1', 0),
    ]).toEqual(Array(4).fill('none'));
    expect([
      rangeOf('', 10),
      rangeOf('bytes=-', 10),
      rangeOf('bytes=3-2', 10),
      rangeOf('bytes=0-1,3-4', 10),
      rangeOf('lines=0-1', 10),
      rangeOf('bytes=11-10', 10),
    ]).toEqual(Array(6).fill('whole'));
    expect(rangeOf('bytes=3-3', 10)).toEqual({ start: 3, end: 4 });
    expect([mayAnswerRange('', 'e'), mayAnswerRange(' e ', 'e'), mayAnswerRange('f', 'e')]).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe('the request origin', () => {
  const exchange = (
    peer: string,
    headers: Record<string, string> = {},
    method = 'POST',
    params: string[] = [],
  ) =>
    ({
      remoteAddress: () => peer,
      header: (name: string) => headers[name] ?? '',
      method,
      params,
    }) as unknown as Exchange;
  const origin = createClientOrigin({ trustedProxies: ['10.0.0.0/8', '::1'], tls: false });
  const address = (peer: string, forwarded = '') =>
    origin.address(exchange(peer, { 'x-forwarded-for': forwarded }));

  it('uses the nearest address that is not a trusted proxy', () => {
    expect(address('192.0.2.1', '198.51.100.1')).toBe('192.0.2.1');
    expect(address('10.0.0.1', '198.51.100.1')).toBe('198.51.100.1');
    expect(address('10.0.0.1', '203.0.113.9, 198.51.100.1, 10.0.0.2')).toBe('198.51.100.1');
    expect([address('10.0.0.1'), address('10.0.0.1', 'x'), address('10.0.0.1', '198.51.100.1, x')]).toEqual(
      Array(3).fill('10.0.0.1'),
    );
    expect([address('::1', '2001:db8::1'), address('::2', '2001:db8::1'), address('')]).toEqual([
      '2001:db8::1',
      '::2',
      '',
    ]);
    expect(address('10.0.0.1', '10.0.0.3')).toBe('10.0.0.3');
  });

  it('is secure over TLS, or if a trusted proxy reports it', () => {
    const https = { 'x-forwarded-proto': 'https' };
    expect([
      origin.isSecure(exchange('10.0.0.1', https)),
      origin.isSecure(exchange('192.0.2.1', https)),
      origin.isSecure(exchange('10.0.0.1')),
    ]).toEqual([true, false, false]);
    expect(createClientOrigin({ trustedProxies: [], tls: true }).isSecure(exchange('192.0.2.1'))).toBe(true);
  });

  const session = { account: { id: 'acc_1' }, person: { id: 'acc_1' } };
  const visits = createPrincipalAuthenticator({
    people: () => ({ session: (token: string) => (token === 'good' ? session : null) }) as never,
    origin,
    publicHost: 'Public.example',
  });
  const key = { id: 'key_1', accountId: 'acc_2' } as never;
  const visit = (visitor: string, headers: Record<string, string>, method = 'POST', peer = '192.0.2.1') => {
    try {
      const sent = exchange(peer, headers, method);
      const route = { principal: visitor, permission: null, takesApiKeyHeader: false } as never;
      const principal = visits.authenticate(sent, route, () => key);
      visits.requireOwnOrigin(sent, route, principal);
      return principal;
    } catch (error) {
      return (error as AssayError).code;
    }
  };
  const cookie = { cookie: 'a=b; assay_session=good', host: 'own.example' };

  it('requires a session and the same origin to change data', () => {
    expect(visit('session', { ...cookie, origin: 'http://OWN.example' })).toMatchObject({
      accountId: 'acc_1',
      token: 'good',
      key: null,
      actor: { who: 'acc_1', from: '192.0.2.1' },
    });
    expect(visit('session', { ...cookie, origin: 'http://public.example' })).toMatchObject({
      accountId: 'acc_1',
    });
    expect([
      visit('session', cookie),
      visit('session', { ...cookie, origin: 'null' }),
      visit('session', { ...cookie, origin: 'http://other.example' }),
    ]).toEqual(Array(3).fill('FORBIDDEN'));
    expect(visit('session', cookie, 'GET')).toMatchObject({ accountId: 'acc_1' });
    expect([
      visit('session', { cookie: 'assay_session=bad' }),
      visit('session', {}),
      visit('session', { cookie: 'other=good' }),
    ]).toEqual(Array(3).fill('UNAUTHENTICATED'));
    const proxied = { ...cookie, 'x-forwarded-proto': 'https', origin: 'https://own.example' };
    // Over TLS, another host of the same site could have set the plain name.
    expect(visit('session', proxied, 'POST', '10.0.0.1')).toBe('UNAUTHENTICATED');
    expect(visit('session', { ...cookie, cookie: '__Host-assay_session=good' })).toBe('UNAUTHENTICATED');
    const behind = { ...proxied, cookie: 'assay_session=bad; __Host-assay_session=good' };
    expect(visit('session', { ...behind, origin: 'http://own.example' }, 'POST', '10.0.0.1')).toBe(
      'FORBIDDEN',
    );
    expect(visit('session', { ...behind, origin: 'https://own.example' }, 'POST', '10.0.0.1')).toMatchObject({
      isSecure: true,
    });
  });

  it('accepts a key, or no key if the route allows it', () => {
    const authorized = { authorization: 'Bearer x' };
    expect(visit('session or key', authorized)).toMatchObject({
      accountId: 'acc_2',
      actor: { who: 'key_1' },
      session: null,
    });
    expect(visit('session', authorized)).toBe('UNAUTHENTICATED');
    expect(visit('session or key', { ...cookie, origin: 'http://own.example' })).toMatchObject({
      accountId: 'acc_1',
    });
    for (const visitor of ['anyone', 'signature']) {
      expect(visit(visitor, {})).toMatchObject({ accountId: null, actor: { who: 'anyone' }, token: '' });
      expect(visit(visitor, { origin: 'http://other.example', host: 'own.example' })).toBe('FORBIDDEN');
      expect(visit(visitor, cookie)).toMatchObject({ session: null });
    }
  });

  it('sets a cookie with the lifetime of the session, and expires an empty one at once', () => {
    expect(sessionCookie('t', true)).toContain(
      `\r\nSet-Cookie: __Host-assay_session=t; Path=/; Max-Age=${ACCOUNT_LIMITS.sessionMs / 1000}; HttpOnly; SameSite=Strict; Secure`,
    );
    expect(sessionCookie('', false)).toMatch(
      /^\r\nSet-Cookie: assay_session=; Path=\/; Max-Age=0; HttpOnly; SameSite=Strict$/,
    );
  });
});

describe('query parsing', () => {
  const withQuery = (query: string) => ({ query: () => query }) as Exchange;
  it('returns each value once, decoded and limited in length', () => {
    expect(queryValue('', 'a')).toBeUndefined();
    expect([
      queryValue('a=1&b=x+y%21', 'b'),
      queryValue('ab=1&a', 'a'),
      queryValue('ab=1', 'a'),
      queryValue('a=b=c', 'a'),
    ]).toEqual(['x y!', '', undefined, 'b=c']);
    expect(() => queryValue('a=1&a=2', 'a')).toThrow('only once');
    expect(() => decodeParameter('%zz', 'f')).toThrow('percent-encoding');
    expect(decodeParameter('x'.repeat(CHAIN_LIMITS.addressTextMax), 'f')).toHaveLength(
      CHAIN_LIMITS.addressTextMax,
    );
    expect(() => decodeParameter('x'.repeat(CHAIN_LIMITS.addressTextMax + 1), 'f')).toThrow('at most');
    const required = (query: string) => queryReader({ a: Type.String() })(withQuery(query)).a;
    expect(() => required('a=')).toThrow('a is required');
    expect(() => required('b=1')).toThrow('a is required');
    expect(required('a=1')).toBe('1');
  });

  it('parses whole numbers from the minimum to the maximum', () => {
    const reader = queryReader({ n: Type.Integer({ minimum: 1, maximum: 10, default: 5 }) });
    const read = (query: string) => reader(withQuery(query)).n;
    expect([read(''), read('n=1'), read('n=10')]).toEqual([5, 1, 10]);
    for (const text of ['0', '11', '1.5', '-1', '', '1e1', '+1'])
      expect(() => read(`n=${text}`), text).toThrow('n: must be a whole number from 1 to 10.');
    const open = queryReader({ n: Type.Integer({ minimum: 0 }) });
    expect(() => open(withQuery('n=1234567890123456'))).toThrow('whole number');
  });

  it('parses words, flags and lists by their schemas', () => {
    const reader = queryReader({
      word: Type.Optional(Type.Enum(['a', 'b'])),
      flag: Type.Boolean({ default: false }),
      list: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 2 })),
    });
    const read = (query: string) => reader(withQuery(query));
    expect(read('')).toEqual({ flag: false });
    expect(read('word=b&flag=true&list=x%2C%20y')).toEqual({ word: 'b', flag: true, list: ['x', 'y'] });
    expect(() => read('word=c')).toThrow('word: must be one of a, b.');
    expect(() => read('flag=1')).toThrow('flag: must be one of true, false.');
    expect(() => read('list=x,y,z')).toThrow('list: must have at most 2 items.');
    expect(queryList('list=', 'list')).toEqual(['']);
    expect(queryList('lists=a', 'list')).toBeUndefined();
  });

  it('reads path parameters and headers by their names', () => {
    const path = pathReader('/a/{b}/{c}', { c: Type.String(), b: Type.String({ maxLength: 2 }) });
    expect(path({ params: ['x%21', 'y'] } as unknown as Exchange)).toEqual({ b: 'x!', c: 'y' });
    expect(() => path({ params: ['xyz', 'y'] } as unknown as Exchange)).toThrow('b: must have at most 2');
    expect(() => pathReader('/a/{b}', {})).toThrow('differ');
    const header = headerReader({ 'If-Match': Type.Optional(Type.String()) });
    const withTag = (tag: string) =>
      header({ header: (name: string) => (name === 'if-match' ? tag : '') } as Exchange);
    expect([withTag('x'), withTag('')]).toEqual([{ 'If-Match': 'x' }, {}]);
  });
});

describe('a route', () => {
  const router = createRouter([
    { method: 'GET', pattern: '/a/{id}', value: 'one' },
    { method: 'GET', pattern: '/a/fixed', value: 'fixed' },
    { method: 'POST', pattern: '/a/{id}/b', value: 'below' },
    { method: 'GET', pattern: '/ab', value: 'ab' },
  ]);
  const match = (method: string, path: string) => {
    const params: string[] = [];
    return [router.match(method, path, params), ...params];
  };

  it('matches whole segments, literals before parameters', () => {
    expect([
      match('GET', '/a/x'),
      match('GET', '/a/fixed'),
      match('POST', '/a/x/b'),
      match('GET', '/ab'),
    ]).toEqual([['one', 'x'], ['fixed'], ['below', 'x'], ['ab']]);
    for (const path of ['a/x', '', '/a/', '/a', '/a/x/', '/a/x/c', '/abc', '/'])
      expect(match('GET', path)[0], path).toBeNull();
    expect(match('POST', '/a/x')[0]).toBeNull();
  });
});

describe('a JSON body', () => {
  it('is outlined by its fields and array elements', () => {
    expect(outlineBody(bytes('{"a": [1, [2, 3], {"c": 4}], "b":[ ], "d" : "x,[{" , "e\\u0041":1}'))).toEqual({
      fields: ['a', 'b', 'd', 'eA'],
      elements: 3,
      hasInnerObject: true,
    });
    expect(outlineBody(bytes('{"a\\"b":1,"c":"\\\\"}'))).toEqual({
      fields: ['a"b', 'c'],
      elements: 0,
      hasInnerObject: false,
    });
    expect(outlineBody(bytes('{"a":{"b":[1,2]}}'))).toEqual({
      fields: ['a'],
      elements: 0,
      hasInnerObject: true,
    });
    const many = Array.from({ length: HTTP_LIMITS.bodyFieldsMax + 5 }, (_, at) => `"f${at}":1`).join(',');
    expect(outlineBody(bytes(`{${many}}`)).fields).toHaveLength(HTTP_LIMITS.bodyFieldsMax + 1);
  });

  it('is accepted up to the maximum depth', () => {
    const nested = (depth: number) => bytes('['.repeat(depth) + ']'.repeat(depth));
    outlineBody(nested(HTTP_LIMITS.jsonDepthMax));
    expect(() => outlineBody(nested(HTTP_LIMITS.jsonDepthMax + 1))).toThrow('nested more than');
    expect(() => outlineBody(bytes(''))).toThrow('is empty');
    expect(() => outlineBody(Buffer.from([0x22, 0xff, 0x22]))).toThrow('UTF-8');
    expect(() => parseJson(bytes('{"a" 1}'))).toThrow(/not valid JSON \(at character 5\)/);
    expect(() => parseJson(bytes('{'))).toThrow('not valid JSON');
  });

  it('is accepted up to the maximum number of fields and elements', () => {
    const row = (count: number) => bytes(`[${'1,'.repeat(count - 1)}",[{"]`);
    outlineBody(row(HTTP_LIMITS.jsonValuesMax));
    expect(() => outlineBody(row(HTTP_LIMITS.jsonValuesMax + 1))).toThrow(
      `more than ${HTTP_LIMITS.jsonValuesMax} fields and elements`,
    );
    outlineBody(bytes('{"a":{},"b":[[1]]}'), 5);
    expect(() => outlineBody(bytes('{"a":{},"b":[[1]]}'), 4)).toThrow('more than 4 fields and elements');
  });

  it('is rejected for an array that is too long without a look at its elements', () => {
    const Items = Type.Array(
      Type.Object({ x: Type.String(), y: Type.Optional(Type.Array(Type.String(), { maxItems: 1 })) }),
      {
        maxItems: 2,
      },
    );
    const check = compileBody(
      Type.Object({ l: Type.Union([Items, Type.Null()]), o: Type.Optional(Type.Object({ l: Items })) }),
    );
    let looks = 0;
    const item = {
      get x() {
        looks++;
        return 1;
      },
    };
    const l = Array.from({ length: 1_000 }, () => item);
    expect(() => check({ l })).toThrow('l: must have at most 2 items.');
    expect(looks).toBeLessThan(10);
    expect(() => check({ l: null, o: { l: [...l] } })).toThrow('o.l: must have at most 2 items.');
    expect(() => check({ l: [{ x: '' }, { x: '', y: ['', ''] }] })).toThrow(
      'l[1].y: must have at most 1 items.',
    );
    expect(looks).toBeLessThan(20);
  });

  it('is rejected with an error that names the field and the rule', () => {
    const schema = Type.Object({
      a: Type.String({ minLength: 2, maxLength: 3 }),
      n: Type.Optional(Type.Integer({ minimum: 1, maximum: 5 })),
      l: Type.Optional(Type.Array(Type.Object({ x: Type.String() }), { minItems: 1, maxItems: 2 })),
      p: Type.Optional(Type.String({ pattern: '^p$', description: 'the letter p' })),
    });
    const check = compileBody(schema);
    const fault = (value: unknown) => {
      try {
        check(value);
        return null;
      } catch (error) {
        return `${(error as AssayError).field} | ${(error as Error).message}`;
      }
    };
    for (const value of [
      { a: 'ab' },
      { a: 'abc', n: 1 },
      { a: 'ab', n: 5, l: [{ x: '' }, { x: '' }], p: 'p' },
    ])
      expect(fault(value)).toBeNull();
    expect(fault({})).toBe('a | a is required.');
    expect(fault({ a: 'a' })).toBe('a | a: must have at least 2 characters.');
    expect(fault({ a: 'abcd' })).toBe('a | a: must have at most 3 characters.');
    expect(fault({ a: 'ab', n: 0 })).toBe('n | n: must be at least 1.');
    expect(fault({ a: 'ab', n: 6 })).toBe('n | n: must be at most 5.');
    expect(fault({ a: 'ab', n: 'x' })).toBe('n | n: must be an integer.');
    expect(fault({ a: 'ab', l: [] })).toBe('l | l: must not be empty.');
    expect(fault({ a: 'ab', l: [{ x: '' }, {}] })).toBe('l[1].x | l[1].x is required.');
    expect(fault({ a: 'ab', p: 'q' })).toBe('p | p: must be the letter p.');
    expect(fault([])).toBe('body | The request body must be an object.');
  });

  it('has each unknown field listed once, shortened', () => {
    expect(unknownFields(['a', 'x', 'x', 'y'.repeat(65)], new Set(['a']))).toEqual(['x', 'y'.repeat(64)]);
    expect(
      unknownFields(
        Array.from({ length: 100 }, (_, at) => `f${at}`),
        new Set(),
      ),
    ).toHaveLength(HTTP_LIMITS.bodyFieldsMax);
    expect(referenceOf({ path: '/x/y' }, ['A', '', 'ETH'])).toBe('x/y A ETH');
    expect(referenceOf({ path: '/x' }, [])).toBe('x');
  });
});

describe('file parts', () => {
  const read = async (parts: { path: string; start: number; end: number }[], piece?: number) => {
    const source = await openFileParts(parts, piece);
    let text = '';
    for (let left = source.length; left > 0; ) {
      const next = await source.next();
      text += Buffer.from(next).toString();
      left -= next.length;
    }
    await expect(source.next()).rejects.toThrow('past its end');
    await source.close();
    return text;
  };

  it('are read in order, in pieces of any size, and not past the end of a file', async () => {
    const folder = tempFolder();
    const [a, b] = [join(folder.path, 'a'), join(folder.path, 'b')];
    writeFileSync(a, '0123456789');
    writeFileSync(b, 'abcdef');
    const parts = [
      { path: a, start: 2, end: 6 },
      { path: a, start: 6, end: 6 },
      { path: b, start: 0, end: 6 },
    ];
    for (const piece of [1, 3, 4, 10, 100]) expect(await read(parts, piece)).toBe('2345abcdef');
    expect(await read([])).toBe('');
    await expect(read([{ path: b, start: 0, end: 7 }], 100)).rejects.toThrow('truncated at byte 6');
    folder.remove();
  });
});

describe('BodyIntake', () => {
  const intakeOf = (
    bytesMax: number,
    pace = { silenceMs: 60_000, graceMs: 60_000, bytesPerSecondMin: 1 },
  ) => {
    const events: string[] = [];
    let writing = Promise.resolve();
    const received: string[] = [];
    const socket = {
      pause: () => events.push('pause'),
      resume: () => events.push('resume'),
      wait: () => events.push('wait'),
      cut: () => events.push('cut'),
      abandon: () => events.push('abandon'),
    } as never;
    const receiver = {
      write: (piece: Uint8Array) => {
        received.push(Buffer.from(piece).toString());
        return writing;
      },
      end: (how: string) => events.push(how),
    } as never;
    const intake = new BodyIntake({ bytesMax, pace }, receiver, socket);
    return { intake, events, received, block: (promise: Promise<void>) => (writing = promise) };
  };
  const turn = () => sleep(5);

  it('accepts exactly the maximum number of bytes', async () => {
    const fits = intakeOf(4);
    fits.intake.offer(bytes('ab'), false);
    await turn();
    fits.intake.offer(bytes('cd'), true);
    await turn();
    expect([fits.received, fits.events]).toEqual([
      ['ab', 'cd'],
      ['pause', 'resume', 'whole'],
    ]);
    const large = intakeOf(4);
    large.intake.offer(bytes('abcde'), true);
    large.intake.offer(bytes('f'), true);
    expect([large.received, large.events]).toEqual([[], ['abandon', 'too large']]);
    const empty = intakeOf(4);
    empty.intake.offer(bytes(''), false);
    empty.intake.offer(bytes(''), true);
    empty.intake.offer(bytes('x'), true);
    expect([empty.received, empty.events]).toEqual([[], ['whole']]);
  });

  it('refuses very many small chunks, and accepts as many lines', async () => {
    const offer = (text: string) => {
      const { intake, events } = intakeOf(10_000_000);
      for (let n = 0; n <= HTTP_LIMITS.bodyChunksMax; n++) intake.offer(bytes(text), false);
      return events;
    };
    expect(offer('a'.repeat(HTTP_LIMITS.uploadChunkBytesMin - 1))).toContain('abandon');
    expect(offer('a'.repeat(HTTP_LIMITS.uploadChunkBytesMin))).not.toContain('abandon');
    const one = intakeOf(10_000_000);
    for (let n = 0; n <= HTTP_LIMITS.bodyChunksMax; n++) one.intake.offer(bytes('a'), false);
    await turn();
    expect(one.events.at(-1)).toBe('in small chunks');
  });

  it('keeps what was offered while the caller and the receiver reuse their memory', async () => {
    const body = Buffer.from(Array.from({ length: 5_000 }, (_, at) => `line ${at * 7}`).join(','));
    const chunk = Buffer.alloc(600);
    const received: string[] = [];
    const socket = { pause() {}, resume() {}, wait() {}, cut() {}, abandon() {} };
    const ended = new Promise<string>((end) => {
      const write = async (piece: Uint8Array) => {
        await turn();
        received.push(Buffer.from(piece).toString());
        piece.fill(0);
      };
      const pace = { silenceMs: 60_000, graceMs: 60_000, bytesPerSecondMin: 1 };
      const intake = new BodyIntake({ bytesMax: body.length, pace }, { write, end }, socket);
      void (async () => {
        for (let at = 0, size = 1; at < body.length; at += size, size = 1 + ((size * 13) % 600)) {
          const piece = chunk.subarray(0, body.copy(chunk, 0, at, at + size));
          intake.offer(piece, at + size >= body.length);
          piece.fill(0);
          if (at % 3 === 0) await turn();
        }
      })();
    });
    expect(await ended).toBe('whole');
    expect(received.length).toBeGreaterThan(3);
    expect(received.join('')).toBe(body.toString());
  });

  it('joins pieces that arrive during a write, and ends when the client disconnects', async () => {
    const { intake, events, received, block } = intakeOf(100);
    let finish = () => {};
    block(new Promise((resolve) => (finish = resolve)));
    for (const text of ['a', 'b', 'c']) intake.offer(bytes(text), false);
    await turn();
    expect(received).toEqual(['a']);
    finish();
    await turn();
    expect(received).toEqual(['a', 'bc']);
    intake.gone();
    intake.gone();
    intake.offer(bytes('d'), true);
    await turn();
    expect([received, events]).toEqual([
      ['a', 'bc'],
      ['pause', 'resume', 'gone'],
    ]);
    const failing = intakeOf(100);
    failing.block(Promise.reject(new Error('no')));
    failing.intake.offer(bytes('a'), false);
    await turn();
    expect(failing.events).toEqual(['pause', 'cut']);
    failing.intake.answered();
    failing.intake.answered();
    expect(failing.events).toEqual(['pause', 'cut', 'abandon']);
  });

  it('rejects a silent client, and a slow one after the grace period', async () => {
    const silent = intakeOf(100, { silenceMs: 60, graceMs: 60_000, bytesPerSecondMin: 1 });
    await expect.poll(() => silent.events.at(-1)).toBe('silent');
    expect(silent.events.filter((word) => word === 'wait')).toHaveLength(11);
    expect(silent.events.at(-2)).toBe('abandon');
    const slow = intakeOf(10_000, { silenceMs: 120, graceMs: 15, bytesPerSecondMin: 1_000_000 });
    await expect.poll(() => slow.events.at(-1)).toBe('too slow');
    expect(slow.events.filter((word) => word === 'wait')).toHaveLength(1);
  });
});

describe('an upload', () => {
  const begin = (opened: Promise<Upload>) => {
    const events: string[] = [];
    const note = (word: string) => (value?: unknown) =>
      void events.push(
        value instanceof Error ? `${word} ${(value as AssayError).code ?? value.message}` : word,
      );
    return {
      events,
      receiver: receiveUpload(10, opened, {
        done: note('done'),
        refused: note('refused'),
        gone: note('gone'),
        notCleared: note('notCleared'),
      }),
    };
  };
  const upload = (change: Partial<Upload> = {}): Upload & { aborted: number } => {
    const made = {
      aborted: 0,
      write: () => {},
      end: async () => bytes('answer'),
      abort: async () => void made.aborted++,
      ...change,
    };
    return made;
  };

  it('is answered once if it is complete, and discarded if it is not', async () => {
    const whole = upload();
    const first = begin(Promise.resolve(whole));
    await first.receiver.write(bytes('a'));
    first.receiver.end('whole');
    await sleep(5);
    first.receiver.end('gone');
    expect([first.events, whole.aborted]).toEqual([['done'], 0]);
    for (const [how, expected] of [
      ['too large', 'refused BODY_TOO_LARGE'],
      ['in small chunks', 'refused INVALID_REQUEST'],
      ['silent', 'refused INVALID_REQUEST'],
      ['too slow', 'refused INVALID_REQUEST'],
      ['gone', 'gone'],
    ] as const) {
      const one = upload();
      const { events, receiver } = begin(Promise.resolve(one));
      receiver.end(how);
      receiver.end('whole');
      await sleep(5);
      expect([events, one.aborted]).toEqual([[expected], 1]);
      expect(receiver.write(bytes('late'))).toBeUndefined();
    }
  });

  it('reports the first error of open, write or end, once', async () => {
    const closed = begin(Promise.reject(new AssayError('FORBIDDEN', 'no')));
    await closed.receiver.write(bytes('a'));
    closed.receiver.end('whole');
    await sleep(5);
    expect(closed.events).toEqual(['refused FORBIDDEN']);
    const failing = upload({ write: () => Promise.reject(new AssayError('INVALID_REQUEST', 'line')) });
    const lines = begin(Promise.resolve(failing));
    await sleep(1);
    await lines.receiver.write(bytes('a'));
    await sleep(5);
    expect([lines.events, failing.aborted]).toEqual([['refused INVALID_REQUEST'], 1]);
    const ends = begin(
      Promise.resolve(upload({ end: () => Promise.reject(new AssayError('CREDITS_EXHAUSTED', 'no')) })),
    );
    ends.receiver.end('whole');
    await sleep(5);
    expect(ends.events).toEqual(['refused CREDITS_EXHAUSTED']);
    const stuck = begin(Promise.resolve(upload({ abort: () => Promise.reject(new Error('stuck')) })));
    stuck.receiver.end('gone');
    await sleep(5);
    expect(stuck.events).toEqual(['gone', 'notCleared stuck']);
  });
});

describe('the operations', () => {
  const callWith = ({
    headers = {} as Readonly<Record<string, string>>,
    query = '',
    params = [] as readonly string[],
    visit = {} as object,
  } = {}): Call => {
    const exchange = {
      params,
      query: () => query,
      header: (name: string) => headers[name] ?? '',
      optionalHeader: (name: string) => headers[name] ?? null,
      openStream: () => ({ send: () => true, close: () => {}, onEnd: () => {} }),
    } as unknown as Exchange;
    const call = new Call(exchange, 'id', 0);
    call.caller = { id: 'key_1', accountId: 'acc_1' } as never;
    call.principal = {
      accountId: 'acc_1',
      key: null,
      actor: { who: 'acc_1', from: '127.0.0.1' },
      ...visit,
    } as never;
    return call;
  };
  const workOf = (operation: Operation, services: object): Work =>
    operation.bind(services as Services, (work) => work as unknown as Work);
  const answerOf = (work: Work, call: Call, body: unknown = null): Promise<unknown> => {
    if (!('answer' in work)) throw new Error('The operation has no asynchronous answer.');
    return Promise.resolve((work.answer as (call: Call, body: unknown) => unknown)(call, body));
  };
  const jsonOf = async (work: Work, call: Call, body: unknown = null) => {
    const result = (await answerOf(work, call, body)) as Uint8Array | PooledJson;
    return JSON.parse(Buffer.from('json' in result ? result.json : result).toString());
  };
  const refusedBy = (work: () => unknown): string => {
    try {
      work();
      return 'nothing';
    } catch (error) {
      return (error as AssayError).field ?? (error as AssayError).code;
    }
  };

  it('charge one unit per address of a bulk request, and refund the addresses without an answer', async () => {
    const given: unknown[] = [];
    const answered = { answered: 2 };
    const work = workOf(screenBulk, {
      useCases: { bulk: async () => answered },
      access: { quota: { give: (...all: unknown[]) => void given.push(all) } },
    });
    if (work.kind !== 'bytes') throw new Error('The operation must read a body.');
    const body = (count: number) =>
      Buffer.from(JSON.stringify({ chain: 'ETH', addresses: Array.from({ length: count }, () => 'x') }));
    const units = (count: number) => work.units(outlineBody(body(count)), body(count));
    expect([units(1), units(SCREENING_LIMITS.bulkAddressesMax)]).toEqual([
      1,
      SCREENING_LIMITS.bulkAddressesMax,
    ]);
    for (const count of [0, SCREENING_LIMITS.bulkAddressesMax + 1])
      expect(refusedBy(() => units(count))).toBe('addresses');
    const call = callWith();
    call.quotaTaken = 3;
    await work.answer(call, body(3));
    expect([given, call.quotaTaken]).toEqual([[['acc_1', 'intel', 1]], 2]);
    await work.answer(call, body(2));
    expect(given).toHaveLength(1);
  });

  it('compare entity tags weakly, including lists of tags', () => {
    const work = workOf(labels, { useCases: { labelSet: () => 7, labelSetVersion: () => 'v1' } });
    if (work.kind !== 'lookup') throw new Error('The operation must be a lookup.');
    const isSame = (tags: string): boolean => work.isCurrent?.(tags) === true;
    expect(['W/"v1"', '"v1"', '"v0", W/"v1"', '*'].map(isSame)).toEqual([true, true, true, true]);
    expect(['', '"v0"', 'v1', '"v1" x'].map(isSame)).toEqual([false, false, false, false]);
  });

  it('write an exchange response that fits exactly', () => {
    const data = bytes('"1234"');
    const work = workOf(exchangeStatus, { useCases: { exchangeStatus: () => data } });
    if (work.kind !== 'lookup') throw new Error('The operation must be a lookup.');
    const out = Buffer.alloc(8);
    const at = (offset: number) => work.write(callWith({ query: 'name=a' }), out, offset, null);
    expect([at(2), out.toString('utf8', 2), at(3)]).toEqual([8, '"1234"', -1]);
    expect(refusedBy(() => work.write(callWith(), out, 0, null))).toBe('name');
  });

  it('report ready for reads while writes are refused, and not ready before startup', async () => {
    const ready = async (data: object, query: string) => {
      const work = workOf(readyOperation, { readiness: () => data });
      const { status, body } = (await answerOf(work, callWith({ query }))) as Page;
      return [status, (JSON.parse(body as string) as { error?: string }).error];
    };
    const storage = (reason: string) => ({ kind: 'STORAGE', reason });
    const degraded = [
      storage('The disk is full.'),
      { kind: 'EMAIL_LINKS', reason: 'No host is known.' },
      storage('So is the other.'),
    ];
    const open = { ready: true, reasons: [] };
    expect(await ready({ ...open, degraded }, '')).toEqual([200, undefined]);
    expect(await ready({ ...open, degraded }, 'for=reads')).toEqual([200, undefined]);
    expect(await ready({ ...open, degraded }, 'for=writes')).toEqual([
      503,
      'Not ready for writes: The disk is full. So is the other.',
    ]);
    expect(await ready(open, 'for=writes')).toEqual([200, undefined]);
    const closed = { ready: false, reasons: ['No labels.', 'EU is stale.'] };
    for (const query of ['', 'for=writes'])
      expect(await ready({ ...closed, degraded }, query)).toEqual([
        503,
        'Not ready: No labels. EU is stale.',
      ]);
    await expect((async () => ready(open, 'for=all'))()).rejects.toMatchObject({ field: 'for' });
  });

  it('charge a trace by its mode, and nothing if nothing is found', async () => {
    const requests: object[] = [];
    const found = { json: bytes('{}'), isKnown: true };
    const work = workOf(trace, {
      useCases: {
        trace: async (request: object) => {
          requests.push(request);
          return found;
        },
      },
    });
    if (work.kind !== 'task') throw new Error('A trace is a task.');
    expect([work.cost?.({}), work.cost?.({ targetAddress: '0x1' })]).toEqual([5, 10]);
    const call = callWith();
    call.credits = 5;
    const request = { chain: 'ETH', address: '0x1' };
    const all = {
      ...request,
      ...{ direction: 'in', hops: 1, targetAddress: '0x2', maxDepth: 1 },
      ...{ timeRespecting: false, crossChain: false },
    };
    await work.answer(call, work.read({ ...all, other: 1 }));
    await work.answer(call, request);
    expect([requests, call.credits]).toEqual([[all, request], 5]);
    found.isKnown = false;
    await work.answer(call, request);
    expect(call.credits).toBe(0);
  });

  it('forward an event only if payments are set up', async () => {
    const work = (payments: unknown) =>
      workOf(stripeEvent, { useCases: { billing: () => ({ payments: () => payments }) } });
    await expect(answerOf(work(null), callWith(), bytes(''))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const received = { receive: async (_body: unknown, signature: string) => ({ signature }) };
    const call = callWith({ headers: { 'stripe-signature': 's' } });
    expect(await jsonOf(work(received), call, bytes(''))).toEqual({ signature: 's' });
  });

  describe('on keys', () => {
    const key = (number: number, status = 'ACTIVE', accountId = 'acc_1') => ({
      id: `key_${number}`,
      accountId,
      status,
      permissions: ['entity', 'oracle'],
      plan: 'FREE',
      rateLimits: { entity: 1 },
    });
    const world = (keys: ReturnType<typeof key>[]) => {
      const made: object[] = [];
      const those = (accountId: string, status: string) =>
        keys.filter((one) => one.accountId === accountId && one.status === status);
      const access = {
        keys: {
          get: (id: string) => keys.find((one) => one.id === id) ?? null,
          active: (accountId: string) => those(accountId, 'ACTIVE'),
          shown: (accountId: string, revokedMax: number) => [
            ...those(accountId, 'REVOKED').slice(-revokedMax),
            ...those(accountId, 'ACTIVE'),
          ],
          descendants: () => [],
          create: async (draft: object) => {
            made.push(draft);
            return { record: key(99), apiKey: 'text' };
          },
          setPermission: async (_id: string, permission: string, enabled: boolean) => ({
            ...key(1),
            permission,
            enabled,
          }),
          revoke: async () => key(1, 'REVOKED'),
        },
        audit: () => ({ write: async () => {} }),
      };
      return { deps: { access } as never, made };
    };

    it('list active keys and the last revoked ones, without account fields', async () => {
      const most = HTTP_LIMITS.keysPerAccountMax;
      const revoked = Array.from({ length: most + 1 }, (_, at) => key(at, 'REVOKED'));
      const { deps } = world([...revoked, key(500), key(501, 'ACTIVE', 'acc_2')]);
      const { keys } = (await jsonOf(workOf(listKeys, deps), callWith())) as { keys: { id: string }[] };
      expect(keys.map(({ id }) => id)).toEqual([...revoked.slice(1).map(({ id }) => id), 'key_500']);
      expect(Object.keys(keys[0] as object).sort()).toEqual(['id', 'permissions', 'status']);
    });

    it('allow the maximum number of active keys', async () => {
      const most = HTTP_LIMITS.keysPerAccountMax;
      const keys = Array.from({ length: most - 1 }, (_, at) => key(at));
      const few = world([...keys, key(300, 'REVOKED'), key(301, 'ACTIVE', 'acc_2')]);
      await answerOf(workOf(createKey, few.deps), callWith(), { name: 'n' });
      expect(few.made).toMatchObject([{ name: 'n', accountId: 'acc_1', rateLimits: {} }]);
      const many = world([...keys, key(300)]);
      await expect(answerOf(workOf(createKey, many.deps), callWith(), { name: 'n' })).rejects.toMatchObject({
        field: 'name',
      });
      expect(many.made).toEqual([]);
    });

    it('grant a new key only the permissions of the requesting key, with its limits', async () => {
      const { deps, made } = world([key(1)]);
      const own = callWith({ visit: { key: key(7) }, params: ['key_1'] });
      await answerOf(workOf(createKey, deps), own, { name: 'n' });
      expect(made).toMatchObject([{ permissions: ['entity', 'oracle'], rateLimits: { entity: 1 } }]);
      await answerOf(workOf(createKey, deps), own, { name: 'n', permissions: ['oracle'] });
      await expect(
        answerOf(workOf(createKey, deps), own, { name: 'n', permissions: ['oracle', 'kyt'] }),
      ).rejects.toMatchObject({ code: 'FORBIDDEN' });
      const toggle = (enabled: boolean) =>
        jsonOf(workOf(toggleKey, deps), own, { permission: 'kyt', enabled }).then(({ key: one }) => one);
      await expect(toggle(true)).rejects.toMatchObject({ code: 'FORBIDDEN' });
      expect(await toggle(false)).toMatchObject({ permission: 'kyt', enabled: false });
      const session = callWith({ params: ['key_1'] });
      await answerOf(workOf(toggleKey, deps), session, { permission: 'kyt', enabled: true });
      await answerOf(workOf(createKey, deps), session, { name: 'n', permissions: ['kyt'] });
    });

    it('do not find keys of another account', async () => {
      const { deps } = world([key(1), key(2, 'ACTIVE', 'acc_2')]);
      const revoke = (id: string) => jsonOf(workOf(revokeKey, deps), callWith({ params: [id] }));
      expect(await revoke('key_1')).toMatchObject({ key: { status: 'REVOKED' } });
      for (const id of ['key_2', 'key_3'])
        await expect(revoke(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
  });

  describe('on watched wallets', () => {
    const requests: unknown[] = [];
    const noting =
      <Answer>(answer: Answer) =>
      (...all: unknown[]): Answer => {
        requests.push(all);
        return answer;
      };
    const deps = (keys: object = {}) =>
      ({
        access: { keys },
        useCases: {
          monitoring: () => ({
            store: { wallets: noting({ wallets: [], total: 0 }) },
            alerts: noting({ alerts: [], total: 0, newest: 0 }),
            notFollowed: () => [],
            streams: {
              requireRoom: () => {},
              subscribe: noting(() => {}),
            },
          }),
        },
      }) as never;
    const last = () => requests.at(-1) as unknown[];

    it('show deleted wallets on request', async () => {
      const includes = async (query: string) => {
        await answerOf(workOf(listWallets, deps()), callWith({ query }));
        return (last()[1] as { includeDeleted: boolean }).includeDeleted;
      };
      expect(await includes('')).toBe(false);
      expect(await includes('includeDeleted=false')).toBe(false);
      expect(await includes('status=ACTIVE')).toBe(false);
      expect(await includes('includeDeleted=true')).toBe(true);
      expect(await includes('status=DELETED')).toBe(true);
      await expect(includes('includeDeleted=1')).rejects.toMatchObject({ field: 'includeDeleted' });
      await answerOf(workOf(listWallets, deps()), callWith({ query: 'chain=eth&status=PAUSED&search=x' }));
      expect(last()[1]).toEqual({ chain: 'ETH', status: 'PAUSED', search: 'x', includeDeleted: false });
    });

    it('filter alerts by up to the maximum number of addresses', async () => {
      const list = async (count: number) => {
        const query = `walletAddress=${Array.from({ length: count }, (_, at) => `0x${at}`).join('%2C')}`;
        await answerOf(workOf(listAlerts, deps()), callWith({ query }));
        return (last()[1] as { walletAddresses: string[] }).walletAddresses.length;
      };
      expect(await list(HTTP_LIMITS.alertAddressesMax)).toBe(HTTP_LIMITS.alertAddressesMax);
      await expect(list(HTTP_LIMITS.alertAddressesMax + 1)).rejects.toMatchObject({ field: 'walletAddress' });
      await answerOf(workOf(listAlerts, deps()), callWith({ query: 'upTo=0&status=NEW&severity=HIGH' }));
      expect(last()[1]).toEqual({ upTo: 0, status: 'NEW', severity: 'HIGH' });
      await answerOf(workOf(listAlerts, deps()), callWith({ query: 'walletId=w' }));
      expect(last()[1]).toEqual({ walletId: 'w' });
    });

    it('count confirmations from the first block, and none before a block was read', async () => {
      const confirmationsAt = async (heights: number[]) => {
        const monitoring = {
          wallet: () => ({ id: 'w', accountId: 'acc_1', chain: 'ETH' }),
          store: {
            blocks: () => heights.map((height) => ({ height, hash: '' })),
            transactions: () => ({
              transactions: [
                {
                  blockNumber: 0,
                  timestampMs: 0,
                  alertIds: [],
                  reorged: false,
                  counterparty: { address: null },
                },
              ],
              total: 1,
            }),
          },
        };
        const work = workOf(walletTransactions, { useCases: { monitoring: () => monitoring } });
        const { transactions } = await jsonOf(work, callWith({ params: ['w'] }));
        return (transactions as { confirmations: number | null }[])[0]?.confirmations;
      };
      expect([await confirmationsAt([0]), await confirmationsAt([0, 4]), await confirmationsAt([])]).toEqual([
        ...[1, 5, null],
      ]);
    });

    it('resume a stream after an id of 15 digits, until the key loses its permission', () => {
      const key = { status: 'ACTIVE', permissions: ['monitoring'] };
      const state = { key: key as object | null, isDisabled: false };
      const work = workOf(alertStream, deps({ get: () => state.key, isDisabled: () => state.isDisabled }));
      if (work.kind !== 'stream') throw new Error('Alerts are streamed.');
      const sent: string[] = [];
      const open = () =>
        ({
          send: () => sent.push('event') > 0,
          close: (reason: string) => sent.push(reason),
          onEnd: () => {},
        }) as never;
      const resume = (query: string, header = '') => {
        work.follow(callWith({ query, headers: { 'last-event-id': header } }), open);
        return last()[1];
      };
      expect([resume(''), resume('', '7'), resume('lastEventId=0', '7')]).toEqual([null, 7, 0]);
      expect(resume(`lastEventId=${'9'.repeat(15)}`)).toBe(999_999_999_999_999);
      for (const wrong of ['9'.repeat(16), '-1', '1.5', 'x'])
        expect(refusedBy(() => resume(`lastEventId=${wrong}`))).toBe('lastEventId');
      const guarded = last()[2] as { send(event: object): boolean };
      expect(guarded.send({})).toBe(true);
      const changes: (() => void)[] = [
        () => (state.key = { ...key, status: 'REVOKED' }),
        () => (state.key = { ...key, permissions: ['entity'] }),
        () => (state.key = null),
        () => {
          state.key = key;
          state.isDisabled = true;
        },
      ];
      for (const change of changes) {
        change();
        expect(guarded.send({})).toBe(false);
      }
      expect(sent.filter((one) => one === 'event')).toHaveLength(1);
      expect(sent.at(-1)).toContain('not valid any more');
    });
  });

  it('show what they charge and limit in the API reference', () => {
    const page = docsPage('1.0', OPERATIONS);
    const section = (handler: string) =>
      page.split('<h2 id="').find((part) => part.startsWith(`${handler}"`)) ?? '';
    const row = (handler: string, name: string) =>
      new RegExp(`<th>${name}</th><td>([^<]*)</td>`).exec(section(handler))?.[1];
    expect(row('oracle', 'Monthly quota')).toBe('oracle, one per request');
    expect(row('screenBulk', 'Monthly quota')).toBe('intel, one per address');
    expect(row('screening', 'Monthly quota')).toBe('none');
    expect([row('screening', 'Credits'), row('entity', 'Credits')]).toEqual(['1', '0']);
    expect([row('health', 'Rate limit'), row('entity', 'Rate limit')]).toEqual(['none', 'entity']);
    expect(row('entity', 'address \\(path\\)')).toBeDefined();
    expect(row('entity', 'chain \\(query, optional\\)')).toBeDefined();
    expect(section('entity')).not.toContain('Schema of the body');
    expect(section('screening')).toContain('Schema of the body');
    expect(section('metrics')).not.toContain('Schema of the response');
  });
});

describe('chooseServer', () => {
  afterEach(() => {
    vi.doUnmock('../../src/http/server/uws.ts');
    vi.resetModules();
  });

  it('throws if the requested binding cannot be loaded, and warns if another server may replace it', async () => {
    vi.resetModules();
    vi.doMock('../../src/http/server/uws.ts', () => {
      throw new Error('no binding for this machine');
    });
    const { chooseServer } = await import('../../src/http/server/choose.ts');
    const { createNodeServer } = await import('../../src/http/server/node.ts');
    const events: string[] = [];
    const log = {
      ...silentLogger,
      warn: (_fields: object, text: string) => void events.push(text),
    } as Logger;
    await expect(chooseServer('uws', log)).rejects.toMatchObject({ code: 'LISTEN_FAILED' });
    expect(await chooseServer('node', log)).toBe(createNodeServer);
    expect(events).toEqual([]);
    expect(await chooseServer('auto', log)).toBe(createNodeServer);
    expect(events).toHaveLength(1);
  });
});

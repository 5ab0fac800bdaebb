import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Call } from '../../src/http/pipeline/call.ts';
import { JSON_TYPE, SuccessHead, VARY } from '../../src/http/pipeline/success-head.ts';
import { HeaderBytes } from '../../src/http/server/header-bytes.ts';
import type { Exchange } from '../../src/http/server/port.ts';

const count = fc.oneof(fc.nat(20), fc.nat(), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
const limits = fc.option(fc.record({ limit: count, remaining: count, resetEpochSeconds: count }));
const quota = fc.option(fc.record({ remaining: fc.option(count) }));
const id = fc.stringMatching(/^[0-9A-Za-z._:-]{1,128}$/);
const lines = fc.constantFrom('', '\r\nX-Content-Type-Options: nosniff', '\r\nA: b\r\nC: d');

it('writes the same header lines as bytes that the call has as a text', () => {
  const head = new SuccessHead();
  fc.assert(
    fc.property(id, limits, quota, lines, fc.boolean(), (requestId, rate, shown, ofOperation, isVaried) => {
      const call = new Call({} as Exchange, requestId, 0);
      call.limits = rate as Call['limits'];
      call.shownQuota = shown as Call['shownQuota'];
      const bytes = head.write(call, ofOperation, isVaried);
      const text = call.head + call.successLines + ofOperation + JSON_TYPE + (isVaried ? VARY : '');
      expect(String(bytes)).toBe(text);
      expect(`X-Request-Id: ${bytes?.value().toString('latin1')}`).toBe(text);
    }),
    { numRuns: 1_000 },
  );
});

it('writes no lines for a call that has others', () => {
  const head = new SuccessHead();
  const call = new Call({} as Exchange, 'r', 0);
  call.lines = '\r\nETag: "1"';
  expect(head.write(call, '', false)).toBeNull();
  call.lines = '';
  call.extraHead = '\r\nPayment-Response: x';
  expect(head.write(call, '', false)).toBeNull();
});

it('refuses lines that are longer than its buffer', () => {
  const bytes = new HeaderBytes();
  bytes.begin('r');
  bytes.add(Buffer.alloc(4_000));
  expect(() => bytes.add(Buffer.alloc(100))).toThrow('longer than 4096 bytes');
});

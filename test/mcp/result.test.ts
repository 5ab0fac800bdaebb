/** Results of tools over a port that answers with any data: their size, their cursors, and what they never show. */
import fc from 'fast-check';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { toolOperations } from '../../src/http/mcp/facts.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import { MCP_LIMITS } from '../../src/mcp/limits.ts';
import type { CallOperation, OperationRequest, ToolOperation } from '../../src/mcp/operations.ts';
import type { ToolResult } from '../../src/mcp/result.ts';
import { boundTools, callTool } from '../../src/mcp/server.ts';
import { descriptionOf, TOOLS } from '../../src/mcp/tools.ts';
import { type JsonObject, visible, visibleText } from '../../src/mcp/untrusted.ts';

const id = { name: 'id', in: 'path', required: true, schema: Type.String() } as const;
const CASES: readonly ToolOperation[] = (['oneCase', 'caseEvents', 'addCaseEvent'] as const).map((one) => ({
  id: one,
  method: one === 'addCaseEvent' ? 'POST' : 'GET',
  path: one === 'oneCase' ? '/api/v1/cases/{id}' : '/api/v1/cases/{id}/events',
  parameters: [id],
  body: one === 'addCaseEvent' ? Type.Object({ note: Type.Optional(Type.String()) }) : null,
  data: Type.Object({ [one === 'oneCase' ? 'case' : 'events']: Type.Array(Type.String()) }),
  credits: 0,
  quota: null,
  permissions: ['monitoring'],
}));
const bound = boundTools([
  ...toolOperations(OPERATIONS),
  ...CASES.filter((one) => !OPERATIONS.some((had) => had.id === one.id)),
]);
const toolOf = (name: string) => bound.find(({ tool }) => tool.name === name)!;

/** Answers every request with the same data. */
const answering =
  (data: unknown, requests: OperationRequest[] = [], status = 200): CallOperation =>
  async (request) => {
    requests.push(request);
    const body = status === 200 ? { success: true, data, credits: { remaining: 7 } } : data;
    return {
      status,
      body: Buffer.from(JSON.stringify(body)),
      requestId: 'r1',
      isReplayed: false,
      retryAfterSeconds: null,
    };
  };

const bytesOf = (result: ToolResult): number => Buffer.byteLength(JSON.stringify(result));
interface Shown {
  readonly data: JsonObject;
  readonly truncated?: readonly { field: string; shown: number; total: number; cursor?: string }[];
  readonly omitted?: readonly string[];
  readonly more?: string;
}
const shownOf = (result: ToolResult) => result.structuredContent as unknown as Shown;

describe('the list of tools', () => {
  it('has twelve tools, each with its cost', () => {
    expect(bound.map(({ tool }) => tool.name)).toEqual(TOOLS.map(({ name }) => name));
    expect(TOOLS).toHaveLength(12);
    const costs = bound.map(
      ({ tool, operation }) => /Cost: (\S+ \S+)/.exec(descriptionOf(tool, operation))?.[1],
    );
    expect(costs.slice(0, 5)).toEqual(['1 credit.', 'one unit', 'one unit', '1 credit.', '5 credits;']);
  });

  it('has no tool without its operation', () => {
    const names = boundTools(toolOperations(OPERATIONS.filter((one) => one.id !== 'trace'))).map(
      ({ tool }) => tool.name,
    );
    expect(names).not.toContain('trace_funds');
    expect(names).not.toContain('find_path');
  });
});

describe('a result', () => {
  it('has at most 8 KB, whatever the data are, and names what it left out', async () => {
    const rows = fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 400 });
    const text = fc.string({ unit: 'grapheme', maxLength: 3_000 });
    const field = fc.oneof(rows, text, fc.dictionary(fc.string(), text), fc.jsonValue());
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string({ maxLength: 20 }), field, { maxKeys: 12 }), async (data) => {
        const result = await callTool(toolOf('screen_payment'), {}, answering(data));
        expect(bytesOf(result)).toBeLessThanOrEqual(MCP_LIMITS.toolResultBytesMax);
        const { ignored: _ignored, ...sent } = visible(JSON.parse(JSON.stringify(data))) as JsonObject;
        const { data: shown, truncated = [], more } = shownOf(result);
        const isWhole = JSON.stringify(shown) === JSON.stringify(sent);
        expect(truncated.length > 0).toBe(!isWhole);
        expect(more === undefined).toBe(isWhole);
      }),
      { numRuns: 100 },
    );
  });

  it('is read to its end by its cursors', async () => {
    const flags = Array.from({ length: 90 }, (_, n) => ({ code: `F${n}`, message: 'm'.repeat(150) }));
    const call = answering({ riskScore: 1, flags });
    const read: unknown[] = [];
    let cursor: string | undefined;
    do {
      const result = await callTool(toolOf('screen_payment'), cursor === undefined ? {} : { cursor }, call);
      const { data, truncated = [] } = shownOf(result);
      read.push(...(data.flags as readonly unknown[]));
      cursor = truncated.find(({ field }) => field === 'flags')?.cursor;
    } while (cursor !== undefined);
    expect(read).toEqual(flags);
  });

  it('keeps the fields that matter most', async () => {
    const data = {
      riskScore: 90,
      reasons: [{ code: 'LABEL', message: 'One reason.' }],
      exposures: Array.from({ length: 500 }, (_, n) => ({ category: 'MIXER', entity: `e${n}` })),
      legalInterpretation: { assessment: 'x' },
    };
    const result = await callTool(toolOf('screen_address'), {}, answering(data));
    const shown = shownOf(result);
    expect(shown.data.reasons).toEqual(data.reasons);
    expect(shown.omitted).toEqual(['legalInterpretation']);
    expect(shown.truncated).toEqual([expect.objectContaining({ field: 'exposures', total: 500 })]);
    expect(shown.more).toContain('charged again');
  });

  it('pages alerts by the position of the server, as of its first page', async () => {
    const requests: OperationRequest[] = [];
    const alerts = Array.from({ length: 10 }, (_, n) => ({ id: `a${n}`, text: 'x'.repeat(800) }));
    const call = answering({ alerts, total: 42, newest: 99, notFollowed: [], limit: 10 }, requests);
    const first = shownOf(await callTool(toolOf('list_alerts'), { severity: 'HIGH' }, call));
    expect(requests[0]?.query).toBe('limit=10&severity=HIGH');
    const { cursor, shown } = first.truncated?.[0] ?? { cursor: '', shown: 0 };
    expect(cursor).toBe(`alerts:${shown}:99`);
    await callTool(toolOf('list_alerts'), { severity: 'HIGH', cursor: cursor ?? '' }, call);
    expect(requests[1]?.query).toBe(`limit=10&severity=HIGH&offset=${shown}&upTo=99`);
    expect(first.data).not.toHaveProperty('limit');
  });

  it('has the data of a service that is not ready, without what is for operators', async () => {
    const degraded = [{ path: '/var/lib/assay', reason: 'full' }];
    const body = {
      error: 'Not ready',
      data: { ready: false, reasons: ['No snapshot.'], lists: [], degraded },
    };
    const tool = toolOf('data_coverage');
    const result = await callTool(tool, {}, answering(body, [], 503));
    expect(result.isError).toBeUndefined();
    expect(shownOf(result).data).toEqual({ ready: false, reasons: ['No snapshot.'], lists: [] });
    const hidden = await callTool(tool, { cursor: 'degraded' }, answering(body, [], 503));
    expect(hidden.isError).toBe(true);
  });

  it('is an error before anything is charged if its cursor is not valid', async () => {
    const requests: OperationRequest[] = [];
    for (const cursor of ['nothing', '__proto__', 'constructor:1', ':', 'alerts:1'])
      expect((await callTool(toolOf('screen_address'), { cursor }, answering({}, requests))).isError).toBe(
        true,
      );
    expect(requests).toEqual([]);
  });

  it('says that the server cannot be reached, and nothing of other faults', async () => {
    const tool = toolOf('get_labels');
    const unreachable = await callTool(tool, { address: 'a', chain: 'ETH' }, async () => {
      throw new AssayError('SOURCE_UNAVAILABLE', 'http://x cannot be reached: refused.');
    });
    expect(unreachable.structuredContent).toEqual({
      error: { code: 'UNREACHABLE', message: 'http://x cannot be reached: refused.' },
    });
    const faults: unknown[] = [];
    const fault = await callTool(
      tool,
      { address: 'a', chain: 'ETH' },
      async () => {
        throw new Error('/srv/secret');
      },
      (error) => faults.push(error),
    );
    expect(fault.structuredContent).toEqual({ error: { code: 'INTERNAL', message: 'Internal error.' } });
    expect(faults).toHaveLength(1);
    const proxy = await callTool(tool, { address: 'a', chain: 'ETH' }, async () => ({
      status: 502,
      body: Buffer.from('<html>bad gateway</html>'),
      requestId: '',
      isReplayed: false,
      retryAfterSeconds: null,
    }));
    expect(proxy.content[0].text).toBe('INTERNAL: The service answered with the status 502.');
  });
});

describe('text of third parties', () => {
  it('loses characters that are not displayed', () => {
    expect(visibleText('a\u0000b\u001b[0m\u202ec\u200bd\u{e0049}\u{fe0f}\nf')).toBe('ab[0mcd f');
    expect(visibleText('Владимир Müller 山田 🙂')).toBe('Владимир Müller 山田 🙂');
  });
});

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { columnsOf } from '../../../src/jobs/bulk/lines.ts';
import { Planner } from '../../../src/jobs/bulk/plan.ts';
import type { JobKind } from '../../../src/jobs/bulk-jobs.ts';
import type { ChunkDone, ChunkTask } from '../../../src/jobs/chunks.ts';
import { allFresh, someStale } from '../../screening/world.ts';
import { type JobWorld, jobWorld, type Line, linesOf, WALLETS, wallet } from './world.ts';

/** A text has up to 40 lines of a dozen kinds: fifty of them have each pair of neighbours many times. */
const RUNS = process.env.ASSAY_TEST_LONG === '1' ? 120 : 50;

let world: JobWorld;
beforeAll(async () => {
  world = await jobWorld();
});
afterAll(() => world.close());

type Shape = Partial<Pick<ChunkTask, 'kind' | 'format' | 'chain' | 'columns'>>;
interface Worked extends ChunkDone {
  readonly text: string;
}

/** Works a text as the job would, cut into chunks of `linesPerChunk` lines. */
function work(input: string | Buffer, shape: Shape = {}, linesPerChunk = 1_000_000): Worked {
  const path = join(world.folder.path, 'input');
  const bytes = Buffer.from(input as string);
  writeFileSync(path, bytes);
  const kind: JobKind = shape.kind ?? 'labels';
  const planner = new Planner(kind, { lines: linesPerChunk, bytes: 1e9 });
  planner.take(bytes);
  const plan = planner.finish();
  const headBytes = shape.columns ? bytes.indexOf(0x0a) + 1 : 0;
  const total = { items: 0, failed: 0, bytes: 0, text: '' };
  for (let chunk = 0; chunk < plan.chunks; chunk++) {
    const output = join(world.folder.path, `out.${chunk}`);
    const part = plan.partOf(chunk, path, headBytes);
    const done = world.work({
      jobId: 'job',
      chunk,
      kind,
      format: 'ndjson',
      chain: 'ETH',
      columns: null,
      ...shape,
      ...part,
      output,
    });
    const text = readFileSync(output, 'utf8');
    expect(done.bytes).toBe(Buffer.byteLength(text));
    expect(done.items).toBe(plan.linesOf(chunk) - (chunk === 0 && headBytes > 0 ? 1 : 0));
    total.items += done.items;
    total.failed += done.failed;
    total.bytes += done.bytes;
    total.text += text;
  }
  return total;
}

const lines = (input: string | Buffer, shape: Shape = {}): Line[] => linesOf(work(input, shape).text);

describe('the lines of a job', () => {
  it('may be objects, strings and plain addresses, with or without a chain', () => {
    const input = [
      `{"address":"${WALLETS.exchange}"}`,
      `{"chain":"base", "address":"${WALLETS.exchange}"}`,
      `  "${WALLETS.exchange}"\r`,
      WALLETS.exchange.toUpperCase().replace('0X', '0x'),
      `{"address":"\\u0030x${WALLETS.exchange.slice(2)}","note":[1,{"a":2}],"chain":null}`,
      '{"address":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa","chain":"BTC"}',
    ].join('\n');
    const answers = lines(input);
    expect(answers.map(({ chain }) => chain)).toEqual(['ETH', 'BASE', 'ETH', 'ETH', 'ETH', 'BTC']);
    expect(answers.slice(0, 5).every(({ address }) => address === WALLETS.exchange)).toBe(true);
    expect(answers[0]?.labels?.length).toBeGreaterThan(0);
    expect(answers.every(({ error }) => error === undefined)).toBe(true);
  });

  it('are read by a header that names address and chain, in any order and with quotes', () => {
    const text = `\uFEFFid, chain,note,address\r\n1,,"a, ""b""",${WALLETS.exchange}\r\n2,base,x, ${WALLETS.exchange} \n3,,x\n`;
    const columns = columnsOf('id, chain,note,address\r\n');
    expect(columns).toEqual(['id', 'chain', 'note', 'address']);
    const answers = lines(text, { format: 'csv', columns });
    expect(answers.map(({ address, chain }) => [address, chain])).toEqual([
      [WALLETS.exchange, 'ETH'],
      [WALLETS.exchange, 'BASE'],
      ['', undefined],
    ]);
    expect(answers[2]).toMatchObject({ error: 'address: must not be empty.', line: 4 });
    expect(columnsOf(`${WALLETS.exchange}\n`)).toBeNull();
    expect(() => columnsOf('address,chain,address')).toThrow('address: line 1 names this column twice');
  });

  it('are answered in place with the field and the line if they are invalid', () => {
    const input = [
      WALLETS.unknown,
      '{"address":7}',
      '{"address":"0x12"}',
      '{"address":"x","chain":"NOPE"}',
      '{"address":',
      '[1]',
      '',
      `{"address":"${WALLETS.unknown}"}`,
    ].join('\n');
    for (const kind of ['labels', 'sanctions', 'screening'] as const) {
      const { text, failed, items } = work(input, { kind });
      const answers = linesOf(text);
      expect([items, failed]).toEqual([8, 6]);
      expect(answers.map(({ line }) => line)).toEqual([undefined, 2, 3, 4, 5, 6, 7, undefined]);
      expect(answers[1]?.error).toBe('address: must be a string.');
      expect(answers[3]?.error).toContain('(got "NOPE")');
      expect(answers[4]?.error).toBe('The line is not valid JSON.');
    }
  });

  it('are quoted in errors up to 512 characters', () => {
    const answers = lines(['x'.repeat(512), 'x'.repeat(513)].join('\n'));
    expect(answers.map(({ address }) => address)).toEqual(['x'.repeat(512), `${'x'.repeat(512)}…`]);
  });

  it('require a chain if the job has none', () => {
    for (const kind of ['labels', 'sanctions'] as const) {
      const [bare, own] = lines(`${WALLETS.unknown}\n{"address":"${WALLETS.unknown}","chain":"ETH"}\n`, {
        kind,
        chain: null,
      });
      expect(bare?.error).toBe('chain: missing; set it in the line, or for the whole job.');
      expect(own).toMatchObject({ address: WALLETS.unknown, chain: 'ETH' });
    }
  });

  it('have the same answers as the operation of their kind', () => {
    const [check] = lines(WALLETS.sanctioned, { kind: 'sanctions' });
    expect(check).toMatchObject({ sanctioned: true, coverage: { graph: { status: 'NONE' } } });
    const [screened] = lines(`{"address":"${WALLETS.sanctioned}","maxHops":2}`, { kind: 'screening' });
    expect(screened).toMatchObject({ riskLevel: 'CRITICAL', coverage: { balances: { status: 'NONE' } } });
    const [hops] = lines(`{"address":"${WALLETS.sanctioned}","maxHops":9}`, { kind: 'screening' });
    expect(hops?.error).toContain('maxHops');
    const answers = lines(
      [
        `{"from":"${WALLETS.exchange}","to":"${WALLETS.sanctioned}"}`,
        `{"from":"${WALLETS.exchange}"}`,
        WALLETS.unknown,
      ].join('\n'),
      { kind: 'kyt' },
    );
    expect(answers[0]).toMatchObject({ decision: 'BLOCK' });
    expect(answers[1]).toEqual({ from: WALLETS.exchange, error: expect.stringContaining('to:'), line: 2 });
    expect(answers[2]).toHaveProperty('decision');
  });

  it('say that lists are missing or too old, whether the address has labels or not', () => {
    const input = [WALLETS.exchange, WALLETS.sanctioned, WALLETS.unknown, 'bad'].join('\n');
    for (const line of lines(input)) expect(line).not.toHaveProperty('reasonCodes');
    world.screening.setLists(someStale);
    try {
      const answers = lines(input);
      const codes = answers.map(({ reasonCodes }) => reasonCodes);
      const stale = ['STALE_OR_MISSING_DATA'];
      expect(codes).toEqual([stale, stale, stale, undefined]);
      expect(answers.map(({ sanctioned }) => sanctioned)).toEqual([false, true, false, undefined]);
    } finally {
      world.screening.setLists(allFresh);
    }
  });
});

/** Lines as files of addresses have them, and lines that do not belong there. */
const someLine = fc.oneof(
  { weight: 4, arbitrary: fc.nat(50).map(wallet) },
  { weight: 3, arbitrary: fc.constantFrom(...Object.values(WALLETS)) },
  {
    weight: 4,
    arbitrary: fc
      .record({
        address: fc.oneof(fc.nat(50).map(wallet), fc.string(), fc.integer()),
        chain: fc.option(fc.oneof(fc.constantFrom('ETH', 'base', 'BTC'), fc.string()), { nil: undefined }),
        note: fc.option(fc.jsonValue(), { nil: undefined }),
      })
      .map((value) => JSON.stringify(value)),
  },
  fc.string({ unit: 'binary', maxLength: 60 }).map((text) => text.replaceAll('\n', ' ')),
  fc.constantFrom('', ' ', '{', '"', '{"address":"', '{"address":"x"}}', ',', '"",""', '\u0000', '€'),
);
const someText = fc
  .tuple(fc.array(someLine, { minLength: 1, maxLength: 40 }), fc.boolean())
  .map(([each, isEnded]) => each.join('\n') + (isEnded ? '\n' : ''))
  .filter((text) => text !== '');
const someShape: fc.Arbitrary<Shape> = fc.record({
  kind: fc.constantFrom('labels', 'sanctions', 'screening', 'kyt'),
  format: fc.constantFrom('ndjson', 'csv'),
  chain: fc.constantFrom('ETH', 'BTC', null),
});

describe('chunks', () => {
  it('give the same bytes wherever the lines are split', () => {
    fc.assert(
      fc.property(
        someText,
        someShape,
        fc.boolean(),
        fc.integer({ min: 1, max: 9 }),
        (text, shape, head, cut) => {
          const columns = head && shape.format === 'csv' ? ['address', 'chain'] : null;
          const input = columns === null ? text : `address,chain\n${text}`;
          const whole = work(input, { ...shape, columns });
          expect(work(input, { ...shape, columns }, cut)).toEqual(whole);
        },
      ),
      { numRuns: RUNS / 2 },
    );
  });

  it('answer every line once, with its address or line number, for any bytes', () => {
    fc.assert(
      fc.property(someText, someShape, fc.uint8Array({ maxLength: 40 }), (text, shape, noise) => {
        const input = Buffer.concat([Buffer.from(text), noise]);
        const { items, failed, text: answer } = work(input, shape);
        const answers = linesOf(answer);
        expect(answers).toHaveLength(items);
        expect(answers.filter(({ error }) => error !== undefined)).toHaveLength(failed);
        for (const [index, { error, line }] of answers.entries())
          if (error !== undefined) expect(line).toBe(index + 1);
      }),
      { numRuns: RUNS },
    );
  });

  it('of labels find the same addresses by the fast scan as by parsing lines', () => {
    fc.assert(
      fc.property(someText, someShape, fc.boolean(), (text, shape, head) => {
        const columns = head && shape.format === 'csv' ? ['x', 'address', 'chain'] : null;
        const input = columns === null ? text : `x,address,chain\n${text}`;
        const seen = (kind: JobKind) =>
          lines(input, { ...shape, columns, kind }).map(({ address, chain, error }) =>
            error === undefined ? [address, chain] : 'error',
          );
        expect(seen('labels')).toEqual(seen('sanctions'));
      }),
      { numRuns: RUNS },
    );
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssayError } from '../../../src/base/errors.ts';
import { projectRoot } from '../../../src/base/paths.ts';
import { registersReader } from '../../../src/sources/registers/read.ts';
import {
  hostOf,
  type RegisterRecord,
  readHosts,
  readLei,
} from '../../../src/sources/registers/registration.ts';
import { withFolder } from '../collect.ts';

async function read(path: string, whole = false): Promise<RegisterRecord[]> {
  const records: RegisterRecord[] = [];
  for await (const record of registersReader({ whole })(path)) records.push(record);
  return records;
}

/** The example of the documentation, so that the documentation is right. */
const EXAMPLE = (/```csv\n([\s\S]*?)```/.exec(
  readFileSync(join(projectRoot, 'docs', 'registers-csv.md'), 'utf8'),
) ?? [])[1] as string;

describe('registers as CSV', () => {
  it('the documented example is read without a reject', async () => {
    await withFolder(async (write) => {
      const records = await read(write('hk-2026-10-01.csv', EXAMPLE), true);
      expect(records.map((record) => record.type)).toEqual(['registration', 'registration', 'register']);
      expect(records[0]).toMatchObject({
        register: 'hk-sfc',
        jurisdiction: 'HK',
        status: 'AUTHORISED',
        legalName: 'Hash Blockchain Limited',
        tradeNames: ['HashKey Exchange'],
        domains: ['hashkey.com'],
      });
      expect(records.at(-1)).toMatchObject({ whole: ['hk-sfc'], publishedAt: '2026-10-01' });
    });
  });

  it('each invalid field is named with its line; a header without the required columns is rejected', async () => {
    await withFolder(async (write) => {
      const head = 'register,jurisdiction,authority,legal_name,status,registered_as';
      const lines = [
        'x y,HK,A,N,REGISTERED,R',
        'r1,Nowhere,A,N,REGISTERED,R',
        'r1,HK,A,N,GOOD,R',
        'r1,HK,A,,REGISTERED,R',
      ];
      const records = await read(write('bad.csv', [head, ...lines, ''].join('\n')));
      const reasons = records.flatMap((record) =>
        record.type === 'reject' ? [record.reason.split(/[:,]/)[0]] : [],
      );
      expect(reasons).toEqual(['register', 'jurisdiction', 'status', 'legal_name']);
      await expect(read(write('no.csv', 'register,authority\n'))).rejects.toMatchObject({
        code: 'INVALID_FILE',
        message: expect.stringContaining('jurisdiction'),
      });
    });
  });

  it('a date of which a part is not valid is named with its line; each documented form is read', async () => {
    await withFolder(async (write) => {
      const head = 'register,jurisdiction,authority,legal_name,status,registered_as,registered_at,ended_at';
      const dates = ['2024-13', '2024-02-31', '31/02/2024', 'soon', '2024-05-31 to 2025'];
      const valid = [
        '2024-05-31',
        '31/05/2024',
        '2024-05',
        '2024',
        '31 May 2024',
        '2024-05-31T10:00:00Z',
        '',
      ];
      const row = (registered: string, ended: string) => `r1,HK,A,N,AUTHORISED,R,${registered},${ended}`;
      const lines = [
        ...dates.flatMap((date) => [row('', date), row(date, '')]),
        ...valid.map((date) => row('', date)),
      ];
      const records = await read(write('dates.csv', [head, ...lines, ''].join('\n')));
      const reasons = records.flatMap((record) => (record.type === 'reject' ? [record.reason] : []));
      expect(reasons).toEqual(
        dates.flatMap((date) =>
          ['ended_at', 'registered_at'].map(
            (name) =>
              `${name}: must be a date such as 2024-05-31, 31/05/2024, 2024-05 or 2024 (got '${date}').`,
          ),
        ),
      );
      const ends = records.flatMap((record) => (record.type === 'registration' ? [record.endedAt] : []));
      expect(ends).toEqual(['2024-05-31', '2024-05-31', '2024-05', '2024', '2024-05-31', '2024-05-31', null]);
    });
  });

  it('any text is read or rejected', async () => {
    await withFolder(async (write) => {
      await fc.assert(
        fc.asyncProperty(fc.string({ maxLength: 300 }), async (tail) => {
          const path = write(
            'any.csv',
            `register,jurisdiction,authority,legal_name,status,registered_as\n${tail}`,
          );
          await read(path).catch((error: unknown) => {
            if (!(error instanceof AssayError)) throw error;
          });
        }),
        { numRuns: 60, seed: 3 },
      );
    });
  });
});

describe('cells', () => {
  it('a host name is read from an address as people write it', () => {
    for (const [text, host] of [
      ['https://www.kraken.com/', 'kraken.com'],
      ['https.//coinbase.com', 'coinbase.com'],
      ['ttps://cryptoin24.io', 'cryptoin24.io'],
      ['www.gate.com/en-eu', 'gate.com'],
      ['Commerzbank AG', null],
      ['75012 Paris', null],
      ['n/a', null],
    ] as const)
      expect(hostOf(text), text).toBe(host);
    expect(readHosts('https://a.nl | http://www.b.com/ n/a')).toEqual(['a.nl', 'b.com']);
  });

  it('a LEI is recognised by its form', () => {
    expect(readLei('254900641D8KNHUZYX24 ')).toBe('254900641D8KNHUZYX24');
    expect(readLei('9.60E+19')).toBeNull();
  });
});

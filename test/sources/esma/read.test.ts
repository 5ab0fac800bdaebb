import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { AssayError } from '../../../src/base/errors.ts';
import { seededUint32 } from '../../../src/base/random.ts';
import { esmaReader } from '../../../src/sources/esma/read.ts';
import type { Reject } from '../../../src/sources/records.ts';
import type { RegisterHeader, Registration } from '../../../src/sources/registers/registration.ts';
import { caspFile } from '../../registers/world.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';
import { withFolder } from '../collect.ts';

interface Read {
  readonly headers: RegisterHeader[];
  readonly rows: Registration[];
  readonly rejects: Reject[];
}

async function read(path: string): Promise<Read> {
  const all: Read = { headers: [], rows: [], rejects: [] };
  for await (const record of esmaReader(path)) {
    if (record.type === 'register') all.headers.push(record);
    else if (record.type === 'registration') all.rows.push(record);
    else all.rejects.push(record);
  }
  return all;
}

describeWithSharedData('the MiCA register as ESMA published it', () => {
  it.each([
    ['CASP20251215.csv', 119],
    ['CASP20251223.csv', 133],
    ['CASP20260106.csv', 142],
    ['CASP20260115.csv', 142],
    ['CASP20260123.csv', 146],
    ['CASP20260130.csv', 148],
  ])('%s has %i service providers, none of them lost', async (name, count) => {
    const { headers, rows, rejects } = await read(sharedData('esma', name));
    expect(headers).toEqual([
      {
        type: 'register',
        whole: ['esma-casp'],
        publishedAt: `${name.slice(4, 8)}-${name.slice(8, 10)}-${name.slice(10, 12)}`,
        layout: 'ESMA_CASP',
        file: name,
      },
    ]);
    expect([rows.length, rejects.length]).toEqual([count, 0]);
    for (const row of rows) {
      expect(row.jurisdiction).toMatch(/^[A-Z]{2}$/);
      expect(row.status).toBe('AUTHORISED');
      expect(`${row.legalName}${row.tradeNames.join('')}${row.services.join('')}`).not.toMatch(/[\u00a0\n]/);
      for (const country of row.passportedTo) expect(country).toMatch(/^[A-Z]{2}$/);
    }
  });

  it('tells the other four files apart by their columns, misspelt and trailing ones too', async () => {
    const counts = Object.fromEntries(
      await Promise.all(
        ['EMT', 'ART', 'NCASP', 'OTHER'].map(async (kind) => {
          const { headers, rows, rejects } = await read(sharedData('esma', `${kind}20260130.csv`));
          return [headers[0]?.whole[0], [rows.length, rejects.length]] as const;
        }),
      ),
    );
    expect(counts).toEqual({
      'esma-emt': [31, 0],
      'esma-art': [0, 0],
      'esma-ncasp': [101, 0],
      'esma-other': [702, 2],
    });
  });

  it('reads the values of the faulty cells', async () => {
    const { rows } = await read(sharedData('esma', 'CASP20260130.csv'));
    const named = (name: string): Registration | undefined =>
      rows.find((row) => row.legalName.startsWith(name));
    // U+FFFD instead of quotation marks.
    expect(named('Payward Europe')?.tradeNames).toEqual(['Kraken Digital Asset Exchange (Kraken)']);
    expect(named('Payward Europe')).toMatchObject({
      lei: '254900641D8KNHUZYX24',
      jurisdiction: 'IE',
      registeredAt: '2025-06-25',
      domains: ['kraken.com'],
    });
    expect(named('Payward Europe')?.passportedTo).toContain('DE');
    // Two addresses on two lines of one cell; a full stop instead of a colon; a full stop after a LEI.
    expect(named('Paysafe')?.domains).toEqual(['skrill.com', 'neteller.com']);
    expect(named('Coinbase Luxembourg')?.domains).toEqual(['coinbase.com']);
    expect(named('Ramp Swaps')?.lei).toBe('89450036UW3ID72T1M84');
    // A title instead of an address, and a number that a spreadsheet made of a LEI.
    expect(named('Commerzbank')?.domains).toEqual([]);
    expect(named('OPEN BANK')?.lei).toBeNull();
  });

  it('keeps warnings with their reason and every site', async () => {
    const { rows } = await read(sharedData('esma', 'NCASP20260130.csv'));
    const mexc = rows.find((row) => row.legalName === 'MEXC Global');
    expect(mexc).toMatchObject({
      status: 'WARNING',
      jurisdiction: 'NL',
      registeredAt: '2025-09-16',
      domains: ['mexc.com'],
    });
    expect(mexc?.note).toContain('without the required MiCAR license');
    expect(rows.find((row) => row.legalName === 'Dobibo')?.domains).toEqual([
      'dobibo.com',
      'dobibo1.com',
      'dobibo2.com',
    ]);
  });

  it('damaged files are rejected, or only rows of the file are returned', async () => {
    const files = readdirSync(sharedData('esma')).filter((name) => !name.startsWith('ART'));
    const next = seededUint32(5);
    await withFolder(async (write) => {
      for (const name of files) {
        const whole = readFileSync(sharedData('esma', name));
        const { rows } = await read(sharedData('esma', name));
        for (let round = 0; round < 12; round++) {
          const cut = write(name, whole.subarray(0, next() % whole.length));
          expect(await outcome(cut), `${name} cut`).toBeLessThanOrEqual(rows.length);
          const broken = Buffer.from(whole);
          for (let hit = 0; hit < 8; hit++) broken[next() % broken.length] = next() & 0xff;
          expect(await outcome(write(name, broken)), `${name} broken`).toBeLessThanOrEqual(rows.length + 8);
        }
      }
    });
  });

  it('rejects another publisher’s file, a page and noise', async () => {
    await withFolder(async (write) => {
      const others = [
        readFileSync(sharedData('exchanges', 'defillama_cex_owners_2025-06-30.csv')),
        readFileSync(sharedData('un', 'un_consolidated_2026-02-27.xml')).subarray(0, 50_000),
        Buffer.from('<html><body>503</body></html>'),
        Buffer.alloc(4_000),
        Buffer.from(''),
      ];
      for (const [index, content] of others.entries())
        await expect(read(write(`other${index}.csv`, content))).rejects.toMatchObject({
          code: 'INVALID_FILE',
        });
    });
  });
});

/** Returns the number of rows read; 0 for a clear refusal. */
async function outcome(path: string): Promise<number> {
  try {
    return (await read(path)).rows.length;
  } catch (error) {
    if (error instanceof AssayError && error.code === 'INVALID_FILE') return 0;
    throw error;
  }
}

describe('errors that a file may have', () => {
  it('an empty member state is read from other rows of the authority; without one the row is rejected', async () => {
    await withFolder(async (write) => {
      const known = await read(
        write(
          'CASP20260101.csv',
          caspFile([
            { name: 'One AG', state: 'AT' },
            { name: 'Two AG', state: '' },
          ]),
        ),
      );
      expect(known.rows.map((row) => row.jurisdiction)).toEqual(['AT', 'AT']);
      const unknown = await read(write('CASP20260102.csv', caspFile([{ name: 'Two AG', state: '' }])));
      expect(unknown.rows).toEqual([]);
      expect(unknown.rejects[0]?.reason).toContain('ae_homeMemberState');
    });
  });

  it('an incomplete last row is reported as a truncated file', async () => {
    await withFolder(async (write) => {
      const text = caspFile([{ name: 'One AG' }, { name: 'Two AG' }]);
      await expect(
        read(write('CASP.csv', text.slice(0, text.lastIndexOf(',a. custody')))),
      ).rejects.toMatchObject({
        code: 'INVALID_FILE',
      });
    });
  });

  it('an authorisation with an end has it as its last day', async () => {
    await withFolder(async (write) => {
      const { rows } = await read(write('CASP.csv', caspFile([{ name: 'One AG', ended: '03/04/2025' }])));
      expect(rows[0]).toMatchObject({ status: 'AUTHORISED', endedAt: '2025-04-03' });
    });
  });
});

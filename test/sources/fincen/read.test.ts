import { describe, expect, it } from 'vitest';
import { AssayError } from '../../../src/base/errors.ts';
import { seededUint32 } from '../../../src/base/random.ts';
import { fincenReader } from '../../../src/sources/fincen/read.ts';
import type { RegisterRecord } from '../../../src/sources/registers/registration.ts';
import { withFolder } from '../collect.ts';
import { FINCEN_SAMPLE } from './sample.ts';

async function read(path: string): Promise<RegisterRecord[]> {
  const records: RegisterRecord[] = [];
  for await (const record of fincenReader(path)) records.push(record);
  return records;
}

describe('FinCEN’s list of money services businesses', () => {
  it('is read completely, without its footnotes', async () => {
    await withFolder(async (write) => {
      const [header, first, second, third, ...more] = await read(write('msb_2026-01-05.txt', FINCEN_SAMPLE));
      expect(more).toEqual([]);
      expect(header).toMatchObject({ type: 'register', whole: ['us-fincen-msb'], publishedAt: '2026-01-05' });
      expect(first).toMatchObject({
        legalName: 'PAYWARD VENTURES, INC.',
        tradeNames: ['KRAKEN'],
        jurisdiction: 'US',
        status: 'REGISTERED',
        registeredAt: '2025-03-02',
        services: ['Money transmitter', 'Provider of prepaid access'],
        registeredAs: 'Money Services Business (MSB)',
        note: 'States of activity: AL AK AZ.',
      });
      expect(second).toMatchObject({ tradeNames: [], services: ['Check casher'] });
      expect(third).toMatchObject({
        tradeNames: ['EXAMPLE', 'EXAMPLE PRO'],
        note: 'States of activity: CA NY. Located in GB.',
      });
    });
  });

  it('a row without a name or date is rejected with its line', async () => {
    await withFolder(async (write) => {
      const bad = FINCEN_SAMPLE.replace('01/09/2024', 'soon');
      const rejects = (await read(write('msb.txt', bad))).filter((record) => record.type === 'reject');
      expect(rejects).toMatchObject([{ provenance: { file: 'msb.txt', line: 3 } }]);
    });
  });

  it('damaged or foreign files are rejected or read in part, without a crash', async () => {
    const next = seededUint32(9);
    await withFolder(async (write) => {
      for (const text of ['', 'a\tb\tc\r\n', '<html></html>'])
        await expect(read(write('x.txt', text))).rejects.toMatchObject({ code: 'INVALID_FILE' });
      const whole = Buffer.from(FINCEN_SAMPLE);
      for (let round = 0; round < 60; round++) {
        const broken = Buffer.from(whole.subarray(0, 200 + (next() % (whole.length - 200))));
        for (let hit = 0; hit < 4; hit++) broken[next() % broken.length] = next() & 0xff;
        const records = await read(write('x.txt', broken)).catch((error: unknown) => {
          if (error instanceof AssayError && error.code === 'INVALID_FILE') return [];
          throw error;
        });
        expect(records.filter((record) => record.type === 'registration').length).toBeLessThanOrEqual(7);
      }
    });
  });
});

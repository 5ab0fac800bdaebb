import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { euReader } from '../../../src/sources/eu/read.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';
import { collect, withFolder } from '../collect.ts';

const NAMES = sharedData('eu', 'eu_fsf_names_2026-05-01.jsonl.gz');

describeWithSharedData('the EU list as issued', () => {
  it('reads the XML 1.1', async () => {
    const { headers, parties, rejects } = await collect(euReader, sharedData('eu', 'eu_fsf_1_1_excerpt.xml'));
    expect(headers).toEqual([
      { type: 'header', lists: ['EU'], publishedAt: '2018-12-21', layout: 'EU_FSF_1_1' },
    ]);
    expect(rejects).toEqual([]);
    expect(parties).toMatchObject([
      {
        entityId: '1',
        schema: 'Person',
        names: [{ text: 'Robert Gabriel Mugabe', kind: 'primary', weak: false }],
        programs: ['ZWE'],
        birthDates: ['1924-02-21'],
        countries: [],
        listedAt: '2018-02-16',
      },
      {
        entityId: '207',
        schema: 'Organization',
        names: [
          { text: 'İslami Büyük Doğu Akıncılar Cephesi', kind: 'primary' },
          { text: 'Great Islamic Eastern Warriors Front', kind: 'alias' },
          { text: 'Фронт на великите ислямски източни воини', script: 'BG' },
          { text: 'IBDA-C' },
        ],
        programs: ['TERR'],
        listedAt: '2003-12-22',
      },
    ]);
  });

  it('reads the CSV 1.1, one party from many rows', async () => {
    const { headers, parties } = await collect(
      euReader,
      sharedData('eu', 'eu_fsf_csv_1_1_first21cols_2026-08-05.csv'),
    );
    expect(headers).toEqual([
      { type: 'header', lists: ['EU'], publishedAt: '2026-08-05', layout: 'EU_CSV_1_1' },
    ]);
    expect(parties).toMatchObject([
      {
        entityId: '13',
        schema: 'Person',
        names: [
          { text: 'Saddam Hussein Al-Tikriti', kind: 'primary' },
          { text: 'Abu Ali', kind: 'alias' },
        ],
        programs: ['IRQ'],
        listedAt: '2003-07-08',
        remarks: '(UNSC RESOLUTION 1483)',
      },
    ]);
  });

  it('reads 5,861 entities of the JSON lines: 29,809 names, and those of one more that the file gives in both shapes', async () => {
    const { headers, parties, rejects } = await collect(euReader, NAMES);
    expect(headers[0]).toMatchObject({ lists: ['EU'], publishedAt: null });
    expect(rejects).toEqual([]);
    expect(parties.length).toBe(5_861);
    expect(new Set(parties.map((party) => party.entityId)).size).toBe(5_860);
    const names = parties.reduce((sum, party) => sum + party.names.length, 0);
    const other = parties.find((party) => party.programs.length > 0);
    expect(other).toMatchObject({
      entityId: 'EU.1001.60',
      programs: ['TAQA'],
      listedAt: '2019-04-08',
      schema: 'Person',
    });
    expect(names - (other?.names.length ?? 0)).toBe(29_809);
    expect(parties.flatMap((party) => party.addresses)).toEqual([]);
  });

  it('rejects JSON lines that end inside a line, with the line', async () => {
    const whole = gunzipSync(readFileSync(NAMES));
    await withFolder(async (write) => {
      const cut = write('eu.jsonl', whole.subarray(0, 3_000));
      await expect(collect(euReader, cut)).rejects.toMatchObject({
        code: 'INVALID_FILE',
        message: expect.stringMatching(/^eu\.jsonl, line \d+: not a JSON object/),
      });
    });
  });
});

describe('EU entities', () => {
  const xml = (inner: string): string =>
    `<export xmlns="http://eu.europa.ec/fpi/fsd/export" generationDate="2026-01-02T00:00:00+01:00"><sanctionEntity logicalId="9" designationDate="2024-06-24">${inner}</sanctionEntity></export>`;

  it('keeps weak names, citizenships, ranges of birth years and wallets in remarks', async () => {
    await withFolder(async (write) => {
      const { parties } = await collect(
        euReader,
        write(
          'eu.xml',
          xml(`<remark>Bitcoin: 1NE2NiGhhbkFPSEyNWwj7hKGhGDedBtSrQ</remark><subjectType code="person"/>
          <nameAlias wholeName="One" strong="true"/><nameAlias wholeName="Uno" strong="false"/>
          <citizenship countryIso2Code="RU"/><address countryIso2Code="00"/>
          <birthdate yearRangeFrom="1960" yearRangeTo="1961"/><birthdate dayOfMonth="" monthOfYear="5" year="1972"/>`),
        ),
      );
      expect(parties).toMatchObject([
        {
          names: [{ weak: false }, { weak: true }],
          countries: ['RU'],
          birthDates: ['1960', '1961', '1972-05'],
          listedAt: '2024-06-24',
          addresses: [{ address: '1NE2NiGhhbkFPSEyNWwj7hKGhGDedBtSrQ', currency: 'XBT' }],
        },
      ]);
    });
  });

  it('rejects a truncated list and another publisher’s file', async () => {
    await withFolder(async (write) => {
      await expect(
        collect(euReader, write('cut.xml', xml('<nameAlias wholeName="A"/>').slice(0, -12))),
      ).rejects.toMatchObject({ code: 'INVALID_FILE' });
      await expect(collect(euReader, write('x.xml', '<sdnList/>'))).rejects.toMatchObject({
        code: 'INVALID_FILE',
        message: expect.stringContaining('the EU list'),
      });
    });
  });
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { unReader } from '../../../src/sources/un/read.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';
import { collect, withFolder } from '../collect.ts';

const ISSUED = sharedData('un', 'un_consolidated_2026-02-27.xml');

describeWithSharedData('the UN list as issued', () => {
  it('reads 730 people and 273 entities with all their names', async () => {
    const { headers, parties, rejects } = await collect(unReader, ISSUED);
    expect(headers).toEqual([{ type: 'header', lists: ['UN'], publishedAt: '2026-02-27', layout: 'UN_XML' }]);
    expect(rejects).toEqual([]);
    expect(parties.filter((party) => party.schema === 'Person').length).toBe(730);
    expect(parties.filter((party) => party.schema === 'Organization').length).toBe(273);
    expect(new Set(parties.map((party) => party.entityId)).size).toBe(1_003);
    expect(parties.every((party) => party.listedAt !== null)).toBe(true);
    const names = parties.flatMap((party) => party.names);
    expect(names.filter((name) => name.weak).length).toBe(615);
    expect(names.filter((name) => name.kind === 'former').length).toBe(19);
    expect(names.filter((name) => name.script === 'original').length).toBe(378);
    expect(parties.flatMap((party) => party.addresses)).toEqual([]);
    expect(parties.find((party) => party.entityId === '6907995')).toMatchObject({
      names: [
        { text: 'GASTON IYAMUREMYE', kind: 'primary', weak: false },
        { text: 'Rumuli', kind: 'alias', weak: true },
        { text: 'Byiringiro Victor Rumuli', kind: 'alias', weak: false },
        { text: 'Victor Rumuri' },
        { text: 'Michel Byiringiro' },
      ],
      programs: ['DRC'],
      listedAt: '2010-12-01',
      countries: ['RW', 'CD'],
    });
  });

  it('refuses the list cut in the middle', async () => {
    const whole = readFileSync(ISSUED);
    await withFolder(async (write) => {
      const cut = write('un.xml', whole.subarray(0, whole.length / 2));
      await expect(collect(unReader, cut)).rejects.toMatchObject({
        code: 'INVALID_FILE',
        message: expect.stringMatching(/^un\.xml, line \d+: not well-formed/),
      });
    });
  });
});

const person = (inner: string): string => `<?xml version="1.0"?>
<CONSOLIDATED_LIST dateGenerated="2026-01-02T00:00:09.554Z"><INDIVIDUALS>
<INDIVIDUAL>${inner}</INDIVIDUAL></INDIVIDUALS></CONSOLIDATED_LIST>`;

describe('UN entries', () => {
  it('reads ranges of birth years, birth dates of aliases, and wallets in comments', async () => {
    await withFolder(async (write) => {
      const { parties } = await collect(
        unReader,
        write(
          'un.xml',
          person(`<DATAID>1</DATAID><FIRST_NAME>A</FIRST_NAME><SECOND_NAME>B</SECOND_NAME><UNHEARD_OF/>
          <COMMENTS1>Uses the TRON wallet TW5tokvhEfrb77z98Rc8HqbkzQJ6sxYtGX.</COMMENTS1>
          <INDIVIDUAL_DATE_OF_BIRTH><TYPE_OF_DATE>BETWEEN</TYPE_OF_DATE><FROM_YEAR>1973</FROM_YEAR><TO_YEAR>1975</TO_YEAR></INDIVIDUAL_DATE_OF_BIRTH>
          <INDIVIDUAL_ALIAS><QUALITY>f.k.a.</QUALITY><ALIAS_NAME>C</ALIAS_NAME><DATE_OF_BIRTH>1969-02-05</DATE_OF_BIRTH></INDIVIDUAL_ALIAS>`),
        ),
      );
      expect(parties).toMatchObject([
        {
          birthDates: ['1973', '1974', '1975', '1969-02-05'],
          names: [{ text: 'A B' }, { text: 'C', kind: 'former' }],
          addresses: [{ address: 'TW5tokvhEfrb77z98Rc8HqbkzQJ6sxYtGX', currency: 'TRX' }],
        },
      ]);
    });
  });

  it('rejects an entry without a name, with its line', async () => {
    await withFolder(async (write) => {
      const { parties, rejects } = await collect(unReader, write('un.xml', person('<DATAID>1</DATAID>')));
      expect(parties).toEqual([]);
      expect(rejects).toMatchObject([{ text: 'DATAID=1', provenance: { file: 'un.xml', line: 3 } }]);
    });
  });
});

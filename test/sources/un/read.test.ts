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
    expect(names.filter((name) => name.weak).length).toBe(628);
    expect(names.filter((name) => name.kind === 'former').length).toBe(19);
    expect(names.filter((name) => name.script === 'original').length).toBe(417);
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

  it('has no element with several names left, and finds each of them', async () => {
    const { parties } = await collect(unReader, ISSUED);
    const namesOf = (id: string) =>
      parties.find(({ entityId }) => entityId === id)?.names.map(({ text }) => text) ?? [];
    for (const { names } of parties)
      for (const { text } of names) {
        expect(text).not.toMatch(/;|\s{2}|original script|previously listed| na$/);
        expect(/\p{Script=Latin}/u.test(text) && /\p{Script=Arabic}/u.test(text)).toBe(false);
      }
    expect(namesOf('110437')).toEqual(
      expect.arrayContaining(['Halen Bakhtiar', 'Haleh Bakhtiari', 'Haleh Bakhtiyar']),
    );
    expect(namesOf('110413')).toEqual(expect.arrayContaining(['Mohammad Sabet', 'M. Javad Kareemi Sabet']));
    expect(namesOf('6908429')).toEqual(
      expect.arrayContaining(['جبهة النصرة', 'Jabhat al-Nusrah', 'Hayat Tahrir al-Sham']),
    );
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

  it('separates the names of one element, and keeps other words in parentheses', async () => {
    const alias = (quality: string, text: string) =>
      `<INDIVIDUAL_ALIAS><QUALITY>${quality}</QUALITY><ALIAS_NAME>${text}</ALIAS_NAME></INDIVIDUAL_ALIAS>`;
    await withFolder(async (write) => {
      const { parties } = await collect(
        unReader,
        write(
          'un.xml',
          person(
            `<DATAID>1</DATAID><FIRST_NAME>A (AAA) ; B</FIRST_NAME>${alias('Low', 'Amir Khazmat (original script: Амир Хазмат)')}${alias(
              'Good',
              'حسن غول (Hassan Ghul; Hasan\n   Gul (HG))',
            )}${alias('f.k.a.', 'C; D b) E,')}${alias('Good', ') F (G')}${alias('Good', 'H (birth name)')}`,
          ),
        ),
      );
      expect(
        parties[0]?.names.map(({ text, kind, weak, script }) =>
          [text, kind, weak ? 'weak' : '', script ?? ''].join('|'),
        ),
      ).toEqual([
        'A (AAA)|primary||',
        'B|alias||',
        'Amir Khazmat|alias|weak|',
        'Амир Хазмат|alias|weak|original',
        'حسن غول|alias||original',
        'Hassan Ghul|alias||',
        'Hasan Gul (HG)|alias||',
        'C|former||',
        'D|former||',
        'E|former||',
        ') F (G|alias||',
        'H (birth name)|alias||',
      ]);
    });
  });

  it('reads a month of birth from the note, and passes over an age', async () => {
    const birth = (inner: string) =>
      `<INDIVIDUAL_DATE_OF_BIRTH><TYPE_OF_DATE>EXACT</TYPE_OF_DATE>${inner}</INDIVIDUAL_DATE_OF_BIRTH>`;
    await withFolder(async (write) => {
      const { parties } = await collect(
        unReader,
        write(
          'un.xml',
          person(
            `<DATAID>1</DATAID><FIRST_NAME>A</FIRST_NAME>${birth('<NOTE>Nov. 1973 </NOTE>')}${birth(
              '<NOTE>30-35 years old</NOTE>',
            )}${birth('<YEAR>1958</YEAR><NOTE>Sep.</NOTE>')}`,
          ),
        ),
      );
      expect(parties[0]?.birthDates).toEqual(['1973-11', '1958']);
    });
  });

  it('reads a number that is printed in the note or in the second type of a document', async () => {
    const document = (type: string, inner: string) =>
      `<INDIVIDUAL_DOCUMENT><TYPE_OF_DOCUMENT>${type}</TYPE_OF_DOCUMENT>${inner}</INDIVIDUAL_DOCUMENT>`;
    const national = 'National Identification Number';
    await withFolder(async (write) => {
      const { parties } = await collect(
        unReader,
        write(
          'un.xml',
          person(
            `<DATAID>1</DATAID><FIRST_NAME>A</FIRST_NAME>${[
              document(
                'Passport',
                '<NOTE>Tunisian passport number L 191609 issued on 28 Feb. 1996, expired</NOTE>',
              ),
              document('Passport', '<NOTE>issued in 1993, under name B</NOTE>'),
              document(national, '<NOTE>SSN 156-92-9858 (United States of America)</NOTE>'),
              document(
                national,
                '<TYPE_OF_DOCUMENT2>Afghan national identification card (tazkira) number 545167</TYPE_OF_DOCUMENT2><NOTE>issued in 1974</NOTE>',
              ),
              document(national, '<NUMBER>12345678</NUMBER><NOTE>issued in 1975</NOTE>'),
            ].join('')}`,
          ),
        ),
      );
      expect(parties[0]?.identifiers).toEqual([
        { kind: 'passport', value: 'L191609' },
        { kind: 'nationalId', value: '156929858' },
        { kind: 'nationalId', value: '545167' },
        { kind: 'nationalId', value: '12345678' },
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

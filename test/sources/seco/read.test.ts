import { describe, expect, it } from 'vitest';
import { secoReader } from '../../../src/sources/seco/read.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';
import { collect, withFolder } from '../collect.ts';

describeWithSharedData('the Swiss list as issued', () => {
  it('reads the delisted target with its date, and those in force', async () => {
    const { headers, parties, rejects } = await collect(
      secoReader,
      sharedData('ch', 'seco_whole_list_excerpt.xml'),
    );
    expect(headers).toEqual([
      { type: 'header', lists: ['CH'], publishedAt: '2026-08-27', layout: 'SECO_XML' },
    ]);
    expect(rejects).toEqual([]);
    expect(parties).toMatchObject([
      {
        entityId: '5142',
        schema: 'Person',
        names: [
          { text: 'Lukashenka Dzmitry Aliaksandravich', kind: 'primary' },
          { text: 'Lukashenko Dzmitry Aliaksandravich', kind: 'alias', script: 'LATN' },
        ],
        programs: ['Belarus'],
        birthDates: ['1980-03-23'],
        listedAt: null,
        delistedAt: '2016-03-01',
      },
      { entityId: '46130', schema: 'Organization', listedAt: '2021-08-11', delistedAt: null },
      {
        entityId: '34461',
        schema: 'Vessel',
        names: [{ text: 'Hui Chon' }, { text: 'Hwang Gum San 2', kind: 'alias' }],
        programs: ['North Korea'],
        listedAt: '2016-05-18',
        delistedAt: null,
      },
    ]);
  });
});

const list = (target: string, attributes = 'list-type="whole-list"'): string =>
  `<swiss-sanctions-list ${attributes} date="2026-01-02"><place ssid="7"><country iso-code="IR">Iran</country></place>
  <target ssid="1"><entity><identity main="true"><name name-type="primary-name" quality="good"><name-part order="1"><value>X</value></name-part></name>
  <name name-type="formerly-known-as" quality="low"><name-part order="2"><value>B</value></name-part><name-part order="1"><value>A</value></name-part></name>
  <address place-id="7"/></identity><other-information>ETH wallet 0x1da5821544e25c636c1417ba96ade4cf6d2f9b5a</other-information></entity>${target}</target></swiss-sanctions-list>`;

const modification = (type: string, date: string): string =>
  `<modification modification-type="${type}" effective-date="${date}"/>`;

describe('Swiss targets', () => {
  it.each([
    [
      'listed again after a delisting',
      [
        ['listed', '2015-01-01'],
        ['de-listed', '2016-01-01'],
        ['listed', '2020-01-01'],
      ],
      '2015-01-01',
      null,
    ],
    [
      'delisted, whatever the order in the file',
      [
        ['de-listed', '2016-01-01'],
        ['listed', '2015-01-01'],
      ],
      '2015-01-01',
      '2016-01-01',
    ],
    [
      'amended last',
      [
        ['amended', '2022-01-01'],
        ['listed', '2015-01-01'],
      ],
      '2015-01-01',
      null,
    ],
    [
      'delisted on the day of the list',
      [
        ['de-listed', '2026-01-02'],
        ['listed', '2015-01-01'],
      ],
      '2015-01-01',
      '2026-01-02',
    ],
    [
      'that is delisted from a later day on',
      [
        ['de-listed', '2026-01-03'],
        ['listed', '2015-01-01'],
      ],
      '2015-01-01',
      null,
    ],
    ['of unknown past', [], null, null],
  ] as const)('reads a target %s', async (_, modifications, listedAt, delistedAt) => {
    await withFolder(async (write) => {
      const { parties } = await collect(
        secoReader,
        write('ch.xml', list(modifications.map(([type, date]) => modification(type, date)).join(''))),
      );
      expect(parties).toMatchObject([{ entityId: '1', listedAt, delistedAt }]);
    });
  });

  it('keeps former and weak names, countries of places, and wallets in free text', async () => {
    await withFolder(async (write) => {
      const { parties } = await collect(secoReader, write('ch.xml', list('')));
      expect(parties).toMatchObject([
        {
          names: [
            { text: 'X', kind: 'primary', weak: false },
            { text: 'A B', kind: 'former', weak: true },
          ],
          countries: ['IR'],
          addresses: [{ address: '0x1da5821544e25c636c1417ba96ade4cf6d2f9b5a', currency: 'ETH' }],
        },
      ]);
    });
  });

  it('rejects a delta in place of the whole list, and a truncated list', async () => {
    await withFolder(async (write) => {
      const { headers } = await collect(secoReader, write('delta.xml', list('', 'list-type="delta"')));
      expect(headers[0]?.lists).toEqual([]);
      await expect(collect(secoReader, write('cut.xml', list('').slice(0, -10)))).rejects.toMatchObject({
        code: 'INVALID_FILE',
      });
    });
  });
});

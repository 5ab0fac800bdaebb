import { describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import {
  dateInName,
  delistedAt,
  emptyList,
  isHeldBack,
  type ListState,
  listedAt,
  normalPublication,
  type ObservedEntry,
  type ObservedParty,
  periodsOf,
  publicationOf,
  type ReadList,
  withFile,
} from '../../src/labels/sanctions.ts';
import type { UnreadableRow } from '../../src/sources/unreadable-rows.ts';

const entry = (
  entityId: string,
  key: string,
  currency = 'ETH',
  listed: string | null = null,
): ObservedEntry => ({
  entityId,
  key,
  chain: 'ETH',
  address: key,
  details: {
    entityName: `name of ${entityId}`,
    program: 'CYBER2',
    jurisdiction: null,
    listedAt: listed,
    delistedAt: null,
    currencies: [currency],
  },
});

const party = (entityId: string): ObservedParty => ({
  entityId,
  details: {
    entityName: `name of ${entityId}`,
    schema: 'Person',
    program: null,
    reference: null,
    listedAt: null,
    delistedAt: null,
    assetFreeze: null,
    measures: [],
  },
});

const file = (
  publishedAt: string,
  entries: readonly ObservedEntry[],
  more: Partial<ReadList> = {},
): ReadList => ({
  list: 'OFAC_SDN',
  publishedAt,
  contentHash: `hash of ${publishedAt}`,
  layout: 'SDN_ADVANCED',
  whole: true,
  parties: new Set(['1', '2', '3', ...entries.map((one) => one.entityId)]),
  entries,
  ...more,
});

const imported = (files: readonly ReadList[]): ListState =>
  files.reduce((state, one) => withFile(state, one, { force: false }), emptyList('OFAC_SDN'));

const dates = (state: ListState): Record<string, string | null> =>
  Object.fromEntries(state.entries.map((one) => [`${one.entityId}/${one.key}`, delistedAt(state, one)]));

const permutations = <T>(items: readonly T[]): T[][] =>
  items.length <= 1
    ? [[...items]]
    : items.flatMap((item, at) =>
        permutations([...items.slice(0, at), ...items.slice(at + 1)]).map((rest) => [item, ...rest]),
      );

describe('the state of a sanctions list', () => {
  const files = [
    file('2021-07-01', [entry('10', 'aa'), entry('11', 'bb')], { layout: 'LEGACY_CSV' }),
    file('2025-03-04', [entry('10', 'aa'), entry('12', 'cc')]),
    file('2025-03-21', [entry('12', 'cc', 'ETH', '2022-08-08')]),
    file('2025-03-21', [entry('12', 'cc'), entry('13', 'dd')], {
      contentHash: 'another layout',
      layout: 'SDN_XML',
    }),
  ];

  it('is the same for any order of imports', () => {
    const states = permutations(files).map(imported);
    expect(states).toHaveLength(24);
    for (const state of states) expect(state).toEqual(states[0]);
  });

  it('keeps the entries of the newest file in force, and dates the others by the first file without them', () => {
    expect(dates(imported(files))).toEqual({
      '10/aa': '2025-03-21',
      '11/bb': '2025-03-04',
      '12/cc': null,
      '13/dd': null,
    });
  });

  it('has a relisted entry in force, or delisted after the last file that contains it', () => {
    const relisted = imported([
      file('2020-01-01', [entry('10', 'aa')]),
      file('2021-01-01', []),
      file('2022-01-01', [entry('10', 'aa')]),
    ]);
    expect(dates(relisted)).toEqual({ '10/aa': null });
    expect(dates(withFile(relisted, file('2023-01-01', []), { force: false }))).toEqual({
      '10/aa': '2023-01-01',
    });
  });

  it('keeps the details of the newest file that contains the entry', () => {
    const later = file('2025-03-04', [entry('10', 'aa', 'ARB', '2022-08-08')]);
    for (const order of permutations([file('2021-07-01', [entry('10', 'aa')]), later])) {
      const [kept] = imported(order).entries;
      expect(kept?.details.listedAt).toBe('2022-08-08');
      expect(kept?.details.currencies).toEqual(['ARB']);
      expect(kept?.firstAt).toBe('2021-07-01');
    }
  });

  it('counts a wallet of a party under two currencies once', () => {
    const state = imported([file('2025-03-04', [entry('10', 'aa', 'ETH'), entry('10', 'aa', 'ARB')])]);
    expect(state.entries.map((one) => one.details.currencies)).toEqual([['ARB', 'ETH']]);
  });

  it('is unchanged if the same content is imported again', () => {
    const state = imported(files);
    expect(withFile(state, { ...files[1]!, publishedAt: '2026-01-01' }, { force: false })).toBe(state);
  });

  it('uses a date of delisting from the publisher', () => {
    const marked = entry('10', 'aa');
    const state = imported([
      file('2025-03-04', [{ ...marked, details: { ...marked.details, delistedAt: '2024-12-01' } }]),
    ]);
    expect(dates(state)).toEqual({ '10/aa': '2024-12-01' });
  });

  it('treats an excerpt as a sighting that delists nothing', () => {
    const state = imported([
      file('2025-03-04', [entry('10', 'aa')]),
      file('2025-03-21', [entry('12', 'cc')], { whole: false, parties: new Set(['12']) }),
    ]);
    expect(dates(state)).toEqual({ '10/aa': null, '12/cc': null });
    expect(state.newestAt).toBe('2025-03-04');
    const later = withFile(state, file('2025-04-01', []), { force: false });
    expect(dates(later)['10/aa']).toBe('2025-04-01');
  });
});

describe('the periods of a wallet that was listed again', () => {
  const files = [
    file('2026-01-01', [entry('10', 'aa')]),
    file('2026-02-01', []),
    file('2026-03-01', []),
    file('2026-04-01', [entry('10', 'aa')]),
    file('2026-05-01', []),
  ];
  const periods = (state: ListState): readonly (readonly [string | null, string | null])[] =>
    periodsOf(state, state.entries[0]!).map((one) => [one.listedAt, one.delistedAt]);

  it('are the same for any order of imports', () => {
    const states = permutations(files).map(imported);
    expect(periods(states[0]!)).toEqual([
      ['2026-01-01', '2026-02-01'],
      ['2026-04-01', '2026-05-01'],
    ]);
    for (const state of states) expect(state).toEqual(states[0]);
  });

  it('are not ended by a file of another layout, an excerpt, or a file with an unreadable row in its place', () => {
    for (const more of [
      { layout: 'LEGACY_CSV' },
      { whole: false },
      { unreadable: [{ entityId: '10', hash: 'x' }] },
    ]) {
      const states = permutations([files[0]!, file('2026-02-01', [], more), files[3]!]).map(imported);
      expect(periods(states[0]!)).toEqual([['2026-01-01', null]]);
      for (const state of states) expect(state).toEqual(states[0]);
    }
  });

  it('are not ended by a file if another one of its date has the wallet', () => {
    const shared = [
      file('2026-02-01', [entry('10', 'aa')]),
      file('2026-02-01', [], { contentHash: 'another view' }),
    ];
    for (const order of permutations([files[0]!, ...shared, files[3]!]))
      expect(periods(imported(order))).toEqual([['2026-01-01', null]]);
  });

  it('are not ended by an unreadable row that only a file after it has as well', () => {
    const unreadable = [{ entityId: '10', hash: 'x' }];
    const state = imported([files[0]!, file('2026-02-01', [], { unreadable }), { ...files[3]!, unreadable }]);
    expect(periods(state)).toEqual([['2026-01-01', null]]);
  });

  it('are one if the publisher itself says when it delisted the wallet', () => {
    const { details } = entry('10', 'aa');
    const marked = { ...entry('10', 'aa'), details: { ...details, delistedAt: '2026-03-15' } };
    const state = imported([files[0]!, files[1]!, file('2026-04-01', [marked])]);
    expect(periods(state)).toEqual([['2026-01-01', '2026-03-15']]);
  });
});

describe('a file with rows that cannot be read', () => {
  const before = file('2026-01-01', [entry('10', 'aa'), entry('11', 'bb')], {
    details: [party('10'), party('11')],
  });
  const row = (entityId: string | null, hash = 'x'): UnreadableRow => ({ entityId, hash });
  const later = (day: string, unreadable: readonly UnreadableRow[]): ReadList =>
    file(day, [entry('11', 'bb')], { details: [party('11')], unreadable });

  it.each([
    ['of the party', [row('10')]],
    ['of an unknown party', [row(null)]],
  ])('does not delist a wallet that may be in a row %s, in any order of imports', (_, unreadable) => {
    const files = [before, later('2026-02-01', unreadable), later('2026-03-01', unreadable)];
    for (const order of permutations(files)) {
      const state = imported(order);
      expect(dates(state)).toEqual({ '10/aa': null, '11/bb': null });
      expect(state.entries.map((one) => isHeldBack(state, one))).toEqual([true, false]);
      expect(dates(withFile(state, later('2026-04-01', []), { force: false }))['10/aa']).toBe('2026-04-01');
    }
  });

  it('delists a wallet if the row is of another party, was there before, or the import is forced', () => {
    const other = later('2026-02-01', [row('12')]);
    expect(dates(imported([before, other]))['10/aa']).toBe('2026-02-01');
    const lasting = [{ ...before, unreadable: [row('10')] }, later('2026-02-01', [row('10')])];
    expect(dates(imported(lasting))['10/aa']).toBe('2026-02-01');
    const held = imported([before, later('2026-02-01', [row('10')])]);
    const forced = withFile(held, later('2026-02-01', [row('10')]), { force: true });
    expect(dates(forced)['10/aa']).toBe('2026-02-01');
    const next = withFile(forced, file('2026-03-01', [], { unreadable: [row('10'), row('11', 'y')] }), {
      force: false,
    });
    expect(dates(next)).toEqual({ '10/aa': '2026-02-01', '11/bb': null });
    const lasts = withFile(forced, file('2026-03-01', [], { unreadable: [row('10')] }), { force: false });
    expect(dates(lasts)['11/bb']).toBe('2026-03-01');
  });

  it('delists a wallet of a party that the file has, if the row is of an unknown one', () => {
    const after = file('2026-02-01', [], { details: [party('10')], unreadable: [row(null)] });
    expect(dates(imported([before, after]))).toEqual({ '10/aa': '2026-02-01', '11/bb': null });
  });

  it('delists as before if it is not known which rows of the former file could not be read', () => {
    const state = imported([before]);
    const old = { ...state, files: state.files.map(({ unreadable: _, ...one }) => one) };
    const next = withFile(old, later('2026-02-01', [row('10')]), { force: false });
    expect(dates(next)['10/aa']).toBe('2026-02-01');
  });
});

describe('a corrected file of the same date', () => {
  const wrong = file('2026-01-01', [entry('10', 'aa'), entry('11', 'bb', 'ETH', '2020-01-01')], {
    contentHash: 'z wrong',
  });
  const right = file('2026-01-01', [entry('11', 'bb', 'ETH', '2021-01-01')], {
    contentHash: 'a right',
    isConfirmed: true,
  });

  it('replaces the other one if its publisher serves it now', () => {
    const state = imported([wrong, right]);
    expect(dates(state)).toEqual({ '10/aa': '2026-01-01', '11/bb': null });
    expect(state.entries.find((one) => one.key === 'bb')?.details.listedAt).toBe('2021-01-01');
    expect(state.parties).not.toContain('10');
    expect(withFile(state, wrong, { force: false })).toBe(state);
    const next = withFile(state, file('2026-02-01', [entry('11', 'bb')]), { force: false });
    expect(dates(next)).toEqual({ '10/aa': '2026-01-01', '11/bb': null });
  });

  it('is replaced in turn if its publisher serves the other one again', () => {
    const state = imported([wrong, right, { ...wrong, isConfirmed: true }]);
    expect(dates(state)).toEqual({ '10/aa': null, '11/bb': null });
    expect(state.entries.find((one) => one.key === 'bb')?.details.listedAt).toBe('2020-01-01');
  });

  it('counts beside the other one if it is not known which is newer, or if it has another layout', () => {
    const unknown = imported([wrong, { ...right, isConfirmed: false }]);
    const layouts = imported([wrong, { ...right, layout: 'SDN_XML' }]);
    const excerpt = imported([wrong, { ...right, whole: false }]);
    const ofExcerpt = imported([{ ...wrong, whole: false }, right]);
    for (const state of [unknown, layouts, excerpt, ofExcerpt])
      expect(dates(state)).toEqual({ '10/aa': null, '11/bb': null });
  });

  it('is rejected if it would delist more than half of the parties', () => {
    const short = { ...right, parties: new Set(['11']) };
    expect(() => imported([wrong, short])).toThrow(/would delist 4 of the 5 parties/);
    // It counts beside the other one, and delists none.
    expect(imported([wrong, { ...short, isConfirmed: false }]).parties).toHaveLength(5);
  });

  it('does not delist a wallet that may be in one of its unreadable rows', () => {
    const held = imported([wrong, { ...right, unreadable: [{ entityId: '10', hash: 'x' }] }]);
    expect(dates(held)).toEqual({ '10/aa': null, '11/bb': null });
    expect(held.entries.map((one) => isHeldBack(held, one))).toEqual([true, false]);
    const next = file('2026-02-01', [entry('11', 'bb')], { unreadable: [{ entityId: '10', hash: 'x' }] });
    expect(dates(withFile(held, next, { force: false }))['10/aa']).toBeNull();
    const whole = withFile(held, { ...right, contentHash: 'b right' }, { force: false });
    expect(dates(whole)['10/aa']).toBe('2026-01-01');
  });

  it('does not delist a wallet of a party that only the other one has, if one of its unreadable rows is of an unknown party', () => {
    const state = imported([
      { ...wrong, details: [party('10'), party('11')] },
      { ...right, details: [party('11')], unreadable: [{ entityId: null, hash: 'x' }] },
    ]);
    expect(dates(state)).toEqual({ '10/aa': null, '11/bb': null });
  });

  it('decides instead of the other one about the wallets of an earlier file', () => {
    const day = '2026-02-01';
    const before = file('2026-01-01', [entry('10', 'aa'), entry('11', 'bb')]);
    const without = file(day, [entry('11', 'bb')], { contentHash: 'z without' });
    const unreadable = [{ entityId: '10', hash: 'x' }];
    const corrected = { ...without, contentHash: 'a corrected', isConfirmed: true, unreadable };
    expect(dates(imported([before, without]))['10/aa']).toBe(day);
    expect(dates(imported([before, without, corrected]))['10/aa']).toBeNull();
  });
});

describe('an implausible list', () => {
  const many = new Set(Array.from({ length: 10 }, (_, at) => String(at)));
  const base = imported([file('2025-03-04', [], { parties: many })]);

  it('is rejected if it would delist more than half of the parties, with or without wallets', () => {
    const half = file('2025-03-21', [], { parties: new Set(['0', '1', '2', '3', '4']) });
    expect(withFile(base, half, { force: false }).parties).toHaveLength(5);
    const less = file('2025-03-21', [], { parties: new Set(['0', '1', '2', '3', 'new', 'newer', 'newest']) });
    expect(() => withFile(base, less, { force: false })).toThrow(AssayError);
    expect(() => withFile(base, less, { force: false })).toThrow(/6 of the 10 parties/);
    expect(withFile(base, less, { force: true }).newestAt).toBe('2025-03-21');
  });

  it('is rejected if it is empty, but never if it is older', () => {
    expect(() => withFile(base, file('2025-03-21', [], { parties: new Set() }), { force: false })).toThrow(
      /no party/,
    );
    const older = file('2001-01-01', [], { parties: new Set(['x']) });
    expect(withFile(base, older, { force: false }).parties).toHaveLength(10);
  });
});

describe('the publication date', () => {
  const source = {
    inside: null,
    option: null,
    names: ['sdn.csv'],
    lastModified: null,
    now: Date.UTC(2026, 10, 21),
  };

  it.each([
    ['sdn_2021-07.csv', '2021-07-01'],
    ['sdn_20210701.csv', '2021-07-01'],
    ['sdn-2021-07-15.csv', '2021-07-15'],
    ['20260805-FULL-1_1.csv', '2026-08-05'],
    ['xmlFullSanctionsList_1_1.xml', null],
    ['sdn_20219901.csv', null],
    ['block-17173049.json', null],
  ])('in the name %s is %s', (name, date) => {
    expect(dateInName(name)).toBe(date);
  });

  it('comes from the file, then the option, then the name, then the server', () => {
    const all = {
      ...source,
      inside: '2025-03-04',
      option: '2025-03-05',
      names: ['sdn_2021-07.csv'],
      lastModified: '2025-03-06T10:00:00Z',
    };
    expect(publicationOf(all)).toBe('2025-03-04');
    expect(publicationOf({ ...all, inside: null })).toBe('2025-03-05');
    expect(publicationOf({ ...all, inside: null, option: null })).toBe('2021-07-01');
    expect(publicationOf({ ...source, lastModified: '2025-03-06T10:00:00Z' })).toBe(
      '2025-03-06T10:00:00.000Z',
    );
  });

  it('is required if no source gives it, and rejected if it is malformed or in the future', () => {
    expect(() => publicationOf(source)).toThrow(/--published/);
    expect(() => publicationOf({ ...source, option: '2027-01-01' })).toThrow(/future/);
    expect(() => publicationOf({ ...source, option: '21.03.2025' })).toThrow(/not a date/);
    expect(normalPublication('2025-02')).toBe('2025-02-01');
    expect(normalPublication('2025-13-01')).toBeNull();
  });
});

describe('the listing date of a wallet', () => {
  const listings = (state: ListState): Record<string, readonly [string | null, string]> =>
    Object.fromEntries(
      state.entries.map((one) => {
        const { listedAt: date, listedAtBasis } = listedAt(state, one);
        return [one.key, [date, listedAtBasis] as const];
      }),
    );
  const old = entry('1', 'old', 'ETH', '2019-09-13');
  const late = entry('1', 'late', 'ETH', '2019-09-13');

  it('is the date of the party unless an earlier file of the list shows otherwise', () => {
    expect(listings(imported([file('2025-03-04', [old, late])]))).toEqual({
      old: ['2019-09-13', 'PARTY'],
      late: ['2019-09-13', 'PARTY'],
    });
  });

  it('is the date of the first file with the wallet if an earlier one, after the designation, lacks it', () => {
    const files = [file('2025-03-04', [old]), file('2025-03-21', [old, late])];
    for (const order of permutations(files))
      expect(listings(imported(order))).toEqual({
        old: ['2019-09-13', 'PARTY'],
        late: ['2025-03-21', 'WALLET'],
      });
  });

  it('is the date of the party if the earlier file is from before the designation, an excerpt, or of another format', () => {
    const now = file('2025-03-21', [old, late]);
    for (const earlier of [
      file('2018-01-01', []),
      file('2019-09-13', []),
      file('2025-03-04', [old], { whole: false }),
      file('2021-07-01', [old], { layout: 'LEGACY_CSV' }),
    ])
      expect(listings(imported([earlier, now])).late).toEqual(['2019-09-13', 'PARTY']);
  });

  it('is the date of the first file with the wallet if the publisher gives no date', () => {
    const undated = entry('2', 'undated');
    const files = [file('2025-03-04', [undated]), file('2025-03-21', [undated])];
    expect(listings(imported(files))).toEqual({ undated: ['2025-03-04', 'WALLET'] });
  });
});

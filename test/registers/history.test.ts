import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addFile,
  emptyRegister,
  type FirmRow,
  fileOrder,
  type RegisterFile,
  type RegisterState,
  rowsByFirm,
  spansOf,
} from '../../src/registers/history.ts';
import type { Registration, RegistrationStatus } from '../../src/sources/registers/registration.ts';

const file = (day: number, whole = true): RegisterFile => ({
  asOf: `2026-01-${String(day).padStart(2, '0')}`,
  contentHash: `hash-${day}`.padEnd(64, '0'),
  layout: 'TEST',
  whole,
  records: 0,
});

const firm = (
  name: string,
  status: RegistrationStatus,
  services: readonly string[] = [],
): [string, FirmRow] => [
  name,
  {
    details: {
      jurisdiction: 'DE',
      authority: 'TA',
      legalName: name,
      tradeNames: [],
      lei: null,
      domains: [],
      registrationId: null,
      note: null,
      sourceUrl: null,
    },
    state: { status, registeredAs: 'R', registeredAt: null, endedAt: null, services, passportedTo: [] },
  },
];

const history = (register: RegisterState, id: string): (string | undefined)[] => {
  const found = register.firms.find((one) => one.id === id);
  if (!found) return [];
  return spansOf(found, fileOrder(register.files)).map(
    (span) => `${span.status} ${span.firstSeen.slice(8)}-${span.lastSeen.slice(8)}`,
  );
};

type Content = Readonly<Record<string, RegistrationStatus>>;
const build = (files: readonly (readonly [day: number, Content])[]): RegisterState =>
  files.reduce(
    (state, [day, content]) =>
      addFile(state, file(day), new Map(Object.entries(content).map(([name, status]) => firm(name, status)))),
    emptyRegister('r', 'esma'),
  );

describe('the history of a register', () => {
  it('the newest file decides; a firm that it lacks is withdrawn from its day on', () => {
    const register = build([
      [1, { a: 'AUTHORISED', b: 'AUTHORISED' }],
      [2, { a: 'AUTHORISED' }],
      [3, { a: 'AUTHORISED', c: 'PENDING' }],
    ]);
    expect(history(register, 'a')).toEqual(['AUTHORISED 01-03']);
    expect(history(register, 'b')).toEqual(['AUTHORISED 01-01', 'WITHDRAWN 02-03']);
    expect(history(register, 'c')).toEqual(['PENDING 03-03']);
  });

  it('an older file that is imported later adds history and removes nothing', () => {
    const register = build([
      [3, { a: 'AUTHORISED' }],
      [1, { a: 'PENDING', b: 'AUTHORISED' }],
      [2, {}],
    ]);
    expect(history(register, 'a')).toEqual(['PENDING 01-01', 'WITHDRAWN 02-02', 'AUTHORISED 03-03']);
    expect(history(register, 'b')).toEqual(['AUTHORISED 01-01', 'WITHDRAWN 02-03']);
  });

  it('an incomplete file says nothing about the firms that it lacks', () => {
    const first = addFile(
      emptyRegister('r', 'registers'),
      file(1, false),
      new Map([firm('a', 'REGISTERED')]),
    );
    const second = addFile(first, file(2, false), new Map([firm('b', 'WARNING')]));
    expect(history(second, 'a')).toEqual(['REGISTERED 01-01']);
    expect(history(second, 'b')).toEqual(['WARNING 02-02']);
  });

  it('services that change are a new entry of the same status', () => {
    const first = addFile(emptyRegister('r', 'esma'), file(1), new Map([firm('a', 'AUTHORISED', ['x'])]));
    const second = addFile(first, file(2), new Map([firm('a', 'AUTHORISED', ['x', 'y'])]));
    expect(history(second, 'a')).toEqual(['AUTHORISED 01-01', 'AUTHORISED 02-02']);
  });

  it('is independent of the order of the imports, and the same file changes nothing', () => {
    const content = fc.dictionary(
      fc.constantFrom('a', 'b', 'c'),
      fc.constantFrom<RegistrationStatus>('AUTHORISED', 'PENDING', 'REVOKED'),
    );
    fc.assert(
      fc.property(
        fc.array(content, { minLength: 1, maxLength: 6 }),
        fc.infiniteStream(fc.nat()),
        (contents, order) => {
          const files = contents.map((one, index) => [index + 1, one] as const);
          const shuffled = files
            .map((one) => ({ one, rank: order.next().value ?? 0 }))
            .sort((a, b) => a.rank - b.rank)
            .map(({ one }) => one);
          const inOrder = build(files);
          expect(build(shuffled)).toEqual(inOrder);
          expect(build([...shuffled, ...files])).toEqual(inOrder);
        },
      ),
      { seed: 11, numRuns: 200 },
    );
  });
});

describe('unverified LEIs', () => {
  it('of an earlier release, which identified firms by them, keep their history', () => {
    const [, row] = firm('Okapi Ltd.', 'REGISTERED');
    const lei = '5299009N55YRQC69CN08';
    const named = (legalName: string): FirmRow => ({ ...row, details: { ...row.details, legalName, lei } });
    const before = addFile(
      emptyRegister('esma-other', 'esma'),
      file(1),
      new Map([[`DE|${lei}`, named('Okapi Ltd.')]]),
    );
    const rows: Registration[] = ['Okapi Ltd', 'Zebu Ltd.'].map((legalName, index) => ({
      ...{ type: 'registration', register: 'esma-other', ...row.details, ...row.state, legalName, lei },
      provenance: { file: 'f', line: index },
    }));
    const after = addFile(before, file(2), rowsByFirm(rows, '2026-01-02'));
    expect(
      after.firms.map((one) => [
        one.details.legalName,
        spansOf(one, fileOrder(after.files)).map(({ status, firstSeen }) => `${status} ${firstSeen}`),
      ]),
    ).toEqual([
      ['Okapi Ltd', ['REGISTERED 2026-01-01']],
      ['Zebu Ltd.', ['REGISTERED 2026-01-02']],
    ]);
  });
});

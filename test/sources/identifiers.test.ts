/** Numbers of registers and documents: one form for each, check digits, and the words by which lists name them. */
import { describe, expect, it } from 'vitest';
import {
  IdentifierList,
  identifierKindOf,
  identifierLabel,
  identifierRule,
  normaliseIdentifier,
} from '../../src/sources/identifiers.ts';

describe('an identifier', () => {
  it.each([
    ['imo', 'IMO 9187629', '9187629'],
    ['imo', 'imo no. 9074729', '9074729'],
    ['imo', '9187629', '9187629'],
    ['imo', '9187628', null],
    ['imo', '918762', null],
    ['tailNumber', 'ep-mna', 'EPMNA'],
    ['tailNumber', '12345', null],
    ['tailNumber', 'N', null],
    ['lei', '5493 00ti-s4zz08q05f82', null],
    ['lei', '529900T8BM49AURSDO55', '529900T8BM49AURSDO55'],
    ['lei', '529900t8bm49aursdo 55', '529900T8BM49AURSDO55'],
    ['lei', '529900T8BM49AURSDO54', null],
    ['lei', '529900T8BM49AURSDO5', null],
    ['registrationNumber', 'HRB 123/45', 'HRB12345'],
    ['registrationNumber', '1-2', null],
    ['registrationNumber', 'ABCDEF', null],
    ['passport', 'OB 0243318', 'OB0243318'],
    ['passport', 'ABC', null],
    ['nationalId', '1-78-09-44621-80', '1780944621 80'.replace(' ', '')],
    ['nationalId', '１２３４５', '12345'],
  ] as const)('%s %j becomes %j', (kind, text, value) => {
    expect(normaliseIdentifier(kind, text)).toBe(value);
  });

  it('has a label and a rule for messages', () => {
    expect(identifierLabel('imo')).toBe('IMO number');
    expect(identifierRule('lei')).toMatch(/20 characters/);
  });

  it.each([
    ['Passport', 'Person', 'passport'],
    ['Diplomatic Passport', 'Person', 'passport'],
    ['Número de pasaporte', 'Person', 'passport'],
    ['National Identification Number', 'Person', 'nationalId'],
    ['Tazkira National ID Card', 'Person', 'nationalId'],
    ['Vessel Registration Identification', 'Vessel', 'imo'],
    ['Registration Number', 'Organization', 'registrationNumber'],
    ['Unified Social Credit Code (USCC)', 'Organization', 'registrationNumber'],
    ['Tax ID No.', 'Organization', 'registrationNumber'],
    ['Tax ID No.', 'Person', 'nationalId'],
    ['regnumber', 'Organization', 'registrationNumber'],
    ["Driver's License No.", 'Person', null],
    ['MMSI', 'Vessel', null],
  ] as const)('is recognised by the word %j of a %s', (words, schema, kind) => {
    expect(identifierKindOf(words, schema)).toBe(kind);
  });

  it('is read from cells with several numbers, words and remarks, once each', () => {
    const list = new IdentifierList();
    list.add('registrationNumber', 'UK Company no. 06527449');
    list.add('passport', '(1) A1234567 (Iran) (2) B7654321; A1234567');
    list.add('imo', 'IMO 9187628');
    list.add(null, '12345');
    expect(list.property()).toEqual({
      identifiers: [
        { kind: 'registrationNumber', value: '06527449' },
        { kind: 'passport', value: 'A1234567' },
        { kind: 'passport', value: 'B7654321' },
      ],
    });
    expect(new IdentifierList().property()).toEqual({});
  });

  it.each([
    ['nationalId', 'D489833(9)', ['D489833', 'D4898339']],
    ['nationalId', '12/BAHANA(N)002332', ['12BAHANA002332', '12BAHANAN002332']],
    ['nationalId', '(HWI)040182', ['040182', 'HWI040182']],
    ['registrationNumber', 'HRB 32490 (Mainz)', ['HRB32490']],
    ['passport', 'CAR diplomatic passport no. D00000898', ['D00000898']],
    ['passport', 'Afghan passport number SE 012820', ['SE012820']],
    ['passport', 'R00012098, South Sudan', ['R00012098']],
    ['passport', '(1) A1234567 (Iran), (2) B7654321.', ['A1234567', 'B7654321']],
  ] as const)('of %s %j is read without words, and with a part in parentheses', (kind, text, values) => {
    const list = new IdentifierList();
    list.add(kind, text);
    expect(list.property().identifiers?.map(({ value }) => value)).toEqual(values);
  });
});

/** Schemas of name screening and of cleared matches. */
import { Type } from 'typebox';
import { NAME_LIMITS } from '../../names/limits.ts';
import { count, flag, listOf, nullable, number, oneOf, pageFields, text } from './fields.ts';
import { issuedReceiptField, receiptField } from './issued-receipts.ts';

const ListTypeSchema = oneOf(['sanctions', 'pep', 'adverse_media']);

const NameText = Type.String({
  minLength: 1,
  maxLength: NAME_LIMITS.screenedNameCharsMax,
  description: 'The name, in any script.',
  examples: ['Владимир Путин'],
});

const identifier = (description: string, example: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: NAME_LIMITS.identifierCharsMax,
      description,
      examples: [example],
    }),
  );

/** Each identifier that is equal to a listed one is a match with a confidence of 1. */
const Identifiers = Type.Object(
  {
    imo: identifier('IMO number of a vessel, with its check digit.', '9187629'),
    tailNumber: identifier('Registration (tail number) of an aircraft.', 'EP-MNA'),
    lei: identifier('Legal Entity Identifier of a company (ISO 17442).', '529900T8BM49AURSDO55'),
    registrationNumber: identifier('Number of a company in a register or with a tax office.', '06527449'),
    passport: identifier('Passport number of a person.', 'OB0243318'),
    nationalId: identifier('National identification number of a person.', '1-78-09-44621-80'),
  },
  {
    description:
      'Numbers of registers and documents. Spaces and punctuation do not matter. A listed party with the same number is a match with confidence 1, whatever its name.',
  },
);

/** Optional evidence for or against a match. It never filters matches out. */
const evidence = {
  birthDate: Type.Optional(
    Type.String({
      pattern: '^\\d{4}(-\\d{2}(-\\d{2})?)?$',
      description: 'an ISO date, or the year or month of one, such as 1972 or 1972-05',
    }),
  ),
  countries: Type.Optional(
    Type.Array(Type.String({ pattern: '^[A-Za-z]{2}$', description: 'a country code of two letters' }), {
      maxItems: 10,
      description: 'Nationality, residence or seat: ISO 3166-1 alpha-2.',
    }),
  ),
  schema: Type.Optional(oneOf(['Person', 'Organization', 'Vessel'], 'Type of the named party.')),
  identifiers: Type.Optional(Identifiers),
};

export const NamesBody = Type.Object(
  {
    names: Type.Array(Type.Object({ name: NameText, ...evidence }), {
      minItems: 1,
      maxItems: NAME_LIMITS.screenedNamesMax,
      description: 'Each costs 1 credit.',
    }),
    threshold: Type.Optional(
      Type.Number({
        minimum: NAME_LIMITS.nameThresholdMin,
        maximum: 1,
        description: 'Minimum confidence of the matches returned. Default: 0.7. It changes no confidence.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: NAME_LIMITS.nameMatchesPerListTypeMax,
        description: `Maximum number of matches returned of each list type. Default: ${NAME_LIMITS.nameMatchesPerListType}.`,
      }),
    ),
    explain: Type.Optional(
      Type.Boolean({
        description: 'False: `explanation` is empty, which makes responses smaller. Default: true.',
      }),
    ),
    ...receiptField,
  },
  { title: 'NamesBody' },
);

export const NameReasonSchema = Type.Object(
  {
    kind: text('Kind of the comparison: exact, spelling, initial, identifier, missing, birthDate, …'),
    asked: nullable(Type.String(), 'The part of the asked name, as written.'),
    listed: nullable(Type.String(), 'The part of the listed name as written, or the listed fact.'),
    similarity: nullable(Type.Number(), '0 to 1.'),
    message: text(),
  },
  { title: 'NameReason' },
);

export const TopMatch = Type.Object(
  {
    name: text('Primary name of the listed entity.'),
    confidence: number('0 to 1, calibrated: the share of matches with this confidence that are right.'),
    source: text('Id of the list.'),
    listType: ListTypeSchema,
    entityId: text('The publisher’s id of the entity.'),
    schema: oneOf(['Person', 'Organization', 'Vessel', 'Aircraft', 'Unknown']),
    matchedName: text('The name of the entity that matches the name of the request.'),
    weakAlias: flag('The publisher marks the matched name as weak.'),
    partial: flag(
      'Only one name of several matches, or the only name of a person. The confidence is then at most 0.8.',
    ),
    countries: listOf(Type.String()),
    birthDate: nullable(Type.String(), 'ISO date or a part of one.'),
    birthDates: listOf(Type.String()),
    programs: listOf(Type.String(), 'Programmes, positions, topics.'),
    listedAt: nullable(Type.String()),
    sourceUrl: nullable(Type.String()),
    explanation: listOf(
      NameReasonSchema,
      'Matching parts of the names, and other influences on the confidence.',
    ),
    verified: flag('False: ships with the product and was not checked against a publisher’s file.'),
    cleared: flag('The account has cleared the match, and the entity has not changed since.'),
    entityVersion: text('Changes with the entity.'),
  },
  { title: 'TopMatch', description: 'One listed entity; the best of its names.' },
);

const TypeCoverageSchema = Type.Object(
  {
    status: oneOf(['COMPLETE', 'PARTIAL', 'NONE']),
    asOf: nullable(Type.String(), 'The oldest check of the lists that are loaded.'),
    lists: listOf(
      Type.Object({
        list: text(),
        publishedAt: text(),
        checkedAt: text(),
        parties: count(),
        stale: flag('Last checked longer ago than the maximum age.'),
        verified: flag(),
      }),
    ),
    missing: listOf(Type.String(), 'Official lists that were never loaded.'),
  },
  { title: 'NameListCoverage' },
);

export const NamesResult = Type.Object(
  {
    results: listOf(
      Type.Object({
        name: text('As sent.'),
        topMatches: listOf(TopMatch, 'Best first, at most `limit` of each list type.'),
        totalMatches: count(),
      }),
      'In the order of the request.',
    ),
    creditsUsed: count('One for each name that was screened.'),
    coverage: Type.Object({
      sanctions: TypeCoverageSchema,
      pep: TypeCoverageSchema,
      adverse_media: TypeCoverageSchema,
    }),
    reasons: listOf(
      Type.Object({
        code: oneOf(['STALE_OR_MISSING_DATA']),
        severity: oneOf(['MEDIUM']),
        listType: ListTypeSchema,
        message: text(),
      }),
      'Qualifications: if lists are missing or old, a name without a match is not proven to be clean.',
    ),
    dataVersion: text('Version of the index of this response.'),
    ...issuedReceiptField,
    ignored: listOf(Type.String(), 'Unknown fields of the body.'),
  },
  { title: 'NamesResult' },
);

export const ClearBody = Type.Object(
  {
    name: NameText,
    ...evidence,
    source: Type.String({ minLength: 1, maxLength: 200, description: 'Id of the list, as in the match.' }),
    entityId: Type.String({ minLength: 1, maxLength: 500, description: 'As in the match.' }),
    note: Type.Optional(
      Type.String({ maxLength: 1_000, description: 'Reason why the entity is another one.' }),
    ),
  },
  { title: 'ClearBody' },
);

export const ClearedMatchSchema = Type.Object(
  {
    id: text(),
    name: text('The name as it was screened.'),
    source: text(),
    entityId: text(),
    entityName: text(),
    entityVersion: text('The match counts as cleared while the entity has this version.'),
    note: nullable(Type.String()),
    clearedAt: text(),
  },
  { title: 'ClearedMatch' },
);

export const ClearedAnswer = Type.Object({ cleared: ClearedMatchSchema }, { title: 'ClearedAnswer' });

export const ClearedListAnswer = Type.Object(
  {
    cleared: listOf(ClearedMatchSchema),
    ...pageFields,
  },
  { title: 'ClearedListAnswer' },
);

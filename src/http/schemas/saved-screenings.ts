/** Schemas of saved screenings: the facts of an answer, the answer itself, and the comparison of two. */
import { type TSchema, Type } from 'typebox';
import { CAUSES } from '../../saved-screenings/compare/score.ts';
import { SAVED_LIMITS } from '../../saved-screenings/limits.ts';
import { SAVED_KINDS } from '../../saved-screenings/records.ts';
import { DataVersion, RiskLevelSchema } from './facts.ts';
import { ChainIdSchema, count, flag, listOf, nullable, oneOf, pageFields, text } from './fields.ts';

/** The field of POST /screening and POST /kyt. */
export const saveField = {
  save: Type.Optional(
    Type.Boolean({
      description: `Keep the answer: \`data\` then has its \`screeningId\`. At most ${SAVED_LIMITS.savedAnswerBytesMax} bytes. Costs nothing more.`,
    }),
  ),
};

/** The field of their answers. */
export const screeningIdField = {
  screeningId: Type.Optional(text('Id of the saved answer. Only with `save`.')),
};

export const SavedKindSchema = oneOf(SAVED_KINDS, 'The operation: POST /screening or POST /kyt.');

const listDates = {
  publishedAt: nullable(Type.String(), 'Publication of the list.'),
  checkedAt: nullable(Type.String(), 'Last successful check; null if the list was never loaded.'),
};

const savedFields = {
  id: text(),
  kind: SavedKindSchema,
  chain: ChainIdSchema,
  addresses: listOf(
    Type.String(),
    'The screened address, or the sender and the receiver: in lower case on EVM chains, canonical on all others.',
  ),
  request: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Body of the request, without `save`.',
  }),
  riskScore: Type.Integer({ minimum: 0, maximum: 100 }),
  riskLevel: RiskLevelSchema,
  decision: nullable(Type.String(), 'Of KYT; null for a screening.'),
  dataVersion: DataVersion,
  policyVersion: text(),
  softwareVersion: text('Version of the program that made the answer.'),
  lists: listOf(
    Type.Object({ list: text(), ...listDates }, { title: 'ListVersion' }),
    'Age of each sanctions list when the answer was saved.',
  ),
  savedAt: text(),
  savedBy: text('Id of the key, or of the person of a session.'),
  bytes: count('Of the JSON text of the answer.'),
  sha256: text('Of the JSON text of the answer, hexadecimal.'),
};

export const SavedScreeningSchema = Type.Object(savedFields, {
  title: 'SavedScreening',
  description: 'The facts of a saved answer.',
});

export const SavedScreeningList = Type.Object(
  { screenings: listOf(SavedScreeningSchema, 'Newest first.'), ...pageFields },
  { title: 'SavedScreeningList' },
);

export const OneSavedScreening = Type.Object(
  {
    screening: SavedScreeningSchema,
    answer: Type.Record(Type.String(), Type.Unknown(), {
      description: '`data` of the response, byte for byte as the client got it.',
    }),
  },
  { title: 'OneSavedScreening' },
);

const row = (): TSchema => Type.Record(Type.String(), Type.Unknown());

const RowChangesSchema = Type.Object(
  {
    added: listOf(row()),
    removed: listOf(row()),
    changed: listOf(
      Type.Object({
        before: row(),
        after: row(),
        fields: listOf(Type.String(), 'Fields that differ.'),
      }),
      'Rows about the same fact.',
    ),
  },
  { title: 'RowChanges', description: 'Rows as the answers have them.' },
);

const rowChanges = (description: string) => nullable(RowChangesSchema, description);

const ChangeSchema = Type.Object(
  { field: text(), before: Type.Unknown(), after: Type.Unknown() },
  { title: 'FieldDifference', description: 'A field that differs. Null: the answer does not have it.' },
);

const ScoreLineSchema = Type.Object(
  {
    factor: text(
      'A factor of the score; CAP: what the limits of 0 and 100 add or take; SCORE: the score of an answer without its breakdown.',
    ),
    category: nullable(Type.String()),
    riskType: nullable(Type.String()),
    direction: nullable(Type.String()),
    asset: nullable(Type.String()),
    before: nullable(Type.Integer(), 'Points; null if the answer does not have the line.'),
    after: nullable(Type.Integer()),
    difference: Type.Integer({ description: 'A missing line counts as 0.' }),
    causes: listOf(
      oneOf(CAUSES),
      'Parts that changed and that this line is computed from. Empty if it is the same.',
    ),
  },
  { title: 'ScoreLine' },
);

export const ScreeningComparison = Type.Object(
  {
    before: SavedScreeningSchema,
    after: SavedScreeningSchema,
    isChanged: flag(
      'Whether the findings differ: score, verdict, list entries, labels, exposures, transfers, flags or parties. The data behind them may be newer all the same.',
    ),
    causes: listOf(
      Type.Object({ cause: oneOf(CAUSES), message: text() }),
      'The changed parts, requests and policy first, the versions of data and program last.',
    ),
    score: Type.Object({
      before: Type.Integer(),
      after: Type.Integer(),
      difference: Type.Integer(),
      lines: listOf(ScoreLineSchema, 'Their differences add up to `difference`; the greatest first.'),
    }),
    verdict: listOf(
      ChangeSchema,
      'Level, sanctions verdict, decision, owner and assessment, if they differ.',
    ),
    request: listOf(ChangeSchema),
    sanctions: rowChanges('Entries of sanctions lists; null for KYT, or if an answer leaves them out.'),
    lists: listOf(
      Type.Object({
        list: text(),
        before: nullable(Type.Object(listDates)),
        after: nullable(Type.Object(listDates)),
      }),
      'Lists that were published or checked again.',
    ),
    labels: rowChanges('Labels of the address; null like `sanctions`.'),
    exposures: rowChanges('Null like `sanctions`.'),
    transfers: nullable(
      Type.Array(ChangeSchema),
      'Totals of the known transfers that differ; null if an answer leaves them out.',
    ),
    flags: rowChanges('Flags of KYT; null for a screening.'),
    parties: nullable(Type.Array(ChangeSchema), 'Owners of the parties of KYT; null for a screening.'),
    reasons: rowChanges('Reasons and qualifications, which follow from the other parts.'),
    coverage: listOf(ChangeSchema, 'Parts of the coverage that differ. `graph.asOf` is the newest block.'),
    notCompared: listOf(
      Type.String(),
      'Parts that an answer leaves out by its `sections`, or cuts by its `limit`: changes of them may be missing.',
    ),
  },
  {
    title: 'ScreeningComparison',
    description: 'The differences between two saved answers, and what they follow from.',
  },
);

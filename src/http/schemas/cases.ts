/** Schemas of cases: the case, its events, its links and its files. */
import { Type } from 'typebox';
import { FILE_TYPES } from '../../cases/file-types.ts';
import { CASE_LIMITS } from '../../cases/limits.ts';
import { CASE_PRIORITIES, EVENT_TYPES, LINK_TYPES } from '../../cases/records.ts';
import { CASE_STATUSES, DECISION_ACTIONS, DISPOSITIONS } from '../../cases/workflow.ts';
import { DIRECTION_CHOICES, PATH_DEPTH, TRACE_HOPS } from '../../screening/choices.ts';
import {
  addressText,
  ChainIdSchema,
  chainText,
  count,
  flag,
  listOf,
  nullable,
  oneOf,
  pageFields,
  text,
} from './fields.ts';

export const CaseStatusSchema = oneOf(CASE_STATUSES);
export const CasePrioritySchema = oneOf(CASE_PRIORITIES);
const DispositionSchema = oneOf(DISPOSITIONS);
const LinkTypeSchema = oneOf(LINK_TYPES);

const TitleText = Type.String({
  minLength: 1,
  maxLength: CASE_LIMITS.titleCharsMax,
  description: 'One line.',
  examples: ['Deposit from a mixer'],
});
export const AssigneeText = Type.String({
  minLength: 1,
  maxLength: CASE_LIMITS.assigneeCharsMax,
  description: 'Id of a key or account, an email address or a name.',
});
const NoteText = Type.String({ minLength: 1, maxLength: CASE_LIMITS.noteCharsMax });
const DueText = Type.String({
  minLength: 1,
  maxLength: 40,
  description:
    'ISO 8601 date or time, such as 2026-12-31 (its first instant in UTC) or 2026-12-31T17:00:00Z.',
  examples: ['2026-12-31'],
});
const ReasonCodeText = Type.String({
  pattern: `^[A-Z][A-Z0-9_-]{0,${CASE_LIMITS.reasonCodeCharsMax - 1}}$`,
  description: "a code of your organisation's list, in upper case, such as SOURCE_OF_FUNDS_UNCLEAR",
  examples: ['SOURCE_OF_FUNDS_UNCLEAR'],
});
const VersionNumber = Type.Integer({
  minimum: 1,
  description:
    'The version that the change is based on. If the case has another version, the request is rejected. Without it, the last writer wins.',
});

const TraceDirectionSchema = oneOf(DIRECTION_CHOICES);
const DayText = (description: string) =>
  Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description, examples: ['2026-12-31'] });

const TraceViewBody = Type.Object(
  {
    direction: Type.Optional(TraceDirectionSchema),
    hops: Type.Optional(Type.Integer({ minimum: TRACE_HOPS.min, maximum: TRACE_HOPS.max })),
    targetAddress: Type.Optional(addressText('The target of the paths.')),
    maxDepth: Type.Optional(Type.Integer({ minimum: PATH_DEPTH.min, maximum: PATH_DEPTH.max })),
    timeRespecting: Type.Optional(Type.Boolean()),
    crossChain: Type.Optional(Type.Boolean()),
    minUsd: Type.Optional(Type.Number({ minimum: 0, description: 'Edges of lower value are not shown.' })),
    since: Type.Optional(DayText('Only edges with transfers on this day or later.')),
    until: Type.Optional(DayText('Only edges with transfers on this day or earlier.')),
    dataVersion: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: CASE_LIMITS.dataVersionCharsMax,
        description: '`dataVersion` of the response.',
      }),
    ),
  },
  {
    title: 'CaseTraceBody',
    description:
      'Only for TRACE: the request of POST /trace and the filter of its picture, so that it can be shown again. Defaults as of POST /trace.',
  },
);

export const CaseLinkBody = Type.Object(
  {
    type: LinkTypeSchema,
    id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: CASE_LIMITS.linkIdCharsMax,
        description:
          'Id of the record, or hash of the transaction. Required for ALERT, WALLET, TRANSACTION and RECEIPT. SCREENING: id of a saved screening.',
      }),
    ),
    address: Type.Optional(
      addressText('Required for ADDRESS and TRACE; needs `chain`. SCREENING: default from the answer.'),
    ),
    chain: Type.Optional(chainText()),
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: CASE_LIMITS.titleCharsMax,
        description: 'The screened name. Required for NAME.',
      }),
    ),
    label: Type.Optional(
      Type.String({ minLength: 1, maxLength: CASE_LIMITS.linkLabelCharsMax, description: 'One line.' }),
    ),
    trace: Type.Optional(TraceViewBody),
    answer: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: `\`data\` of the response that the link refers to, kept as it is: at most ${CASE_LIMITS.linkedAnswerBytesMax} bytes. Required for SCREENING without \`id\`. ALERT, WALLET and a saved screening take none: the service stores the record itself.`,
      }),
    ),
  },
  { title: 'CaseLinkBody', description: 'A reference from a case to another record.' },
);

export const CaseBody = Type.Object(
  {
    title: TitleText,
    priority: Type.Optional(oneOf(CASE_PRIORITIES, 'Default MEDIUM.')),
    assignee: Type.Optional(AssigneeText),
    dueAt: Type.Optional(DueText),
    fourEyes: Type.Optional(
      Type.Boolean({
        description:
          'Whether a decision needs the approval of another person. Default: as the operator of the service has set it. It cannot be switched off.',
      }),
    ),
    note: Type.Optional(NoteText),
    links: Type.Optional(Type.Array(CaseLinkBody, { maxItems: CASE_LIMITS.linksAtOnceMax })),
  },
  { title: 'CaseBody' },
);

export const CasePatch = Type.Object(
  {
    version: Type.Optional(VersionNumber),
    title: Type.Optional(TitleText),
    status: Type.Optional(
      oneOf(CASE_STATUSES, 'CLOSED is reached by a decision. A closed case is reopened by OPEN.'),
    ),
    priority: Type.Optional(CasePrioritySchema),
    assignee: Type.Optional(nullable(AssigneeText)),
    dueAt: Type.Optional(nullable(DueText)),
    fourEyes: Type.Optional(Type.Literal(true, { description: 'The rule cannot be switched off.' })),
  },
  { title: 'CasePatch', minProperties: 1, examples: [{ priority: 'HIGH' }] },
);

const LinkedAnswerSchema = nullable(
  Type.Object({
    origin: oneOf(
      ['SERVICE', 'CLIENT'],
      'SERVICE: read by the service. CLIENT: sent by the client, and not verified.',
    ),
    sha256: text('Of the stored JSON text, hexadecimal.'),
    bytes: count(),
    dataVersion: nullable(Type.String(), 'Version of the data of the answer; null if it has none.'),
  }),
  'The answer as it was when the link was added; null if none was stored.',
);

export const CaseLinkSchema = Type.Object(
  {
    event: count('Sequence number of the event that added it.'),
    type: LinkTypeSchema,
    id: nullable(Type.String()),
    address: nullable(Type.String()),
    chain: nullable(ChainIdSchema),
    name: nullable(Type.String()),
    label: nullable(Type.String()),
    trace: nullable(
      Type.Object({
        direction: TraceDirectionSchema,
        hops: count(),
        targetAddress: nullable(Type.String()),
        maxDepth: nullable(Type.Integer()),
        timeRespecting: flag(),
        crossChain: flag(),
        minUsd: nullable(Type.Number()),
        since: nullable(Type.String()),
        until: nullable(Type.String()),
        dataVersion: nullable(Type.String()),
      }),
      'The request and the filter of a linked trace; null for other types, and if the client did not send it.',
    ),
    answer: LinkedAnswerSchema,
  },
  { title: 'CaseLink' },
);

export const CaseSchema = Type.Object(
  {
    id: text(),
    number: count('Number of the case in the account, from 1.'),
    version: count('Grows by one with every change, events included.'),
    title: text(),
    status: CaseStatusSchema,
    priority: CasePrioritySchema,
    assignee: nullable(Type.String()),
    dueAt: nullable(Type.String()),
    fourEyes: flag('Whether a decision needs the approval of another person.'),
    proposal: nullable(
      Type.Object({
        event: count('Sequence number of the event, which an approval or rejection names.'),
        disposition: DispositionSchema,
        reasonCode: text(),
        by: text(),
      }),
      'The decision that waits for approval.',
    ),
    disposition: nullable(DispositionSchema, 'Null while the case is not closed.'),
    reasonCode: nullable(Type.String()),
    decidedBy: nullable(Type.String()),
    approvedBy: nullable(Type.String(), 'Null without the four-eyes rule.'),
    links: listOf(CaseLinkSchema, 'Oldest first.'),
    eventCount: count(),
    fileCount: count(),
    createdAt: text(),
    createdBy: text('Id of the key, or of the person of a session.'),
    updatedAt: text(),
    closedAt: nullable(Type.String()),
  },
  { title: 'Case', description: 'An investigation of an account.' },
);
export const OneCase = Type.Object({ case: CaseSchema }, { title: 'OneCase' });
export const CaseList = Type.Object(
  { cases: listOf(CaseSchema, 'Newest first.'), ...pageFields },
  { title: 'CaseList' },
);

/** Types of events that clients may add. The others follow from requests of their own. */
const ADDED_TYPES = ['NOTE', 'STATUS', 'ASSIGNEE', 'LINK', 'DECISION'] as const;

export const CaseEventBody = Type.Object(
  {
    type: oneOf(ADDED_TYPES, 'Each needs the field of its name. Files are added by POST /cases/{id}/files.'),
    version: Type.Optional(VersionNumber),
    note: Type.Optional(NoteText),
    status: Type.Optional(CaseStatusSchema),
    assignee: Type.Optional(nullable(AssigneeText)),
    link: Type.Optional(CaseLinkBody),
    decision: Type.Optional(
      Type.Object(
        {
          action: oneOf(
            DECISION_ACTIONS,
            'PROPOSE closes the case at once, unless the four-eyes rule applies: then another person has to APPROVE. REJECT discards the proposal.',
          ),
          disposition: Type.Optional(oneOf(DISPOSITIONS, 'Required for PROPOSE.')),
          reasonCode: Type.Optional(ReasonCodeText),
          proposal: Type.Optional(
            Type.Integer({
              minimum: 1,
              description: '`proposal.event` of the case. Required for APPROVE and REJECT.',
            }),
          ),
        },
        { title: 'CaseDecisionBody' },
      ),
    ),
  },
  { title: 'CaseEventBody', examples: [{ type: 'NOTE', note: 'The customer sent the documents.' }] },
);

export const CaseFileSchema = Type.Object(
  {
    id: text(),
    event: count('Sequence number of the event that added it.'),
    name: text(),
    contentType: oneOf(FILE_TYPES),
    bytes: count(),
    sha256: text('Of the content, hexadecimal.'),
    addedAt: text(),
    addedBy: text(),
  },
  { title: 'CaseFile' },
);

export const CaseEventSchema = Type.Object(
  {
    sequence: count('From 1, without gaps.'),
    type: oneOf(EVENT_TYPES),
    at: text(),
    by: text('Id of the key, or of the person of a session.'),
    note: nullable(Type.String()),
    change: nullable(
      Type.Object({
        field: oneOf(['status', 'assignee', 'title', 'priority', 'dueAt', 'fourEyes']),
        from: nullable(Type.String()),
        to: nullable(Type.String()),
      }),
      'The changed field.',
    ),
    link: nullable(CaseLinkSchema),
    file: nullable(CaseFileSchema),
    decision: nullable(
      Type.Object({
        action: oneOf(DECISION_ACTIONS),
        disposition: DispositionSchema,
        reasonCode: text(),
        proposal: count('Sequence number of the event that proposed the decision.'),
        isFinal: flag('Whether the step closed the case.'),
      }),
    ),
    answer: Type.Optional(
      nullable(
        Type.Record(Type.String(), Type.Unknown()),
        'The stored answer of a link. Only with `answers=true`.',
      ),
    ),
  },
  { title: 'CaseEvent', description: 'One entry of the history of a case. Events are never changed.' },
);
export const OneCaseEvent = Type.Object(
  { event: CaseEventSchema, case: CaseSchema },
  { title: 'OneCaseEvent', description: 'The event, and the case after it.' },
);
export const CaseEventList = Type.Object(
  { events: listOf(CaseEventSchema, 'Newest first.'), ...pageFields },
  { title: 'CaseEventList' },
);
export const OneCaseFile = Type.Object({ file: CaseFileSchema }, { title: 'OneCaseFile' });
export const CaseFileList = Type.Object(
  { files: listOf(CaseFileSchema, 'Newest first.'), ...pageFields },
  { title: 'CaseFileList' },
);

/** Schemas of the evidence of derived labels. */
import { Type } from 'typebox';
import { ATTRIBUTION_LIMITS } from '../../attribution/limits.ts';
import { REPORT_STATES } from '../../attribution/reports.ts';
import { CategorySchema, DataVersion, DerivationSchema, Label, ThreatLevelSchema } from './facts.ts';
import { ChainIdSchema, count, flag, listOf, nullable, oneOf, pageFields, text } from './fields.ts';

const EvidenceTransaction = Type.Object(
  {
    role: oneOf(
      [
        'RECEIVED',
        'FORWARDED',
        'FUNDED',
        'CREATED',
        'UPGRADED',
        'FROZEN',
        'UNFROZEN',
        'DESTROYED',
        'STAKED',
        'MINED',
      ],
      'RECEIVED and FORWARDED belong together: a payment in, and the payment that passed it on. CREATED: a factory logged, or a transaction created, the contract. UPGRADED: a proxy logged that its code changed. STAKED: a deposit for a validator whose withdrawals the address gets. MINED: a block whose coinbase pays only the address.',
    ),
    txHash: text(),
    blockNumber: count('Height of the block.'),
    timestamp: nullable(Type.String(), 'ISO time; null if it is not known.'),
    logIndex: nullable(Type.Integer(), 'Position of the log in its block; null for transfers.'),
    asset: nullable(Type.String(), 'Symbol of the chain, or address of a token.'),
    amount: nullable(Type.String(), 'In the smallest unit of the asset.'),
  },
  { title: 'EvidenceTransaction' },
);

const AttributionFinding = Type.Object(
  {
    ...DerivationSchema.properties,
    source: text('Source of the labels of the rule.'),
    status: oneOf(
      ['LABELLED', 'INSUFFICIENT', 'ENDED', 'DISPUTED'],
      'LABELLED: enough for a label, which the next index has. INSUFFICIENT: not enough. ENDED: taken back on chain. DISPUTED: enough, but the operator disputes the labels of the address.',
    ),
    entityId: nullable(Type.String()),
    entityName: nullable(Type.String()),
    confidence: nullable(Type.Number({ minimum: 0, maximum: 1 })),
    summary: text('One sentence.'),
    count: count('Forwardings or events in total.'),
    evidence: listOf(EvidenceTransaction),
  },
  { title: 'AttributionFinding', description: 'What one rule found about the address.' },
);

const LabelDispute = Type.Object(
  {
    reason: text('Why the labels are wrong.'),
    disputedAt: text('ISO time.'),
    entityId: text('Entity of the own label that holds instead.'),
    name: text(),
    category: CategorySchema,
    threatLevel: ThreatLevelSchema,
  },
  {
    title: 'LabelDispute',
    description:
      'A decision of the operator that the labels of the address are wrong. An own label comes first, and the rules give the address none.',
  },
);

const ReportedLabel = Type.Object(
  {
    source: text('Source of the label.'),
    name: text(),
    category: CategorySchema,
    threatLevel: ThreatLevelSchema,
  },
  { title: 'ReportedLabel' },
);

const LabelReportSchema = Type.Object(
  {
    id: text('Id of the report.'),
    chain: ChainIdSchema,
    address: text(),
    source: nullable(Type.String(), 'Source of the reported labels; null: all labels of the address.'),
    labels: listOf(
      ReportedLabel,
      `The reported labels as they are now, at most ${ATTRIBUTION_LIMITS.reportedLabelsMax}; empty if there are none any more.`,
    ),
    reason: text(),
    state: oneOf(REPORT_STATES, 'OPEN until the operator has decided.'),
    filedAt: text('ISO time.'),
    decidedAt: nullable(Type.String(), 'ISO time; null while the report is open.'),
    note: nullable(Type.String(), 'The operator’s words for the decision.'),
  },
  { title: 'LabelReport', description: 'What an account says is wrong with the labels of an address.' },
);

export const LabelReportBody = Type.Object(
  {
    reason: Type.String({
      minLength: 1,
      maxLength: ATTRIBUTION_LIMITS.reportReasonCharsMax,
      description: 'What is wrong with the labels, without control characters.',
      examples: ['The address is the donation wallet of our foundation, not a deposit address.'],
    }),
    source: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 40,
        description: 'Source of the labels that are wrong. Default: all labels of the address.',
      }),
    ),
  },
  { title: 'LabelReportBody' },
);

export const OneLabelReport = Type.Object(
  {
    report: LabelReportSchema,
    isNew: flag('False: the account has an open report on the same labels, which is returned.'),
  },
  { title: 'OneLabelReport' },
);

export const LabelReportList = Type.Object(
  { reports: listOf(LabelReportSchema), ...pageFields },
  { title: 'LabelReportList', description: 'Newest first.' },
);

const OperatorLabelReport = Type.Object(
  { ...LabelReportSchema.properties, accountId: text('The account that filed it.') },
  { title: 'OperatorLabelReport' },
);

export const OperatorLabelReports = Type.Object(
  {
    reports: listOf(OperatorLabelReport),
    open: count('Open reports of all accounts.'),
    ...pageFields,
  },
  { title: 'OperatorLabelReports', description: 'Newest first.' },
);

/** Categories that a dispute can clear an address of: all that there are would be a mistake. */
const CORRECTS_MAX = 10;
/** Characters of the name of a party: names of labels may be longer, but nobody types them. */
const PARTY_NAME_CHARS_MAX = 160;

/** `category`, `name` and `corrects` describe the dispute. */
export const ReportDecisionBody = Type.Object(
  {
    state: oneOf(['ACCEPTED', 'REJECTED'], 'ACCEPTED disputes the labels of the address.'),
    reason: Type.String({
      minLength: 1,
      maxLength: ATTRIBUTION_LIMITS.reportReasonCharsMax,
      description:
        'Why, without control characters. The account that filed the report reads it; the dispute has it too.',
      examples: ['The foundation has signed a message with the key of the address.'],
    }),
    category: Type.Optional(CategorySchema),
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: PARTY_NAME_CHARS_MAX,
        description: 'With ACCEPTED: name of the party behind the address, if it is known.',
      }),
    ),
    corrects: Type.Optional(
      Type.Array(CategorySchema, {
        maxItems: CORRECTS_MAX,
        description: 'With ACCEPTED: categories of published labels that the address is cleared of.',
      }),
    ),
  },
  {
    title: 'ReportDecisionBody',
    description:
      'With ACCEPTED, the own label that holds instead has the `category` (default: OTHER). REJECTED takes no field but `reason`.',
  },
);

export const DecidedLabelReport = Type.Object(
  {
    report: OperatorLabelReport,
    dispute: nullable(LabelDispute, 'The dispute that was stored; null if the report is rejected.'),
  },
  { title: 'DecidedLabelReport' },
);

export const ReportStateSchema = oneOf(REPORT_STATES, 'Only reports in this state.');

export const Attribution = Type.Object(
  {
    address: text(),
    chain: ChainIdSchema,
    labels: listOf(Label),
    findings: listOf(AttributionFinding),
    dispute: nullable(LabelDispute, 'Null if the operator does not dispute the labels of the address.'),
    judgedAt: nullable(
      Type.String(),
      'ISO time up to which transfers were judged; null if the rules never ran on the chain.',
    ),
    dataVersion: DataVersion,
  },
  { title: 'Attribution', description: 'Derived labels of an address with their evidence.' },
);

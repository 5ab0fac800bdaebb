/** Schemas of POST /screening. */
import { type TOptional, type TProperties, Type } from 'typebox';
import { PRICE_STATUSES } from '../../chains/assets.ts';
import {
  EXPOSURE_HOPS,
  JURISDICTION_DEFAULT,
  SCREENING_SECTIONS,
  type ScreeningSection,
  SECTION_ROWS,
  TAINT_CHOICES,
  TAINT_DEFAULT,
} from '../../screening/choices.ts';
import {
  CategorySchema,
  Coverage,
  DataVersion,
  EntitySummary,
  EvidenceClassSchema,
  ExposureCategorySchema,
  Label,
  Reason,
  RiskLevelSchema,
  SanctionsDetail,
  SeveritySchema,
  ThreatLevelSchema,
} from './facts.ts';
import {
  AddressText,
  amountFields,
  ChainIdSchema,
  ChainText,
  count,
  flag,
  listOf,
  nullable,
  number,
  oneOf,
  text,
} from './fields.ts';
import { issuedReceiptField, receiptField } from './issued-receipts.ts';
import { saveField, screeningIdField } from './saved-screenings.ts';

export const ScreeningBody = Type.Object(
  {
    address: AddressText,
    chain: ChainText,
    jurisdiction: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z]{2}$',
        default: JURISDICTION_DEFAULT,
        description: 'a country code of two letters (ISO 3166-1 alpha-2)',
      }),
    ),
    asOf: Type.Optional(
      Type.String({
        pattern: '^\\d{4}-\\d{2}-\\d{2}$',
        description:
          'an ISO date such as 2026-01-31, not in the future: labels, sanctions lists and transfers as known at the end of that day (UTC)',
      }),
    ),
    taint: Type.Optional(
      oneOf(
        TAINT_CHOICES,
        'Rule by which tainted funds are traced; on account chains poison, haircut or all.',
        { default: TAINT_DEFAULT },
      ),
    ),
    maxHops: Type.Optional(
      Type.Integer({
        minimum: EXPOSURE_HOPS.min,
        maximum: EXPOSURE_HOPS.max,
        default: EXPOSURE_HOPS.standard,
        description: 'Hops for which funds are followed through addresses without a label.',
      }),
    ),
    sections: Type.Optional(
      Type.Array(oneOf(SCREENING_SECTIONS), {
        minItems: 1,
        maxItems: SCREENING_SECTIONS.length,
        description:
          'Sections of the response. Default: all. The address, score, sanctions verdict, reasons, coverage and versions are always part of it.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: SECTION_ROWS.min,
        maximum: SECTION_ROWS.max,
        description:
          'Maximum number of rows in each list: labels, transactions, counterparties, exposures, days. Default: all that are listed. The parts of the score are never cut.',
      }),
    ),
    ...saveField,
    ...receiptField,
  },
  { title: 'ScreeningBody' },
);

/** An amount in USD; null if nothing has a price. */
export const money = (description?: string) =>
  nullable(Type.Number(), description ?? 'USD; null if nothing has a price.');

const direction = oneOf(['in', 'out']);

const ConflictingLabel = Type.Object(
  {
    name: text('Name of the entity.'),
    entityId: text(),
    category: CategorySchema,
    threatLevel: ThreatLevelSchema,
    source: text(),
    class: EvidenceClassSchema,
    confidence: Type.Number({ minimum: 0, maximum: 1 }),
    date: nullable(Type.String(), 'ISO date at which the source last confirmed the label.'),
    sourceUrl: nullable(Type.String()),
  },
  { title: 'ConflictingLabel' },
);

export const LabelConflict = Type.Object(
  {
    fields: listOf(oneOf(['category', 'threatLevel', 'entity']), 'Fields in which the two labels differ.'),
    labels: listOf(ConflictingLabel, 'The label that was taken, then the other one.'),
    decided: ConflictingLabel,
    decidedBy: oneOf(
      ['SANCTION', 'CLASS', 'CONFIDENCE', 'DATE', 'RANK', 'CONTENT'],
      'The first criterion in which they differ: a sanction in force, class of evidence, confidence, date, rank of the source, text.',
    ),
    isSettled: flag('The other label is not about the holder of the address, and does not score.'),
    message: text(),
  },
  { title: 'LabelConflict', description: 'Two labels of an address that contradict each other.' },
);

const priceStatus = oneOf(
  PRICE_STATUSES,
  'EXACT: a price of that day, or given with the transfer; PEG: by contract; LAST_KNOWN: an earlier price; NONE: no price.',
);

const priceDate = nullable(
  Type.String({ format: 'date' }),
  'Day of the price, if that is an earlier one than the day of the transfer: of LAST_KNOWN, and of a wrapped coin whose coin has such a price.',
);

export const ScoreFactor = Type.Object(
  {
    factor: oneOf([
      'SANCTIONS_IN_FORCE',
      'OWN_LABEL',
      'DIRECT_EXPOSURE',
      'INDIRECT_EXPOSURE',
      'UNSOLICITED_INBOUND',
      'DERIVED_LABELS_CAP',
    ]),
    category: ExposureCategorySchema,
    riskType: oneOf(['OWNERSHIP', 'COUNTERPARTY', 'INDIRECT', 'BEHAVIOUR']),
    direction: oneOf(['in', 'out', 'both']),
    asset: nullable(
      Type.String(),
      'The asset without a price that the percentage is of; null for USD. Such a row has only the points it adds.',
    ),
    class: EvidenceClassSchema,
    percentage: number(),
    valueUsd: money('USD as in `exposures`; null if nothing has a price.'),
    hops: count(),
    points: Type.Integer(),
    severity: oneOf(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'], 'As of the reason and the flag about the same.'),
    evidence: listOf(Type.String(), 'Of exposures: entities, greatest value first.'),
  },
  {
    title: 'ScoreFactor',
    description: 'A part of the score. All points add up to the score before its cap at 100.',
  },
);

const ExposureLabel = Type.Object(
  {
    address: text(),
    source: text('Source id.'),
    sourceUrl: nullable(Type.String()),
    date: nullable(
      Type.String(),
      'ISO date on which the source last confirmed the label; the first date if it is the only one, null without a date.',
    ),
    confidence: number('0 to 1.'),
  },
  { title: 'ExposureLabel' },
);

const Exposure = Type.Object(
  {
    category: ExposureCategorySchema,
    entity: nullable(EntitySummary),
    direction,
    type: oneOf(['DIRECT', 'INDIRECT']),
    percentage: number('Of all priced value of the direction, or of `asset` if that has no price.'),
    asset: nullable(Type.String(), 'The asset without a price that the percentage is of; null for USD.'),
    priceStatus,
    priceDate,
    class: nullable(
      EvidenceClassSchema,
      'How the label of the other side came to be known; null for UNKNOWN.',
    ),
    label: nullable(
      ExposureLabel,
      'The label on which the row rests: that of the address with the greatest part of the value. Null for UNKNOWN, and for a contract of a known bridge without a label.',
    ),
    valueUsd: money(
      'USD at the average rate of the direction: the share of the USD of all its transfers. `topCounterparties` and `flaggedTransactions` have the USD of their own transfers, each at its price of the day; null if nothing has a price.',
    ),
    hops: count(),
    txCount: count(),
    unpricedTxCount: count(),
  },
  { title: 'Exposure' },
);

const TopCounterparty = Type.Object(
  {
    address: text(),
    entity: nullable(EntitySummary),
    category: ExposureCategorySchema,
    threatLevel: nullable(ThreatLevelSchema),
    sanctioned: flag(),
    direction,
    txCount: count(),
    valueUsd: money('USD of its transfers, each at its price of the day; null if nothing has a price.'),
    percentage: number('As in `exposures`: within one asset, by amount.'),
    firstSeen: text(),
    lastSeen: text(),
  },
  { title: 'TopCounterparty' },
);

const FlaggedTransaction = Type.Object(
  {
    hash: text(),
    timestamp: text(),
    direction,
    counterparty: text(),
    entity: nullable(EntitySummary),
    category: ExposureCategorySchema,
    severity: SeveritySchema,
    asset: text(),
    ...amountFields,
    valueUsd: money('USD at the price of the day of the transfer; null without a price.'),
    priceStatus,
    priceDate,
    reason: text(),
  },
  { title: 'FlaggedTransaction' },
);

const SpoofableTransfer = Type.Object(
  {
    hash: text(),
    timestamp: text(),
    direction,
    counterparty: text(),
    entity: nullable(EntitySummary),
    category: ExposureCategorySchema,
    asset: text(),
    ...amountFields,
    kind: oneOf(
      ['UNKNOWN_TOKEN', 'ZERO_VALUE_TOKEN', 'DUST'],
      'UNKNOWN_TOKEN: on no curated list. ZERO_VALUE_TOKEN: no amount moved. DUST: next to nothing, from a look-alike address.',
    ),
    imitates: nullable(
      Type.String(),
      "The real counterparty that the counterparty's address looks like; null if it looks like none.",
    ),
    holderSent: nullable(
      Type.Boolean(),
      'The address itself signed the transaction; null if the source of the transfer does not say.',
    ),
    callsAsset: nullable(Type.Boolean(), "The transaction calls the token's contract."),
    decodes: nullable(Type.Boolean(), 'The call decodes to this transfer.'),
  },
  { title: 'SpoofableTransfer', description: 'A transfer that can be forged. It never affects the score.' },
);

const AssetTotal = Type.Object(
  {
    asset: text(),
    isEvidence: flag(
      'False for tokens that no curated list knows: their transfers can be forged and are not counted.',
    ),
    priceStatus,
    priceDate,
    ...amountFields,
    valueUsd: money(),
    txCount: count(),
  },
  { title: 'AssetTotal' },
);

export const FlowTotal = Type.Object(
  { valueUsd: money(), txCount: count(), byAsset: listOf(AssetTotal) },
  { title: 'FlowTotal' },
);

const DailyTotal = Type.Object(
  {
    date: text(),
    inUsd: money(),
    outUsd: money(),
    inTxCount: count(),
    outTxCount: count(),
  },
  { title: 'DailyTotal' },
);

const StoppedFlow = Type.Object(
  {
    address: text(),
    reason: oneOf(['MAX_DEGREE', 'BUDGET', 'UNPRICED']),
    direction,
    asset: nullable(
      Type.String({
        description:
          'The asset without a price that this is a part of; null for all that is weighed together.',
      }),
    ),
    percentage: number('Of the value of the direction, or of what moved of the asset.'),
  },
  { title: 'StoppedFlow' },
);

const percentages = Type.Record(Type.String(), Type.Number(), {
  description: 'Category → percentage of the value; adds up to 100 if value moved.',
});

const overlapping = Type.Record(Type.String(), Type.Number(), {
  description: 'Category → percentage. Under poison and TIHO shares overlap.',
});

const Taint = Type.Object(
  {
    basis: oneOf(
      ['OUTPUTS', 'ACCOUNTS'],
      'Whether single outputs were followed, or the flow between addresses.',
    ),
    methods: listOf(
      Type.Object({
        method: oneOf(['poison', 'haircut', 'fifo', 'lifo', 'tiho']),
        received: overlapping,
        unspent: nullable(overlapping),
        minedPercentage: nullable(Type.Number()),
        unexploredPercentage: nullable(Type.Number()),
        outputs: nullable(Type.Integer()),
        isTruncated: flag('A budget ended the search before all origins were found.'),
      }),
    ),
  },
  { title: 'Taint' },
);

const factSource = {
  sourceUrl: text(),
  date: text('ISO date of the source.'),
  verified: flag('Compared with the publisher’s own text.'),
  validFrom: nullable(Type.String(), 'First day on which the fact holds, if known.'),
  validUntil: nullable(Type.String(), 'Last day on which the fact holds; null: no end is known.'),
};

const LegalInterpretation = Type.Object(
  {
    jurisdiction: text(),
    standard: oneOf(['NATIONAL', 'FATF'], 'FATF: no law of the country is known here.'),
    regulator: nullable(Type.String()),
    framework: listOf(Type.String()),
    assessment: text(),
    recommendedAction: text(),
    obligations: listOf(Type.String()),
    reportingTo: nullable(Type.String()),
    sanctionsAuthority: nullable(Type.String()),
    travelRule: nullable(
      Type.Object({
        threshold: nullable(Type.Number(), 'Null: from the first unit.'),
        currency: text(),
        law: text(),
        note: nullable(Type.String()),
      }),
    ),
    sources: listOf(
      Type.Object({
        fact: text(),
        ...factSource,
      }),
      'Facts that are not in force on the day say so, and are not part of `framework` and `obligations`.',
    ),
    version: nullable(Type.String()),
    disclaimer: text(),
  },
  { title: 'LegalInterpretation' },
);

const countryList = oneOf(['FATF_BLACK', 'FATF_GREY', 'SANCTIONED']);

const GeographicRisk = Type.Object(
  {
    jurisdictions: listOf(Type.String(), 'The own country first, then by value.'),
    highRisk: listOf(Type.String(), 'Those on a list of countries.'),
    listed: listOf(
      Type.Object({
        jurisdiction: text(),
        list: countryList,
        listName: text(),
        percentage: number(),
        ...factSource,
      }),
    ),
    territories: listOf(
      Type.Object({ name: text(), within: text(), list: countryList, ...factSource }),
      'Listed parts of these countries.',
    ),
    score: nullable(Type.Integer(), '0 to 100.'),
  },
  { title: 'GeographicRisk' },
);

/** Makes the sections optional that a request with `sections` may leave out. */
const withOptionalSections = <Fields extends TProperties>(fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      SCREENING_SECTIONS.some((section) => section === name) ? Type.Optional(field) : field,
    ]),
  ) as {
    readonly [Name in keyof Fields]: Name extends ScreeningSection ? TOptional<Fields[Name]> : Fields[Name];
  };

export const ScreeningResult = Type.Object(
  withOptionalSections({
    walletAddress: text(),
    address: text(),
    chain: ChainIdSchema,
    asOf: nullable(
      Type.String(),
      'The requested day; null: now. As of a day, later labels, listings, delistings and counterparties are hidden, and `coverage` is PARTIAL.',
    ),
    riskScore: Type.Integer({ minimum: 0, maximum: 100 }),
    riskLevel: RiskLevelSchema,
    scoreBreakdown: listOf(ScoreFactor),
    policyVersion: text(),
    assessed: flag(),
    reasons: listOf(Reason),
    balance: nullable(Type.Number(), 'Native units.'),
    balanceUsd: money(),
    totalTransactions: nullable(Type.Integer()),
    sanctionsCheck: SanctionsDetail,
    sanctioned: flag(),
    entity: nullable(EntitySummary),
    entityLabels: listOf(Label),
    labelConflicts: listOf(
      LabelConflict,
      'Labels that contradict the first one, and how that was decided. Empty if none do.',
    ),
    flaggedTransactions: listOf(
      FlaggedTransaction,
      'Newest first, at most 50. If there are more: those with sanctioned parties, then those of a higher threat level, then the newest.',
    ),
    spoofableTransfers: listOf(
      SpoofableTransfer,
      'Newest first; with labelled or look-alike counterparties.',
    ),
    topCounterparties: listOf(TopCounterparty, 'Those with the greatest value, at most 50.'),
    exposureSending: percentages,
    exposureReceiving: percentages,
    exposures: listOf(
      Exposure,
      'The 200 greatest rows of each direction. The score, and `exposureSending` and `exposureReceiving`, count all.',
    ),
    taint: Taint,
    stoppedAt: listOf(StoppedFlow, 'Addresses at which funds could not be followed further.'),
    clusterAnalysis: Type.Object({
      clusterId: nullable(Type.String()),
      size: nullable(Type.Integer()),
      heuristics: listOf(Type.String()),
      confidence: nullable(Type.Number()),
      members: listOf(Type.String()),
    }),
    transactionFlow: Type.Object({
      inflow: FlowTotal,
      outflow: FlowTotal,
      net: FlowTotal,
      daily: listOf(DailyTotal, 'Newest first; days without a transfer are left out.'),
      dailyIsComplete: flag('Whether `daily` reaches back to the first transfer known.'),
    }),
    geographicRisk: GeographicRisk,
    fundFlowJurisdictions: listOf(
      Type.Object({ jurisdiction: text(), inUsd: money(), outUsd: money(), percentage: number() }),
    ),
    historicalServices: listOf(
      Type.Object({
        name: text(),
        category: CategorySchema,
        firstSeen: text(),
        lastSeen: text(),
        txCount: count(),
        valueUsd: money(),
      }),
    ),
    crossChainBalances: Type.Record(
      Type.String(),
      Type.Object({ balance: nullable(Type.Number()), balanceUsd: money() }),
    ),
    bridgeActivity: Type.Object({
      bridges: listOf(Type.String()),
      inUsd: money(),
      outUsd: money(),
      txCount: count(),
    }),
    darknetExposure: Type.Object({
      direct: money('USD; null if no transfer is known or none has a price.'),
      indirect: money('The same through addresses without a label.'),
      percentage: nullable(Type.Number(), 'Of all value that moved.'),
      markets: listOf(Type.String()),
    }),
    addressValidation: Type.Object({
      valid: Type.Literal(true),
      canonical: text(),
      kind: text(),
      checksum: flag(),
    }),
    legalInterpretation: LegalInterpretation,
    coverage: Coverage,
    dataVersion: DataVersion,
    screenedAt: text(),
    ...screeningIdField,
    ...issuedReceiptField,
  }),
  {
    title: 'ScreeningResult',
    description:
      'Risk of one address. Unless the request names `sections`, every section is present; `coverage` has the completeness of its data.',
  },
);

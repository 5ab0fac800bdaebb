/**
 * Schemas shared by several endpoints. They validate requests and are the components of the OpenAPI document, under the same names.
 */
import { type TSchema, Type } from 'typebox';
import { LIMITS } from '../../base/limits.ts';
import { CHAINS } from '../../chains/registry.ts';
import { EVIDENCE_CLASSES } from '../../labels/evidence-class.ts';
import { CATEGORIES, THREAT_LEVELS } from '../../labels/taxonomy.ts';
import { REASON_CODES } from '../../screening/answers.ts';
import { LISTS } from '../../sources/lists.ts';

export const oneOf = (values: readonly string[], description?: string): TSchema =>
  Type.Enum([...values], description === undefined ? {} : { description });

export const nullable = (schema: TSchema, description?: string): TSchema =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

export const text = (description?: string): TSchema =>
  Type.String(description === undefined ? {} : { description });
export const number = (description?: string): TSchema =>
  Type.Number(description === undefined ? {} : { description });
export const count = (description?: string): TSchema =>
  Type.Integer(description === undefined ? { minimum: 0 } : { minimum: 0, description });
export const flag = (description?: string): TSchema =>
  Type.Boolean(description === undefined ? {} : { description });
export const listOf = (schema: TSchema, description?: string): TSchema =>
  Type.Array(schema, description === undefined ? {} : { description });

export const ChainIdSchema = oneOf(
  CHAINS.map((chain) => chain.id),
  'Chain identifier, in upper case in every answer.',
);

/** A chain as a client may write it. Not an enumeration, because any letter case is allowed. */
export const ChainText = Type.String({
  minLength: 1,
  maxLength: 32,
  description: 'Chain identifier, in any letter case.',
  examples: ['ETH'],
});

export const AddressText = Type.String({
  minLength: 1,
  maxLength: LIMITS.addressTextMax,
  description: 'Address, in any form that is valid for the chain.',
  examples: ['0x28c6c06298d514db089934071355e5743bf21d60'],
});

export const CategorySchema = oneOf(CATEGORIES, 'What the entity is.');
export const ExposureCategorySchema = oneOf([...CATEGORIES, 'UNKNOWN']);
export const ThreatLevelSchema = oneOf(THREAT_LEVELS);
export const SeveritySchema = oneOf(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL']);
export const RiskLevelSchema = oneOf(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL']);
export const SanctionsListSchema = oneOf([...LISTS.ids, 'OTHER']);
export const EvidenceClassSchema = oneOf(
  EVIDENCE_CLASSES,
  'How the label came to be known. list: an authority names the address. published: a named publisher attributes it. structural: reproducible from the chain. inferred: a model, or a source that names no evidence. Only list and published labels make a verdict CRITICAL.',
);
export const DataVersion = text('Names the label snapshot that answered.');

export const Label = Type.Object(
  {
    name: text('Name of the entity.'),
    category: CategorySchema,
    threatLevel: ThreatLevelSchema,
    source: text('Origin of the label.'),
    class: EvidenceClassSchema,
    tags: listOf(Type.String()),
    confidence: Type.Number({ minimum: 0, maximum: 1 }),
    entityId: text(),
    jurisdiction: nullable(Type.String(), 'ISO 3166-1 alpha-2.'),
    url: nullable(Type.String()),
    sourceUrl: nullable(Type.String(), 'Where the label can be read.'),
    firstSeen: nullable(Type.String()),
    lastSeen: nullable(Type.String()),
    verified: flag('False: ships with the product and was not checked against a publisher’s file.'),
    chain: oneOf(
      [...CHAINS.map((chain) => chain.id), 'EVM'],
      'Chain the label holds on; EVM for the whole family.',
    ),
    synthetic: Type.Optional(
      Type.Literal(true, { description: 'Made for load tests; absent on real labels.' }),
    ),
  },
  { description: 'What one source knows of an address.' },
);

export const CoverageEntry = Type.Object({
  status: oneOf(['COMPLETE', 'PARTIAL', 'NONE']),
  asOf: nullable(Type.String()),
  unpricedAssets: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Of `graph` in screening and KYT: assets that are evidence and moved without a USD value; their shares are by amount.',
    }),
  ),
});

export const Coverage = Type.Object(
  {
    labels: CoverageEntry,
    graph: CoverageEntry,
    balances: CoverageEntry,
    history: CoverageEntry,
    sanctions: CoverageEntry,
  },
  { description: 'How much of the world the answer rests on. NONE: not read, so nothing is known from it.' },
);

export const Reason = Type.Object(
  {
    code: oneOf(REASON_CODES),
    severity: SeveritySchema,
    category: ExposureCategorySchema,
    message: text(),
    source: nullable(Type.String()),
    verified: flag(),
  },
  { description: 'Why a verdict is what it is, or what qualifies an answer.' },
);

export const SanctionsEntry = Type.Object({
  list: SanctionsListSchema,
  authority: text(),
  program: nullable(Type.String()),
  entityName: text(),
  entityId: text(),
  listedAt: nullable(Type.String()),
  listedAtBasis: oneOf(
    ['PARTY', 'WALLET'],
    'The date that `listedAt` is. PARTY: when the list designated the party. WALLET: when the wallet first appeared in the files that were imported.',
  ),
  delistedAt: nullable(Type.String(), 'Set: history, not in force.'),
  sourceUrl: text(),
  matchType: oneOf(['DIRECT', 'OWNER', 'CLUSTER']),
  attribution: Type.Optional(
    Type.Object(
      {
        source: text('Source of the label.'),
        confidence: Type.Number({ minimum: 0, maximum: 1, description: 'Confidence of this one label.' }),
        date: nullable(Type.String(), 'Date of the label, else of its dataset.'),
      },
      {
        description:
          'Of OWNER entries: the label that attributes the address to the designated party. Below a confidence of 0.8 the entry does not make the address sanctioned.',
      },
    ),
  ),
});

const sanctionsDetailFields = {
  isSanctioned: flag(
    'A DIRECT entry, or an OWNER entry whose attribution has a confidence of at least 0.8, is in force.',
  ),
  lists: listOf(SanctionsEntry),
  agreementCount: count('Jurisdictions of the entries in force that make the address sanctioned.'),
  dataAsOf: nullable(Type.String(), 'Oldest last check of the lists that are loaded.'),
};

export const SanctionsDetail = Type.Object(sanctionsDetailFields);

/** Fields of one address, also in responses about several addresses. */
export const labelSetFields = {
  address: text(),
  chain: ChainIdSchema,
  labels: listOf(Label, 'The primary entity first.'),
  sanctioned: flag(),
  sanctionsDetail: nullable(SanctionsDetail, 'Null when not sanctioned.'),
  assessed: flag('False: nothing at all is known of the address.'),
};

/** Fields that state the basis of a response about labels. */
export const labelSetBasis = {
  coverage: Coverage,
  reasons: listOf(Reason),
  dataVersion: DataVersion,
};

export const EntityLabelSet = Type.Object(
  { ...labelSetFields, ...labelSetBasis },
  { description: 'All labels of one address.' },
);

export const SanctionsCheck = Type.Object({
  address: text(),
  chain: ChainIdSchema,
  sanctioned: flag('True for direct matches only.'),
  lists: sanctionsDetailFields.lists,
  agreementCount: sanctionsDetailFields.agreementCount,
  dataAsOf: sanctionsDetailFields.dataAsOf,
  freshness: Type.Record(
    Type.String(),
    Type.Object({ publishedAt: nullable(Type.String()), checkedAt: nullable(Type.String()) }),
    { description: 'Publication and last successful check of each list.' },
  ),
  coverage: Coverage,
  assessed: flag(),
  reasons: listOf(Reason),
  dataVersion: DataVersion,
});

export const EntitySummary = Type.Object({
  name: text(),
  category: CategorySchema,
  threatLevel: ThreatLevelSchema,
});

export const Quota = Type.Object({
  limit: nullable(Type.Integer(), 'Calls a month; null is unlimited.'),
  remaining: nullable(Type.Integer()),
  resetAt: text('First instant of the next month, UTC.'),
});

export const OracleVerdict = Type.Object({
  address: text(),
  chain: ChainIdSchema,
  verdict: oneOf(['safe', 'warning', 'danger']),
  score: Type.Integer({ minimum: 0, maximum: 100 }),
  riskLevel: RiskLevelSchema,
  sanctioned: flag(),
  reasons: listOf(Reason),
  entity: nullable(EntitySummary, 'The owner of the address; null if no label names one.'),
  coverage: Coverage,
  assessed: flag(),
  exposureAsOf: nullable(
    text(),
    'When the exposure in this answer was last up to date; null if the chain has no stored transfers, or no index of them. An entry that waits to be computed again keeps its last verdict.',
  ),
  dataVersion: DataVersion,
  policyVersion: text(),
  evaluatedAt: text(),
  ttlSeconds: count('How long the verdict may be relied on.'),
  quota: Quota,
});

export const ErrorBody = Type.Object(
  { error: text('A sentence that names the field and the bound it broke.') },
  {
    description: 'Every error. With `Accept: application/problem+json` the same as RFC 9457 problem details.',
  },
);

export const Problem = Type.Object(
  {
    type: text(),
    title: text(),
    status: Type.Integer(),
    detail: text('The same sentence as `error`.'),
    instance: text(),
    code: text(),
    field: Type.Optional(Type.String()),
  },
  { description: 'Problem details (RFC 9457).' },
);

export const Ignored = Type.Array(Type.String(), {
  description:
    'Fields of the body and query parameters that the operation does not know, so that a misspelt option is seen.',
});

/** Returns the envelope of a successful response. */
export const envelope = (data: TSchema): TSchema =>
  Type.Object({ success: Type.Literal(true), data, ignored: Type.Optional(Ignored) });

/** Returns the envelope of an operation with a body. */
export const bodyEnvelope = (data: TSchema): TSchema =>
  Type.Object({ success: Type.Literal(true), data, ignored: Ignored });

/** Returns the envelope of an operation that costs credits. */
export const chargedEnvelope = (data: TSchema): TSchema =>
  Type.Object({
    success: Type.Literal(true),
    data,
    credits: Type.Object({ remaining: Type.Integer({ description: 'Credits after the call.' }) }),
    ignored: Ignored,
  });

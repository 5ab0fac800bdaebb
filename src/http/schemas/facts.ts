/** Schemas of what is known about an address, and why: labels, sanctions, coverage and reasons. */

import { Type } from 'typebox';
import { CHAINS } from '../../chains/registry.ts';
import { EVIDENCE_CLASSES } from '../../labels/evidence-class.ts';
import { CATEGORIES, THREAT_LEVELS } from '../../labels/taxonomy.ts';
import { REASON_CODES } from '../../screening/answers.ts';
import { LISTS } from '../../sources/lists.ts';
import { ChainIdSchema, count, flag, listOf, nullable, oneOf, text } from './fields.ts';

export const CategorySchema = oneOf(CATEGORIES, 'Category of the entity.', { title: 'Category' });
export const ExposureCategorySchema = oneOf([...CATEGORIES, 'UNKNOWN'], undefined, {
  title: 'ExposureCategory',
});
export const ThreatLevelSchema = oneOf(THREAT_LEVELS, undefined, { title: 'ThreatLevel' });
export const SeveritySchema = oneOf(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'], undefined, { title: 'Severity' });
export const RiskLevelSchema = oneOf(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'], undefined, {
  title: 'RiskLevel',
});
export const SanctionsListSchema = oneOf([...LISTS.ids, 'OTHER'], undefined, { title: 'SanctionsList' });
export const EvidenceClassSchema = oneOf(
  EVIDENCE_CLASSES,
  'Evidence of the label. list: an authority names the address. published: a named publisher attributes it. structural: reproducible from the chain. inferred: a model, or a source that names no evidence. Only list and published labels make a verdict CRITICAL.',
  { title: 'EvidenceClass' },
);
export const DataVersion = text('Version of the label snapshot of this response.');

export const DerivationSchema = Type.Object(
  {
    rule: text('Id of the rule.'),
    version: Type.Integer({ minimum: 1 }),
    precision: nullable(
      Type.Number({ minimum: 0, maximum: 1 }),
      'Part of the labels of the rule that are right; 1 minus this is its error rate. Null: not measured.',
    ),
    recall: nullable(
      Type.Number({ minimum: 0, maximum: 1 }),
      'Part of the addresses of this kind that the rule finds. Null: not measured.',
    ),
    measuredOn: nullable(Type.String(), 'The data on which the rates were measured.'),
    measuredAt: nullable(Type.String(), 'Date of the measurement.'),
    notMeasured: nullable(Type.String(), 'Why a rate is null; null if both were measured.'),
  },
  {
    title: 'Derivation',
    description:
      'The rule that made a structural or inferred label. `GET /address/{chain}/{address}/attribution` has the evidence: transactions and blocks.',
  },
);

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
    sourceUrl: nullable(Type.String(), 'Page on which the label is published.'),
    firstSeen: nullable(Type.String()),
    lastSeen: nullable(Type.String()),
    verified: flag('False: ships with the product and was not checked against a publisher’s file.'),
    chain: oneOf(
      [...CHAINS.map((chain) => chain.id), 'EVM'],
      'Chain of the label; EVM for the whole family.',
    ),
    derivation: Type.Optional(DerivationSchema),
    synthetic: Type.Optional(
      Type.Literal(true, { description: 'Made for load tests; absent on real labels.' }),
    ),
  },
  { title: 'Label', description: 'A label of an address from one source.' },
);

export const CoverageEntry = Type.Object(
  {
    status: oneOf(['COMPLETE', 'PARTIAL', 'NONE']),
    asOf: nullable(Type.String()),
    unpricedAssets: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Of `graph` in screening and KYT: assets that are evidence and moved without a USD value; their shares are by amount.',
      }),
    ),
  },
  { title: 'CoverageEntry' },
);

export const Coverage = Type.Object(
  {
    labels: CoverageEntry,
    graph: CoverageEntry,
    balances: CoverageEntry,
    history: CoverageEntry,
    sanctions: CoverageEntry,
  },
  {
    title: 'Coverage',
    description: 'Completeness of the data behind the response. NONE: not read.',
  },
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
  { title: 'Reason', description: 'A reason of a verdict, or a qualification of a response.' },
);

export const SanctionsEntry = Type.Object(
  {
    list: SanctionsListSchema,
    authority: text(),
    program: nullable(Type.String()),
    entityName: text(),
    entityId: text(),
    listedAt: nullable(Type.String()),
    listedAtBasis: oneOf(
      ['PARTY', 'WALLET'],
      'Meaning of `listedAt`. PARTY: when the list designated the party. WALLET: when the wallet first appeared in the files that were imported.',
    ),
    delistedAt: nullable(Type.String(), 'If set, the entry is no longer in force.'),
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
  },
  { title: 'SanctionsEntry' },
);

export const sanctionsDetailFields = {
  isSanctioned: flag(
    'A DIRECT entry, or an OWNER entry whose attribution has a confidence of at least 0.8, is in force.',
  ),
  lists: listOf(SanctionsEntry),
  agreementCount: count('Jurisdictions of the entries in force that make the address sanctioned.'),
  dataAsOf: nullable(Type.String(), 'Oldest last check of the lists that are loaded.'),
};

export const SanctionsDetail = Type.Object(sanctionsDetailFields, { title: 'SanctionsDetail' });

/** Fields of one address, also in responses about several addresses. */
export const labelSetFields = {
  address: text(),
  chain: ChainIdSchema,
  labels: listOf(Label, 'The primary entity first.'),
  sanctioned: flag(),
  sanctionsDetail: nullable(SanctionsDetail, 'Null when not sanctioned.'),
  assessed: flag('False if nothing is known about the address.'),
};

/** Fields that state the basis of a response about labels. */
export const labelSetBasis = {
  coverage: Coverage,
  reasons: listOf(Reason),
  dataVersion: DataVersion,
};

export const EntityLabelSet = Type.Object(
  { ...labelSetFields, ...labelSetBasis },
  { title: 'EntityLabelSet', description: 'All labels of one address.' },
);

export const EntitySummary = Type.Object(
  {
    name: text(),
    category: CategorySchema,
    threatLevel: ThreatLevelSchema,
  },
  { title: 'EntitySummary' },
);

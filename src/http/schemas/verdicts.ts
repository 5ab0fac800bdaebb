/** Schemas of verdicts that several operations give: that of the sanctions check and that of the oracle. */
import { Type } from 'typebox';
import {
  Coverage,
  DataVersion,
  EntitySummary,
  Reason,
  RiskLevelSchema,
  sanctionsDetailFields,
} from './facts.ts';
import { ChainIdSchema, count, flag, listOf, nullable, oneOf, text } from './fields.ts';
import { issuedReceiptField, oracleIssuedField } from './issued-receipts.ts';

export const SanctionsCheck = Type.Object(
  {
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
    ...issuedReceiptField,
  },
  { title: 'SanctionsCheck' },
);

export const Quota = Type.Object(
  {
    limit: nullable(Type.Integer(), 'Calls a month; null is unlimited.'),
    remaining: nullable(Type.Integer()),
    resetAt: text('First instant of the next month, UTC.'),
  },
  { title: 'QuotaState' },
);

export const OracleVerdict = Type.Object(
  {
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
      'Time at which the exposure of this response was last up to date; null if the chain has no stored transfers, or no index of them. An entry that waits for its next computation keeps its last verdict.',
    ),
    dataVersion: DataVersion,
    policyVersion: text(),
    evaluatedAt: text(),
    ttlSeconds: count('How long the verdict may be relied on.'),
    quota: Quota,
    ...oracleIssuedField,
  },
  { title: 'OracleVerdict' },
);

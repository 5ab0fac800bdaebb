/** Schemas of POST /kyt. */
import { Type } from 'typebox';
import {
  AddressText,
  ChainIdSchema,
  ChainText,
  Coverage,
  count,
  DataVersion,
  EntitySummary,
  ExposureCategorySchema,
  flag,
  listOf,
  nullable,
  number,
  oneOf,
  Reason,
  RiskLevelSchema,
  SeveritySchema,
  text,
} from './common.ts';
import { FlowTotal, money } from './screening.ts';

const direction = oneOf(['in', 'out', 'both']);

export const KytBody = Type.Object({
  address: Type.Optional(AddressText),
  from: Type.Optional(AddressText),
  to: Type.Optional(AddressText),
  chain: ChainText,
  direction: Type.Optional(
    Type.Enum(['in', 'out', 'both'], {
      default: 'both',
      description: 'Of a single address: what it received (in), sent (out), or both.',
    }),
  ),
});

const Party = Type.Object(
  { address: text(), entity: nullable(EntitySummary), sanctioned: flag() },
  { description: 'A party of the check.' },
);

const Flag = Type.Object(
  {
    code: text(),
    severity: SeveritySchema,
    party: oneOf(['from', 'to', 'address']),
    category: ExposureCategorySchema,
    riskType: oneOf(['OWNERSHIP', 'COUNTERPARTY', 'INDIRECT', 'BEHAVIOUR']),
    direction,
    entity: nullable(EntitySummary),
    percentage: number(),
    valueUsd: money(),
    hops: count(),
    message: text(),
  },
  { description: 'What compliance should look at.' },
);

const Link = Type.Object(
  {
    riskScore: Type.Integer({ minimum: 0, maximum: 100 }),
    sent: nullable(FlowTotal, 'What `from` is known to have sent to `to`.'),
    returned: nullable(FlowTotal, 'What came back.'),
  },
  { description: 'What moved between the parties.' },
);

export const KytResult = Type.Object(
  {
    chain: ChainIdSchema,
    riskScore: Type.Integer({ minimum: 0, maximum: 100 }),
    riskLevel: RiskLevelSchema,
    decision: oneOf(['BLOCK', 'REVIEW', 'ALLOW']),
    from: Type.Optional(Party),
    to: Type.Optional(Party),
    link: Type.Optional(Link),
    address: Type.Optional(Party),
    direction: Type.Optional(direction),
    flags: listOf(Flag),
    reasons: listOf(Reason),
    resolved: Type.Record(Type.String(), Type.String(), {
      description: 'Names that were given in place of addresses, and what they resolved to.',
    }),
    assessed: flag(),
    coverage: Coverage,
    dataVersion: DataVersion,
    policyVersion: text(),
    checkedAt: text(),
  },
  { description: 'Risk of a transfer: `from` and `to` of a pair, or `address` alone.' },
);

/** Schemas of POST /kyt. */
import { Type } from 'typebox';
import { DIRECTION_CHOICES, DIRECTION_DEFAULT } from '../../screening/choices.ts';
import {
  Coverage,
  DataVersion,
  EntitySummary,
  ExposureCategorySchema,
  Reason,
  RiskLevelSchema,
  SeveritySchema,
} from './facts.ts';
import {
  AddressText,
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
import { FlowTotal, money } from './screening.ts';

const direction = oneOf(DIRECTION_CHOICES);

export const KytBody = Type.Object(
  {
    address: Type.Optional(AddressText),
    from: Type.Optional(AddressText),
    to: Type.Optional(AddressText),
    chain: ChainText,
    direction: Type.Optional(
      oneOf(
        DIRECTION_CHOICES,
        'Of a single address: received funds (in), sent funds (out), or both. A pair has none.',
        {
          default: DIRECTION_DEFAULT,
        },
      ),
    ),
    ...saveField,
    ...receiptField,
  },
  { title: 'KytBody' },
);

const Party = Type.Object(
  { address: text(), entity: nullable(EntitySummary), sanctioned: flag() },
  { title: 'KytParty', description: 'A party of the check.' },
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
  { title: 'KytFlag', description: 'A finding for compliance.' },
);

const Link = Type.Object(
  {
    riskScore: Type.Integer({ minimum: 0, maximum: 100 }),
    sent: nullable(FlowTotal, 'Known transfers from `from` to `to`.'),
    returned: nullable(FlowTotal, 'Known transfers in the other direction.'),
  },
  { title: 'KytLink', description: 'Transfers between the parties.' },
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
      description: 'Names in the request, and the addresses that they resolved to.',
    }),
    assessed: flag(),
    coverage: Coverage,
    dataVersion: DataVersion,
    policyVersion: text(),
    checkedAt: text(),
    ...screeningIdField,
    ...issuedReceiptField,
  },
  { title: 'KytResult', description: 'Risk of a transfer: `from` and `to` of a pair, or `address` alone.' },
);

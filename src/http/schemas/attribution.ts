/** Schemas of the evidence of derived labels. */
import { Type } from 'typebox';
import {
  ChainIdSchema,
  count,
  DataVersion,
  DerivationSchema,
  Label,
  listOf,
  nullable,
  oneOf,
  text,
} from './common.ts';

const EvidenceTransaction = Type.Object(
  {
    role: oneOf(
      ['RECEIVED', 'FORWARDED', 'FUNDED', 'CREATED', 'FROZEN', 'UNFROZEN', 'DESTROYED'],
      'RECEIVED and FORWARDED belong together: a payment in, and the payment that passed it on.',
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
      ['LABELLED', 'INSUFFICIENT', 'ENDED'],
      'LABELLED: enough for a label, which the next index has. INSUFFICIENT: not enough. ENDED: taken back on chain.',
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

export const Attribution = Type.Object(
  {
    address: text(),
    chain: ChainIdSchema,
    labels: listOf(Label),
    findings: listOf(AttributionFinding),
    judgedAt: nullable(
      Type.String(),
      'ISO time up to which transfers were judged; null if the rules never ran on the chain.',
    ),
    dataVersion: DataVersion,
  },
  { title: 'Attribution', description: 'Derived labels of an address with their evidence.' },
);

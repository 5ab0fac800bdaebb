/** Schemas of GET /transactions/{hash}. */
import { Type } from 'typebox';
import { GRAPH_LIMITS } from '../../graph/limits.ts';
import {
  Coverage,
  DataVersion,
  EntitySummary,
  ExposureCategorySchema,
  RiskLevelSchema,
  ThreatLevelSchema,
} from './facts.ts';
import { amountFields, ChainIdSchema, count, flag, listOf, nullable, oneOf, text, time } from './fields.ts';
import { money } from './screening.ts';

const TransactionTransfer = Type.Object(
  {
    position: text('Place in the transaction, such as `value` or `log:12`.'),
    from: nullable(Type.String(), 'Null if there is no sender: a coinbase or a mint.'),
    to: nullable(Type.String(), 'Null if there is no receiver: a burn.'),
    asset: text(),
    ...amountFields,
    valueUsd: money('USD at the time of the transfer; null if no price is known.'),
    evidence: flag(
      'False: a token that is on no curated list. Anyone can forge its transfers, so they never score.',
    ),
    blockNumber: count(),
    timestamp: time('Time of the block.'),
  },
  { title: 'TransactionTransfer' },
);

const TransactionParty = Type.Object(
  {
    address: text(),
    label: nullable(Type.String(), 'Name of the entity; null if the address has no label.'),
    category: ExposureCategorySchema,
    riskLevel: RiskLevelSchema,
    entity: nullable(EntitySummary),
    threatLevel: nullable(ThreatLevelSchema),
    sanctioned: flag(),
  },
  { title: 'TransactionParty', description: 'A side of a transfer, with its own risk as in a trace.' },
);

const ChainTransaction = Type.Object(
  {
    chain: ChainIdSchema,
    hash: text('As the chain writes it.'),
    transfers: listOf(
      TransactionTransfer,
      `In the order in which they were stored, at most ${GRAPH_LIMITS.transfersPerTransaction}.`,
    ),
    totalTransfers: count('Stored transfers of the transaction, with those that are not listed.'),
    truncated: flag('True: more transfers are stored than are listed.'),
    unreadTransfers: count(
      'Transfers that are stored, but cannot be listed: an earlier version stored them without their place.',
    ),
    parties: listOf(TransactionParty, 'Each address of the listed transfers once.'),
    coverage: Coverage,
    dataVersion: DataVersion,
  },
  { title: 'ChainTransaction' },
);

export const TransactionResult = Type.Object(
  {
    hash: text(),
    transactions: listOf(
      ChainTransaction,
      'One for each chain that has the hash. Empty if no transfer of the transaction is stored here.',
    ),
    searched: listOf(ChainIdSchema, 'Chains whose transfers were searched.'),
    notSearched: listOf(
      Type.Object({
        chain: ChainIdSchema,
        reason: oneOf(
          ['NO_TRANSFERS', 'NOT_SEARCHABLE', 'UNAVAILABLE'],
          'NO_TRANSFERS: none of the chain is stored here. NOT_SEARCHABLE: they are in a server, which has no hashes, or, on TON, have the hash of their trace. UNAVAILABLE: no node that stores them is available, or their store cannot be read.',
        ),
      }),
      'Chains on which the text can be a hash, and that were not searched.',
    ),
    searchedAt: time(),
  },
  { title: 'TransactionResult', description: 'The stored transfers of a transaction.' },
);

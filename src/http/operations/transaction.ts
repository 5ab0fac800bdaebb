/** `GET /transactions/{hash}`. */
import { Type } from 'typebox';
import { GRAPH_LIMITS } from '../../graph/limits.ts';
import { operation } from '../operation.ts';
import { chainText } from '../schemas/fields.ts';
import { TransactionResult } from '../schemas/transaction.ts';

export const transaction = operation({
  id: 'transaction',
  sdk: 'transactions.get',
  tag: 'Screening',
  method: 'GET',
  path: '/transactions/{hash}',
  permission: 'screening',
  rateClass: 'screening',
  pathParameters: {
    hash: Type.String({
      minLength: 1,
      maxLength: GRAPH_LIMITS.txHashTextMax,
      description:
        'Transaction hash, in the form of its chain. Hexadecimal digits may be of any letter case.',
      // The first transaction of Ethereum, of 7 August 2015.
      examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'],
    }),
  },
  query: {
    chain: Type.Optional(chainText('Only this chain. Default: every chain on which the text can be a hash.')),
  },
  response: TransactionResult,
  summary: 'Transfers of a transaction',
  description:
    'Stored transfers of a transaction, with the labels and the risk of both sides. A hash does not name its chain, so every chain that has it is listed. Nothing is fetched from a chain: a transaction whose transfers were not imported is not found. Free.',
  run: ({ services, path, query }) => services.useCases.transaction({ hash: path.hash, chain: query.chain }),
});

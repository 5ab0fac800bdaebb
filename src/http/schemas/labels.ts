/** Schemas of the raw label operations. */
import { Type } from 'typebox';
import { LIMITS } from '../../base/limits.ts';
import { AddressText, ChainText, labelSetBasis, labelSetFields, listOf, text } from './common.ts';

export const ScreenBody = Type.Object({ address: AddressText, chain: ChainText });

export const BulkBody = Type.Object({
  addresses: Type.Array(
    Type.Union([AddressText, Type.Object({ address: AddressText, chain: Type.Optional(ChainText) })]),
    {
      minItems: 1,
      maxItems: LIMITS.bulkAddressesMax,
      description: 'Addresses, plain (then `chain` applies) or each with its chain.',
    },
  ),
  chain: Type.Optional(ChainText),
});

export const BulkError = Type.Object(
  { address: text('As sent.'), error: text() },
  { description: 'In the place of an item that is no address. It costs no quota.' },
);

export const BulkItem = Type.Object(labelSetFields);

export const BulkResult = Type.Object({
  results: listOf(Type.Union([BulkItem, BulkError]), 'In the order of the request.'),
  ...labelSetBasis,
});

/** Schemas of the raw label operations. */
import { Type } from 'typebox';
import { SCREENING_LIMITS } from '../../screening/limits.ts';
import { labelSetBasis, labelSetFields, RiskLevelSchema } from './facts.ts';
import { AddressText, ChainText, listOf, nullable, oneOf, text } from './fields.ts';

export const BulkBody = Type.Object(
  {
    addresses: Type.Array(
      Type.Union([AddressText, Type.Object({ address: AddressText, chain: Type.Optional(ChainText) })]),
      {
        minItems: 1,
        maxItems: SCREENING_LIMITS.bulkAddressesMax,
        description: 'Addresses, plain (then `chain` applies) or each with its chain.',
      },
    ),
    chain: Type.Optional(ChainText),
    verdict: Type.Optional(
      Type.Boolean({
        description:
          'Adds the verdict of the oracle to each item: labels and exposure, with the codes of its reasons.',
      }),
    ),
  },
  { title: 'BulkBody' },
);

export const BulkError = Type.Object(
  { address: text('As sent.'), error: text() },
  { title: 'BulkError', description: 'In the place of an invalid item. It costs no quota.' },
);

export const BulkItem = Type.Object(
  {
    ...labelSetFields,
    verdict: Type.Optional(
      oneOf(['safe', 'warning', 'danger'], 'Only with `verdict: true`, as the next four.'),
    ),
    score: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
    riskLevel: Type.Optional(RiskLevelSchema),
    reasonCodes: Type.Optional(
      listOf(
        text(),
        'Codes of the reasons that the oracle gives, each once; `GRAPH_NOT_READ` if stored transfers are not part of the verdict. ' +
          'A line of a bulk job without verdicts has it with `STALE_OR_MISSING_DATA` only, if a sanctions list is missing or too old.',
      ),
    ),
    exposureAsOf: Type.Optional(
      nullable(
        text(),
        'When the exposure was last up to date; null if the chain has no stored transfers, or no index of them.',
      ),
    ),
  },
  { title: 'BulkItem' },
);

export const BulkResult = Type.Object(
  {
    results: listOf(Type.Union([BulkItem, BulkError]), 'In the order of the request.'),
    ...labelSetBasis,
  },
  { title: 'BulkResult' },
);

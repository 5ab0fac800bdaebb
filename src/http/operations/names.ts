/** `POST /namescreen/bulk`. The pool does the matching. */
import { AssayError } from '../../base/errors.ts';
import type { ClearedMatch } from '../../names/cleared.ts';
import { NAME_LIMITS } from '../../names/limits.ts';
import type { NameQuery } from '../../names/name.ts';
import { callerOf, operation } from '../operation.ts';
import { NamesBody, NamesResult } from '../schemas/names.ts';
import { nameQuery } from './support/names.ts';
import { wantedReceipt, withReceipt } from './support/receipts.ts';

const queriesOf = (names: readonly NameQuery[]): readonly NameQuery[] =>
  names.map((one, at) => nameQuery(one, `names[${at}].`));

const entityOf = ({ list, entityId, entityVersion }: ClearedMatch) => ({ list, entityId, entityVersion });

export const names = operation({
  id: 'names',
  sdk: 'names.screen',
  tag: 'Names',
  method: 'POST',
  path: '/namescreen/bulk',
  permission: 'screening',
  rateClass: 'names',
  credits: 1,
  body: NamesBody,
  response: NamesResult,
  bare: true,
  summary: `Screen up to ${NAME_LIMITS.screenedNamesMax} names, 1 credit each`,
  description:
    'Sanctions lists, politically exposed persons and adverse media, with the reasons for every match. The response has no envelope. One invalid name rejects the request; the error has its position.',
  // An invalid name rejects the request before any credits are reserved.
  cost: ({ names: list }) => queriesOf(list).length,
  async run({ services, call, body }) {
    const { useCases } = services;
    const wanted = wantedReceipt(call, body);
    if (wanted?.target)
      throw new AssayError(
        'INVALID_REQUEST',
        'receipt: must be none or jws; a name has no verdict for a contract.',
        {
          field: 'receipt',
        },
      );
    const { accountId } = callerOf(call);
    const queries = queriesOf(body.names);
    const cleared = useCases.names.cleared().of(
      accountId,
      queries.map(({ name }) => name),
    );
    const { threshold, limit, explain } = body;
    const options = {
      ...(threshold === undefined ? {} : { threshold }),
      ...(limit === undefined ? {} : { limit }),
      ...(explain === undefined ? {} : { explain }),
    };
    const data = useCases.names.screen(
      queries.map((query, at) => ({
        ...query,
        ...options,
        cleared: (cleared[at] ?? []).map(entityOf),
      })),
    );
    if (wanted === null) return data;
    const answer = JSON.parse(Buffer.from(await data).toString('utf8'));
    const { receipt: _, verifier: __, ...request } = body;
    const evidence = { kind: 'NAMES', answer } as const;
    const attested = { kind: 'NAMES', request, answer, evidence } as const;
    return Buffer.from(await withReceipt({ services, call }, attested, wanted));
  },
});

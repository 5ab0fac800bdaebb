/** The request of a screening: its options are in the URL, and a reload does not charge again. */

import { queryOptions } from '@tanstack/react-query';
import { SCREENING_HOPS, TAINT_METHODS } from '../../api/choices.ts';
import { callWhole, type ResponseOf, type Schemas } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';
import { keyFor, renewKey } from '../../api/repeat-key.ts';
import type { Search } from '../../ui/url-state.ts';

export type Screening = Schemas['ScreeningResult'];
export type Answer = ResponseOf<'/screening', 'post'>;
export type Options = Omit<Schemas['ScreeningBody'], 'address' | 'chain'>;

const isTaint = (text: string | undefined): text is (typeof TAINT_METHODS)[number] =>
  TAINT_METHODS.some((method) => method === text);

/** Beside each other, the policies say how much depends on the choice. It costs the same as one. */
export const STANDARD_TAINT = 'all';

/** Reads the options of the URL. Invalid options are left out, and the default applies. */
export function optionsIn(search: Search): Options {
  const { asOf, jurisdiction, taint } = search;
  const maxHops = Number(search.hops);
  return {
    ...(asOf !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(asOf) ? { asOf } : {}),
    ...(jurisdiction !== undefined && /^[A-Z]{2}$/.test(jurisdiction) ? { jurisdiction } : {}),
    taint: isTaint(taint) ? taint : STANDARD_TAINT,
    ...(SCREENING_HOPS.some((hops) => hops === maxHops) ? { maxHops } : {}),
  };
}

/**
 * Asks for a screening with a receipt, which the printed report shows. If the server fails, which may be because it cannot sign or store
 * one, it asks without: the answer matters more than its record. A request that fails is not charged.
 */
async function ask(body: Schemas['ScreeningBody']): Promise<Answer> {
  const send = (sent: Schemas['ScreeningBody']): Promise<Answer> =>
    callWhole('post', '/screening', { body: sent, idempotencyKey: keyFor('screening', sent) });
  try {
    return await send({ ...body, receipt: 'jws' });
  } catch (error) {
    if (!(error instanceof ApiError) || !error.isOfServer || error.status < 500) throw error;
    return send(body);
  }
}

const bodyOf = (chain: string, address: string, options: Options) => ({ address, chain, ...options });

/** Makes the next request of a screening a new, charged one. */
export function renewScreening(chain: string, address: string, options: Options): void {
  const body = bodyOf(chain, address, options);
  renewKey('screening', { ...body, receipt: 'jws' });
  renewKey('screening', body);
}

/** The screening of an address. Another attempt and a reload have the same key, and are charged once. */
export const screeningQuery = (chain: string, address: string, options: Options) =>
  queryOptions({
    queryKey: ['screening', chain, address, options],
    queryFn: () => ask(bodyOf(chain, address, options)),
    // It has been paid for, and says itself how old it is.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 30 * 60_000,
  });

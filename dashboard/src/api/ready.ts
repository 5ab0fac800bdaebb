/** The state of the server and its data: one query that pages share. */
import { queryOptions } from '@tanstack/react-query';
import { call, type DataOf } from './client.ts';
import { ApiError } from './errors.ts';

export type Ready = DataOf<'/ready', 'get'>;

/** Reads the state of the data. A server that is not ready says what is missing beside its error. */
async function readStatus(signal: AbortSignal): Promise<Ready> {
  try {
    return await call('get', '/ready', { signal });
  } catch (error) {
    if (error instanceof ApiError && error.status === 503 && error.data !== null) return error.data as Ready;
    throw error;
  }
}

/** The status changes with every check of a list, a few times a day. */
const STATUS_MS = 300_000;

/** The state. */
export const readyQuery = queryOptions({
  queryKey: ['ready'],
  queryFn: ({ signal }) => readStatus(signal),
  refetchInterval: STATUS_MS,
});

/** `POST /kyt`: passes the fields of the body to the use case and returns the bytes of `data`. */
import type { KytRequest } from '../../screening/kyt.ts';
import type { Work } from '../pipeline/work.ts';
import type { HttpDeps } from '../ports.ts';

/** Handles `POST /kyt`. */
export function kytWork({ useCases }: Pick<HttpDeps, 'useCases'>): Work {
  return {
    kind: 'task',
    answer: (_call, body) => {
      const { chain, address, from, to, direction } = body as KytRequest;
      // Only known fields are passed on; other fields of the body are listed in `ignored`.
      return useCases.kyt({
        chain,
        ...(address === undefined ? {} : { address }),
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
        ...(direction === undefined ? {} : { direction }),
      });
    },
  };
}

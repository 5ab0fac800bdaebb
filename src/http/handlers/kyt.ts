/** POST /kyt: a small message to the use case, the bytes of `data` back. */
import type { KytRequest } from '../../screening/kyt.ts';
import type { Work } from '../pipeline.ts';
import type { HttpDeps } from '../ports.ts';

export function kytWork({ useCases }: Pick<HttpDeps, 'useCases'>): Work {
  return {
    kind: 'task',
    answer: (_call, body) => {
      const { chain, address, from, to, direction } = body as KytRequest;
      // Only the known fields travel: what else a body holds is in `ignored`.
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

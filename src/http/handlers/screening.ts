/** POST /screening: a small message to the use case, the bytes of `data` back. */
import type { ScreeningRequest } from '../../screening/screen.ts';
import type { Work } from '../pipeline.ts';
import type { HttpDeps } from '../ports.ts';

export function screeningWork({ useCases }: Pick<HttpDeps, 'useCases'>): Work {
  return {
    kind: 'task',
    answer: (_call, body) => {
      const { chain, address, jurisdiction, asOf, maxHops, taint } = body as ScreeningRequest;
      // Only the known fields travel: what else a body holds is in `ignored`.
      const options = {
        ...(jurisdiction === undefined ? {} : { jurisdiction }),
        ...(asOf === undefined ? {} : { asOf }),
        ...(maxHops === undefined ? {} : { maxHops }),
        ...(taint === undefined ? {} : { taint }),
      };
      return useCases.screening({ chain, address, ...options });
    },
  };
}

/** `POST /screening`: passes the fields of the body to the use case and returns the bytes of `data`. */
import type { ScreeningRequest } from '../../screening/screen.ts';
import type { Work } from '../pipeline/work.ts';
import type { HttpDeps } from '../ports.ts';

/** Handles `POST /screening`. */
export function screeningWork({ useCases }: Pick<HttpDeps, 'useCases'>): Work {
  return {
    kind: 'task',
    answer: (_call, body) => {
      const { chain, address, jurisdiction, asOf, maxHops, taint } = body as ScreeningRequest;
      // Only known fields are passed on; other fields of the body are listed in `ignored`.
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

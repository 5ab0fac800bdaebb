/** POST /screening: a small message to the use case, the bytes of `data` back. */
import type { Work } from '../pipeline.ts';
import type { HttpDeps } from '../ports.ts';

interface Body {
  readonly address: string;
  readonly chain: string;
  readonly jurisdiction?: string;
}

/** Of the specification. */
const DEFAULT_JURISDICTION = 'CH';

export function screeningWork({ useCases }: Pick<HttpDeps, 'useCases'>): Work {
  return {
    kind: 'task',
    answer: (call, body) => {
      const { address, chain, jurisdiction = DEFAULT_JURISDICTION } = body as Body;
      const request = { address, chain, jurisdiction: jurisdiction.toUpperCase() };
      return useCases.screening(request, call.exchange.signal);
    },
  };
}

/** `GET /exchange-status`: answered synchronously from memory. */

import { queryValue, requiredQueryValue } from '../pipeline/query.ts';
import type { Work } from '../pipeline/work.ts';
import type { HttpDeps } from '../ports.ts';

/** Handles `GET /exchange-status`. */
export function exchangeStatusWork({ useCases }: Pick<HttpDeps, 'useCases'>): Work {
  return {
    kind: 'lookup',
    write: (call, out, offset) => {
      const query = call.exchange.query();
      const name = requiredQueryValue(query, 'name');
      const data = useCases.exchangeStatus(name, queryValue(query, 'jurisdiction'));
      if (offset + data.length > out.length) return -1;
      out.set(data, offset);
      return offset + data.length;
    },
  };
}

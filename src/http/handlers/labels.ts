/** Operations that return labels: entity, raw labels single and bulk, the sanctions check, the oracle. */
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { countBulkAddresses } from '../../screening/bulk.ts';
import type { Call } from '../pipeline/call.ts';
import { decodeParameter, queryValue, requiredQueryValue } from '../pipeline/query.ts';
import type { Work } from '../pipeline/work.ts';
import type { HttpDeps } from '../ports.ts';

type Deps = Pick<HttpDeps, 'useCases' | 'access'>;

/** Seconds for which a client may use its cached copy of a label set (specification decisions). */
const LABELS_MAX_AGE_SECONDS = 300;

const inPath = (call: Call, position: number, name: string): string =>
  decodeParameter(call.exchange.params[position] ?? '', name);

/** Handles `GET /entity/{address}`. */
export function entityWork({ useCases }: Deps): Work {
  return {
    kind: 'lookup',
    write: (call, out, offset) => {
      const chain = queryValue(call.exchange.query(), 'chain') ?? 'ETH';
      return useCases.labelSet(chain, inPath(call, 0, 'address'), out, offset);
    },
  };
}

/** Whether an If-None-Match header contains the tag, by weak comparison (RFC 9110, section 13.1.2). */
function namesTag(header: string, tag: string): boolean {
  if (header === '') return false;
  return header.split(',').some((one) => {
    const trimmed = one.trim();
    return trimmed === '*' || trimmed === tag || trimmed === tag.slice(2);
  });
}

/** Handles `GET /address/{chain}/{address}/labels`. */
export function labelsWork({ useCases }: Deps): Work {
  return {
    kind: 'lookup',
    write: (call, out, offset) => {
      const end = useCases.labelSet(inPath(call, 0, 'chain'), inPath(call, 1, 'address'), out, offset);
      const tag = `W/"${useCases.labelSetVersion()}"`;
      call.lines = `\r\nETag: ${tag}\r\nCache-Control: private, max-age=${LABELS_MAX_AGE_SECONDS}`;
      call.notModified = namesTag(call.exchange.header('if-none-match'), tag);
      return end;
    },
  };
}

/** Handles `POST /screen`. */
export function screenWork({ useCases }: Deps): Work {
  return {
    kind: 'body',
    write: (_call, out, offset, body) => {
      const { chain, address } = body as { chain: string; address: string };
      return useCases.labelSet(chain, address, out, offset);
    },
  };
}

/** Handles `POST /screen/bulk`. */
export function screenBulkWork({ useCases, access }: Deps): Work {
  return {
    kind: 'bytes',
    units: ({ elements }, body) => {
      if (elements >= 1 && elements <= LIMITS.bulkAddressesMax) return elements;
      // The outline counts the elements of every array; the body itself is parsed only to report the exact error.
      return countBulkAddresses(body);
    },
    answer: async (call, body) => {
      const answer = await useCases.bulk(body);
      const unused = call.quotaTaken - answer.answered;
      if (unused > 0 && call.caller) {
        access.quota.give(call.caller.accountId, 'intel', unused);
        call.quotaTaken = answer.answered;
      }
      return answer;
    },
  };
}

/** Handles `GET /sanctions/check`. */
export function sanctionsCheckWork({ useCases }: Deps): Work {
  return {
    kind: 'lookup',
    write: (call, out, offset) => {
      const query = call.exchange.query();
      const address = requiredQueryValue(query, 'address');
      return useCases.sanctionsCheck(requiredQueryValue(query, 'chain'), address, out, offset);
    },
  };
}

/** Handles `GET /oracle/address/{chain}/{address}`. */
export function oracleWork({ useCases }: Deps): Work {
  return {
    kind: 'lookup',
    write: (call, out, offset) => {
      const { quota } = call;
      if (quota === null) throw new AssayError('INTERNAL', 'The oracle was asked without a quota.');
      call.lines = `\r\nX-Quota-Remaining: ${quota.remaining ?? 'unlimited'}`;
      return useCases.oracle(inPath(call, 0, 'chain'), inPath(call, 1, 'address'), quota, out, offset);
    },
  };
}

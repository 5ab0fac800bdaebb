/** Content negotiation: media types and codings with their q-values (RFC 9110, section 12), and the type of a request body. */
import { AssayError } from '../../base/errors.ts';

/** Codings of responses, the preferred one first if a client weighs them alike. */
const CODINGS = ['br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

const PROBLEM = 'application/problem+json';
/** A weight from 0 to 1 with at most three decimals. */
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;
/** Characters of a client's media type that an error quotes. */
const SHOWN_TYPE_MAX = 64;

/**
 * Parses a list of weighted values. Of a value that is given several times, the last one counts. A weight that is not valid counts
 * as 1.
 */
function weightsOf(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [value = '', ...parameters] = part.split(';').map((text) => text.trim());
    if (value === '') continue;
    const weight = parameters.find((text) => text.startsWith('q='))?.slice(2) ?? '1';
    weights.set(value, WEIGHT.test(weight) ? Number(weight) : 1);
  }
  return weights;
}

/**
 * Whether an Accept header requests problem details: it names them, and does not weigh plain JSON higher.
 *
 * @param accept - the header; empty if it is absent
 */
export function prefersProblem(accept: string): boolean {
  // Nearly all clients do not name the type.
  if (!accept.toLowerCase().includes(PROBLEM)) return false;
  const weights = weightsOf(accept);
  const problem = weights.get(PROBLEM) ?? 0;
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0;
  return problem > 0 && problem >= json;
}

/**
 * Returns the coding for a response, or null if it is sent as it is.
 *
 * @param acceptEncoding - the header; empty if it is absent
 */
export function codingFor(acceptEncoding: string): Coding | null {
  if (acceptEncoding === '') return null;
  const weights = weightsOf(acceptEncoding);
  const any = weights.get('*') ?? 0;
  let best: Coding | null = null;
  // A client that weighs the identity higher wants no coding.
  let most = weights.get('identity') ?? 0;
  for (const coding of CODINGS) {
    const weight = weights.get(coding) ?? any;
    if (weight > 0 && (best === null ? weight >= most : weight > most)) {
      best = coding;
      most = weight;
    }
  }
  return best;
}

/**
 * Whether an Accept header admits HTML: `named` if it names HTML, as navigations of browsers do, `any` if it admits every type, and `no` if
 * it names other types only.
 *
 * @param accept - the header; empty if it is absent
 */
export function acceptsHtml(accept: string): 'named' | 'any' | 'no' {
  if (accept === '') return 'any';
  const weights = weightsOf(accept);
  const html = weights.get('text/html');
  if (html !== undefined) return html > 0 ? 'named' : 'no';
  return (weights.get('text/*') ?? weights.get('*/*') ?? 0) > 0 ? 'any' : 'no';
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/;
const UTF8 = /^charset="?utf-?8"?$/;

/**
 * Checks the Content-Type of a JSON body. A client that sends none is believed: the body is validated in any case.
 *
 * @throws INVALID_REQUEST if the type is not JSON, or its charset is not UTF-8
 */
export function requireJson(contentType: string): void {
  if (contentType === '' || contentType === 'application/json') return;
  const [type = '', ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((text) => text.trim());
  const isUtf8 = parameters.every((text) => !text.startsWith('charset=') || UTF8.test(text));
  if (JSON_TYPE.test(type) && isUtf8) return;
  const shown = JSON.stringify(contentType.slice(0, SHOWN_TYPE_MAX));
  throw new AssayError(
    'INVALID_REQUEST',
    `Content-Type: must be application/json, in UTF-8 (got ${shown}).`,
    {
      field: 'Content-Type',
    },
  );
}

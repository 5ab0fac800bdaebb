/** Names given in place of addresses: `.eth` names are resolved before the work goes to a worker. */
import { AssayError } from '../base/errors.ts';
import { isEvm, parseChainId } from '../chains/registry.ts';

/** Looks a `.eth` name up. Null where it has no address; rejects where nobody could be asked. */
export interface NameResolver {
  resolve(name: string): Promise<string | null>;
}

/** Fields of a request that may hold a name. */
export type NameField = 'address' | 'from' | 'to';

const NAME_FIELDS: readonly NameField[] = ['address', 'from', 'to'];

/** RFC 1035 allows a name 253 characters. */
const NAME_CHARS_MAX = 253;

export const isEthName = (text: string): boolean => /\.eth$/i.test(text);

const refuse = (field: NameField, what: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${what}`, { field });

async function resolveField(
  field: NameField,
  name: string,
  chainText: string,
  resolver: NameResolver | null,
): Promise<string> {
  const chain = parseChainId(chainText);
  const shown = name.slice(0, 80);
  if (!isEvm(chain))
    throw refuse(field, `'${shown}' is a name of Ethereum, and ${chain} is not of its family.`);
  if (name.length > NAME_CHARS_MAX) throw refuse(field, `a name has at most ${NAME_CHARS_MAX} characters.`);
  if (resolver === null)
    throw refuse(field, `'${shown}' cannot be resolved: no node is set up that could be asked for names.`);
  const address = await resolver.resolve(name.toLowerCase());
  if (address === null) throw refuse(field, `'${shown}' does not resolve to an address.`);
  return address;
}

export interface Resolved<Request> {
  readonly request: Request;
  /** Name as it was given → address. */
  readonly resolved: Readonly<Record<string, string>>;
}

/**
 * Puts addresses in the place of names. Throws INVALID_REQUEST naming the field where a name cannot be resolved, UNKNOWN_CHAIN;
 * rejects with what the resolver rejects with.
 */
export async function resolveNames<
  Request extends { readonly chain: string } & { [Field in NameField]?: string },
>(request: Request, resolver: NameResolver | null): Promise<Resolved<Request>> {
  const resolved: Record<string, string> = {};
  const addresses: { [Field in NameField]?: string } = {};
  for (const field of NAME_FIELDS) {
    const text = request[field];
    if (text === undefined || !isEthName(text)) continue;
    const address = resolved[text] ?? (await resolveField(field, text, request.chain, resolver));
    // A name may be any text, `__proto__.eth` too, but never `__proto__` itself.
    resolved[text] = address;
    addresses[field] = address;
  }
  return { request: { ...request, ...addresses }, resolved };
}

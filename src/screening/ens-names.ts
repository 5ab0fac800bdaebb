/** Names given instead of addresses: `.eth` names are resolved before the work goes to a worker. */
import { AssayError } from '../base/errors.ts';
import { isEvm, parseChainId } from '../chains/registry.ts';

export interface NameResolver {
  /**
   * Looks a `.eth` name up. Returns null if it has no address.
   *
   * @throws INVALID_REQUEST with a sentence that names no field, if the name is invalid or no source could be asked
   */
  resolve(name: string): Promise<string | null>;
}

/** Fields of a request that may contain a name. */
export type NameField = 'address' | 'from' | 'to';

const NAME_FIELDS: readonly NameField[] = ['address', 'from', 'to'];

/** RFC 1035 allows 253 characters in a name. */
const NAME_CHARS_MAX = 253;

/** Returns true if a text ends in `.eth`, in any letter case. */
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
  if (!isEvm(chain)) throw refuse(field, `'${shown}' is an Ethereum name, but ${chain} is not an EVM chain.`);
  if (name.length > NAME_CHARS_MAX) throw refuse(field, `a name has at most ${NAME_CHARS_MAX} characters.`);
  if (resolver === null)
    throw refuse(field, `'${shown}' cannot be resolved: no Ethereum node is configured.`);
  const address = await resolver.resolve(name.toLowerCase()).catch((error: unknown) => {
    // The resolver does not know the field of the request that contained the name.
    if (error instanceof AssayError && error.code === 'INVALID_REQUEST') throw refuse(field, error.message);
    throw error;
  });
  if (address === null) throw refuse(field, `'${shown}' does not resolve to an address.`);
  return address;
}

export interface Resolved<Request> {
  readonly request: Request;
  /** Name as given → address. */
  readonly resolved: Readonly<Record<string, string>>;
}

/**
 * Replaces names with addresses.
 *
 * @throws INVALID_REQUEST naming the field if a name cannot be resolved; UNKNOWN_CHAIN; any error of the resolver.
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
    // A name may be any text that ends in `.eth`, also `__proto__.eth`, but never `__proto__` itself.
    resolved[text] = address;
    addresses[field] = address;
  }
  return { request: { ...request, ...addresses }, resolved };
}

/**
 * Maps chains to adapter modules, and opens adapters. The module of a chain family, and the library it uses, is imported on the first
 * use of one of its chains.
 */
import { AssayError } from '../../base/errors.ts';
import {
  type EndpointRole,
  type EndpointSpec,
  type EndpointsByRole,
  parseEndpoint,
  publicEndpoints,
} from '../endpoints/endpoints.ts';
import type { ChainId } from '../registry.ts';
import { acceptedLayouts, type Family } from './descriptor.ts';
import { FAMILIES } from './index.ts';
import type { AdapterDeps, ChainAdapter } from './port.ts';

export interface ChainAdaptersOptions {
  /** By chain, the values of ASSAY_RPC_<CHAIN> and ASSAY_HISTORY_<CHAIN>: comma-separated URLs. */
  readonly endpoints: Readonly<Record<EndpointRole, Readonly<Record<string, string>>>>;
  /** Whether to use the public endpoints of data/endpoints.json for roles without an endpoint of the operator. */
  readonly publicEndpoints: boolean;
  readonly quorum: number;
  readonly offchainNames: boolean;
}

export interface ChainAdapters {
  /** Returns the adapter of a chain, and opens it on first use. */
  of(chain: ChainId): Promise<ChainAdapter>;
  /** Chains with at least one endpoint. */
  readonly configured: readonly ChainId[];
  /** Returns whether the chain has an endpoint, optionally of one role. Does not load the adapter. */
  isConfigured(chain: ChainId, role?: EndpointRole): boolean;
  /** Returns the open adapters. */
  open(): readonly ChainAdapter[];
  close(): Promise<void>;
}

const ROLES: readonly EndpointRole[] = ['rpc', 'history'];
const NO_ENDPOINTS: EndpointsByRole = { rpc: new Map(), history: new Map() };

const VARIABLE_PREFIX: Readonly<Record<EndpointRole, string>> = {
  rpc: 'ASSAY_RPC_',
  history: 'ASSAY_HISTORY_',
};

/**
 * Creates the registry. Opens no connection and imports no adapter.
 *
 * @throws INVALID_CONFIG with the name of the variable that has an invalid chain, URL or layout
 */
export function createChainAdapters(
  options: ChainAdaptersOptions,
  deps: AdapterDeps,
  families: readonly Family[] = FAMILIES,
): ChainAdapters {
  const familyOf = new Map<string, Family>(
    families.flatMap((each) => each.chains.map(({ id }): [string, Family] => [id, each])),
  );
  const ids = [...familyOf.keys()] as ChainId[];
  const named = {
    rpc: new Map<ChainId, readonly EndpointSpec[]>(),
    history: new Map<ChainId, readonly EndpointSpec[]>(),
  };
  const shipped = options.publicEndpoints ? publicEndpoints() : NO_ENDPOINTS;
  for (const role of ROLES) {
    for (const [id, text] of Object.entries(options.endpoints[role])) {
      const field = `${VARIABLE_PREFIX[role]}${id}`;
      const chainFamily = familyOf.get(id);
      if (chainFamily === undefined)
        throw new AssayError(
          'INVALID_CONFIG',
          `${field}: chain must be one of ${ids.join(', ')} (got "${id.slice(0, 32)}").`,
          { field },
        );
      const texts = text.split(',').filter((part) => part.trim() !== '');
      named[role].set(
        id as ChainId,
        texts.map((part) => parseChainEndpoint(part, chainFamily, role, field)),
      );
    }
  }

  /** Endpoints of the operator replace the public ones; a variable with an empty value disables them. */
  const endpointsOf = (chain: ChainId, role: EndpointRole): readonly EndpointSpec[] =>
    named[role].get(chain) ?? shipped[role].get(chain) ?? [];
  const isConfigured = (chain: ChainId, role?: EndpointRole): boolean =>
    (role === undefined ? ROLES : [role]).some((each) => endpointsOf(chain, each).length > 0);

  const opening = new Map<ChainId, Promise<ChainAdapter>>();
  const opened: ChainAdapter[] = [];
  let isClosed = false;

  async function openChain(chain: ChainId): Promise<ChainAdapter> {
    const { openAdapter } = await (familyOf.get(chain) as Family).adapter();
    const adapter = openAdapter(
      {
        chain,
        rpc: endpointsOf(chain, 'rpc'),
        history: endpointsOf(chain, 'history'),
        quorum: options.quorum,
        offchainNames: options.offchainNames,
      },
      deps,
    );
    opened.push(adapter);
    if (isClosed) await adapter.close();
    return adapter;
  }

  return {
    of(chain) {
      let adapter = opening.get(chain);
      if (adapter === undefined) {
        adapter = openChain(chain);
        opening.set(chain, adapter);
        adapter.catch(() => opening.delete(chain));
      }
      return adapter;
    },
    isConfigured,
    configured: ids.filter((id) => isConfigured(id)),
    open: () => opened,
    async close() {
      isClosed = true;
      await Promise.all(opened.map((adapter) => adapter.close()));
    },
  };
}

/** Parses an endpoint of the operator, and checks that chains of the family have its layout. */
function parseChainEndpoint(text: string, of: Family, role: EndpointRole, field: string): EndpointSpec {
  const spec = parseEndpoint(text, { field, defaultLayout: of.layouts[role][0], own: true });
  const accepted = acceptedLayouts(of, role);
  if (accepted.includes(spec.layout)) return spec;
  throw new AssayError(
    'INVALID_CONFIG',
    `${field}: layout must be one of ${accepted.join(', ')} (got "${spec.layout.slice(0, 32)}").`,
    { field },
  );
}

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
import { CHAINS, type ChainFamily, type ChainId, chainOf } from '../registry.ts';
import type { AdapterDeps, ChainAdapter, OpenAdapter } from './port.ts';

interface Family {
  readonly load: () => Promise<OpenAdapter>;
  /** Default layout of an endpoint without a `layout+` prefix in its URL. */
  readonly layout: Readonly<Record<EndpointRole, string>>;
}

const FAMILIES: Readonly<Record<ChainFamily, Family>> = {
  evm: {
    load: async () => (await import('./evm/adapter.ts')).openAdapter,
    layout: { rpc: 'json-rpc', history: 'blockscout' },
  },
  utxo: {
    load: async () => (await import('./utxo/adapter.ts')).openAdapter,
    layout: { rpc: 'json-rpc', history: 'esplora' },
  },
  solana: {
    load: async () => (await import('./solana/adapter.ts')).openAdapter,
    layout: { rpc: 'json-rpc', history: 'json-rpc' },
  },
  tron: {
    load: async () => (await import('./tron/adapter.ts')).openAdapter,
    layout: { rpc: 'trongrid', history: 'trongrid' },
  },
  xrpl: {
    load: async () => (await import('./xrp/adapter.ts')).openAdapter,
    layout: { rpc: 'rippled', history: 'rippled' },
  },
  stellar: {
    load: async () => (await import('./stellar/adapter.ts')).openAdapter,
    layout: { rpc: 'horizon', history: 'horizon' },
  },
  cardano: {
    load: async () => (await import('./cardano/adapter.ts')).openAdapter,
    layout: { rpc: 'koios', history: 'koios' },
  },
  polkadot: {
    load: async () => (await import('./polkadot/adapter.ts')).openAdapter,
    layout: { rpc: 'substrate', history: 'subscan' },
  },
  ton: {
    load: async () => (await import('./ton/adapter.ts')).openAdapter,
    layout: { rpc: 'toncenter', history: 'toncenter' },
  },
  cosmos: {
    load: async () => (await import('./cosmos/adapter.ts')).openAdapter,
    layout: { rpc: 'tendermint', history: 'lcd' },
  },
  algorand: {
    load: async () => (await import('./algorand/adapter.ts')).openAdapter,
    layout: { rpc: 'algod', history: 'indexer' },
  },
  tezos: {
    load: async () => (await import('./tezos/adapter.ts')).openAdapter,
    layout: { rpc: 'tzkt', history: 'tzkt' },
  },
  monero: {
    load: async () => (await import('./monero/adapter.ts')).openAdapter,
    layout: { rpc: 'monerod', history: 'monerod' },
  },
};

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
 * @throws INVALID_CONFIG with the name of the variable that has an invalid chain or URL
 */
export function createChainAdapters(options: ChainAdaptersOptions, deps: AdapterDeps): ChainAdapters {
  const named = {
    rpc: new Map<ChainId, readonly EndpointSpec[]>(),
    history: new Map<ChainId, readonly EndpointSpec[]>(),
  };
  const shipped = options.publicEndpoints ? publicEndpoints() : NO_ENDPOINTS;
  for (const role of ROLES) {
    for (const [id, text] of Object.entries(options.endpoints[role])) {
      const field = `${VARIABLE_PREFIX[role]}${id}`;
      const chain = CHAINS.find((row) => row.id === id);
      if (chain === undefined)
        throw new AssayError(
          'INVALID_CONFIG',
          `${field}: '${id.slice(0, 32)}' is not a chain. Chains: ${CHAINS.map((row) => row.id).join(', ')}.`,
          { field },
        );
      const defaultLayout = FAMILIES[chain.family].layout[role];
      const texts = text.split(',').filter((part) => part.trim() !== '');
      named[role].set(
        chain.id,
        texts.map((part) => parseEndpoint(part, { field, defaultLayout, own: true })),
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
    const openAdapter = await FAMILIES[chainOf(chain).family].load();
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
    configured: CHAINS.map(({ id }) => id).filter((id) => isConfigured(id)),
    open: () => opened,
    async close() {
      isClosed = true;
      await Promise.all(opened.map((adapter) => adapter.close()));
    },
  };
}

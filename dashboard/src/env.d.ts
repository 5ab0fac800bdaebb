/** Modules that the build resolves. */

declare module '*.css';

/** `src/chains/registry.ts` of the server, without its dependencies. */
declare module 'assay:chains' {
  export interface Chain {
    readonly id: string;
    readonly name: string;
    readonly family: string;
    readonly symbol: string;
    /** Block explorer, without a trailing slash. */
    readonly explorerUrl: string;
    /** Whether wallets of this chain can be monitored. */
    readonly monitored: boolean;
  }
  export const CHAINS: readonly Chain[];
}

/** `src/chains/address/parse.ts` of the server. */
declare module 'assay:addresses' {
  /** Returns every chain on which the text is a valid address; may be empty. Never throws. */
  export function detectChains(text: string): string[];
}

/** Facts of the shipped data (vite.config.mjs). */
declare module 'assay:facts' {
  /** Default threat level of each category. */
  export const THREAT_LEVELS: Readonly<Record<string, string>>;
  /** Countries whose law is known, ISO 3166-1 alpha-2. */
  export const JURISDICTIONS: readonly string[];
}

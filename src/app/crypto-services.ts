/** Creates payments in cryptocurrency over the chains, prices and sanctions lists of this installation. */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { CryptoPayments } from '../billing/crypto/crypto-payments.ts';
import type { CryptoKeys } from '../billing/crypto/method.ts';
import { payerScreening } from '../billing/crypto/payer.ts';
import type { Billing } from '../billing/service.ts';
import type { Config } from '../config/config.ts';
import { createAttestedSanctionsCheck } from '../screening/sanctions-check.ts';
import type { ChainServices } from './chain-services.ts';
import type { Shared } from './node-services.ts';
import type { ScreeningServices } from './screening-services.ts';

export interface CryptoServicesDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly keys: CryptoKeys;
  readonly chains: ChainServices;
  readonly screening: ScreeningServices;
  readonly billing: () => Billing;
  readonly shared: () => Shared;
}

/** Creates the service; nothing is opened before its first use. */
export function cryptoPaymentsOf(
  { dataDir, chains: { endpoints } }: Pick<Config, 'dataDir' | 'chains'>,
  { clock, random, log, keys, chains, screening, billing, shared }: CryptoServicesDeps,
): CryptoPayments {
  const { chainAdapters, adapters, prices } = chains;
  let check: ReturnType<typeof createAttestedSanctionsCheck> | null = null;
  const { openStore, leases } = shared();
  return new CryptoPayments(
    { path: join(dataDir, 'payment-watch.mdb'), keys },
    {
      ...{ clock, random, log, openStore, leases, prices, addresses: chains.watchedAddresses },
      invoices: () => billing().store(),
      settlement: () => billing().settlement(),
      screen: payerScreening((chain, address) => {
        check ??= createAttestedSanctionsCheck(screening.deps());
        const { answer, evidence } = check(chain, address);
        const stale = evidence.staleReason?.message ?? null;
        return { sanctioned: answer.sanctioned, lists: answer.lists.map(({ list }) => list), stale };
      }),
      isKnownAsset: (chain, asset) => chains.assetFacts().isKnown(chain, asset),
      adapter: async (chain) => (chainAdapters.isConfigured(chain, 'rpc') ? adapters().of(chain) : null),
      isConfigured: (chain) => chainAdapters.isConfigured(chain, 'rpc'),
      isOwn: (chain) => (endpoints.rpc[chain] ?? '').trim() !== '',
    },
  );
}

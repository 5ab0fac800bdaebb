/**
 * The operations of the monitoring API: register, list, change and remove wallets; alerts, transactions, channels and deliveries of
 * an account.
 */
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { OutboundPolicy } from '../base/outbound.ts';
import type { PageRequest } from '../base/paging.ts';
import { parseAddress } from '../chains/address/parse.ts';
import { parseChainId } from '../chains/registry.ts';
import type { ScreeningRequest } from '../screening/screen.ts';
import type { AlertFilter } from './alert-index.ts';
import { followedWallet } from './answers.ts';
import { checkReceiverUrl } from './delivery/receiver-url.ts';
import { notAnswering } from './following.ts';
import { isSameRequest } from './pending-wallets.ts';
import {
  type AccountChannels,
  type Alert,
  type AlertChange,
  type AlertFrequency,
  type AlertThreshold,
  type ChainFollowing,
  MONITORING_CHAINS,
  type MonitoredWallet,
  type MonitoringChain,
  RULE_IDS,
  type RuleId,
  type WalletCharge,
  type WalletDraftRecord,
} from './records.ts';
import type { BlockRef, MonitoringStore } from './store.ts';
import { createStreamHub, eventOf, type StreamHub } from './stream.ts';
import type { PaidAnswer, WalletPurchases } from './wallet-purchases.ts';
import { readScreening } from './wallet-screening.ts';

/** A wallet as a client registers it: types are validated, values are not. */
export interface WalletDraft {
  readonly walletAddress: string;
  readonly chain: string;
  readonly label?: string;
  readonly alertThreshold?: AlertThreshold;
  readonly alertFrequency?: AlertFrequency;
  readonly enabledRules?: readonly RuleId[];
  readonly customWebhookUrl?: string;
  readonly notes?: string;
}

/** Changes of a wallet by a client. Null removes a value. */
export interface WalletChange {
  readonly label?: string | null;
  readonly status?: 'ACTIVE' | 'PAUSED';
  readonly action?: 'restore';
  readonly alertThreshold?: AlertThreshold;
  readonly alertFrequency?: AlertFrequency;
  readonly enabledRules?: readonly RuleId[];
  readonly customWebhookUrl?: string | null;
  readonly notes?: string | null;
}

export interface AlertQuery {
  readonly status?: AlertFilter['status'];
  readonly severity?: AlertFilter['severity'];
  readonly walletId?: string;
  /** Addresses in any valid form. */
  readonly walletAddresses?: readonly string[];
  readonly upTo?: number;
}

export interface MonitoringService {
  readonly store: MonitoringStore;
  readonly streams: StreamHub;
  /**
   * Screens an address and watches it from the newest block on, without a charge.
   *
   * @throws UNKNOWN_CHAIN, INVALID_ADDRESS, INVALID_REQUEST
   */
  register(accountId: string, draft: WalletDraft): Promise<MonitoredWallet>;
  /**
   * Like `register`, with a charge: either both are stored, or neither. A repeated request with the same Idempotency-Key finds the
   * wallet of the first one.
   *
   * @param beginCharge - called when only the charge is left, before anything is stored; throws if the client has gone
   * @returns the whole response
   * @throws like `register`; CREDITS_EXHAUSTED, NOT_READY
   */
  buy(
    accountId: string,
    draft: WalletDraft,
    charge: WalletCharge,
    beginCharge: () => void,
  ): Promise<PaidAnswer>;
  /**
   * Returns a wallet of the account.
   *
   * @throws NOT_FOUND, also for an id of another account
   */
  wallet(accountId: string, walletId: string): MonitoredWallet;
  /**
   * Changes a wallet.
   *
   * @throws NOT_FOUND; INVALID_REQUEST if its state does not allow the change
   */
  change(accountId: string, walletId: string, change: WalletChange): Promise<MonitoredWallet>;
  /** Soft-deletes a wallet. Deleting it again is a no-op. */
  remove(accountId: string, walletId: string): Promise<MonitoredWallet>;
  /** Returns whether a chain is followed. */
  following(chain: MonitoringChain): ChainFollowing;
  /**
   * Returns the chains of the account's active wallets that are not followed: an empty list of alerts says nothing about them.
   *
   * @param only - checks this chain only
   */
  notFollowed(
    accountId: string,
    only?: MonitoringChain,
  ): readonly ({ readonly chain: MonitoringChain } & Omit<ChainFollowing, 'following'>)[];
  alerts(accountId: string, query: AlertQuery, page: PageRequest): ReturnType<MonitoringStore['alerts']>;
  changeAlert(accountId: string, alertId: string, change: AlertChange, by: string): Promise<Alert>;
  /**
   * Checks the URL of a receiver of other messages.
   *
   * @param field - field of the request that the error names
   * @returns the URL in canonical form
   * @throws INVALID_REQUEST with the field
   */
  checkReceiver(url: string, field: string): string;
  /**
   * Checks every URL and stores the channels.
   *
   * @throws INVALID_REQUEST with the field
   */
  setChannels(accountId: string, channels: AccountChannels): Promise<AccountChannels>;
}

export interface MonitoringServiceDeps {
  readonly store: MonitoringStore;
  /** Returns the JSON of a screening's `data`. */
  readonly screen: (request: ScreeningRequest) => Promise<Uint8Array>;
  readonly walletsMax: (accountId: string) => number;
  /** Receivers that webhooks and chats may be sent to. */
  readonly policy: OutboundPolicy;
  readonly clock: Clock;
  /** Returns the height of the newest block of a chain; null if no node responds in time. */
  readonly head: (chain: MonitoringChain) => Promise<BlockRef | null>;
  readonly following: MonitoringService['following'];
  /** Returns the rule that an address itself falls under, null for none; undefined before the first labels. */
  readonly ownRuleOf: (chain: MonitoringChain, address: string) => RuleId | null | undefined;
  readonly purchases: WalletPurchases;
  /** Called when wallets have changed, so that the listener checks them. */
  readonly onWallets: () => void;
}

const refuse = (field: string, message: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${message}`, { field });

/**
 * Parses a chain on which wallets can be watched.
 *
 * @throws UNKNOWN_CHAIN; INVALID_REQUEST with the list of monitored chains if the chain is not one of them
 */
export function parseMonitoringChain(text: string): MonitoringChain {
  const chain = parseChainId(text);
  const found = MONITORING_CHAINS.find((one) => one === chain);
  if (found !== undefined) return found;
  throw refuse(
    'chain',
    `${chain} is not monitored; wallets can be watched on ${MONITORING_CHAINS.join(', ')}.`,
  );
}

/** Rules in the order of the table, without duplicates. */
const orderedRules = (rules: readonly RuleId[]): readonly RuleId[] =>
  RULE_IDS.filter((id) => rules.includes(id));

type WatchStart = Required<Pick<MonitoredWallet, 'watchFromHeight' | 'watchFromHash' | 'watchFromRevert'>>;

/**
 * Returns a wallet with a client's change.
 *
 * @param from - position after which a wallet is watched that is watched again
 * @param webhookUrl - checks a URL
 * @throws INVALID_REQUEST if the state of the wallet does not allow the change
 */
function changed(
  wallet: MonitoredWallet,
  change: WalletChange,
  from: WatchStart | null,
  webhookUrl: (url: string | null) => string | null,
): MonitoredWallet {
  const { action, status, label, notes, customWebhookUrl, enabledRules } = change;
  const isDeleted = wallet.status === 'DELETED';
  if (action === 'restore' && !isDeleted) throw refuse('action', 'only a deleted wallet can be restored.');
  if (isDeleted && action !== 'restore')
    throw refuse('id', 'this wallet is deleted; restore it first with the action restore.');
  const next = status ?? (action === 'restore' ? 'ACTIVE' : wallet.status);
  const resumes = next === 'ACTIVE' && wallet.status !== 'ACTIVE';
  return {
    ...wallet,
    status: next,
    deletedAtMs: null,
    // Transfers that were missed while the wallet was not watched are not processed later.
    ...(resumes ? (from ?? { watchFromHeight: null, watchFromHash: null }) : {}),
    label: label === undefined ? wallet.label : label,
    notes: notes === undefined ? wallet.notes : notes,
    alertThreshold: change.alertThreshold ?? wallet.alertThreshold,
    alertFrequency: change.alertFrequency ?? wallet.alertFrequency,
    enabledRules: enabledRules === undefined ? wallet.enabledRules : orderedRules(enabledRules),
    customWebhookUrl: customWebhookUrl === undefined ? wallet.customWebhookUrl : webhookUrl(customWebhookUrl),
  };
}

/** Ids of the account's wallets at any of these addresses, on any chain. */
function walletsAt(store: MonitoringStore, accountId: string, addresses: readonly string[]): string[] {
  const wanted = new Set(addresses.map((text) => parseAddress('ETH', text, 'walletAddress').canonical));
  const all = store.wallets(
    accountId,
    { includeDeleted: true },
    { limit: Number.MAX_SAFE_INTEGER, offset: 0 },
  );
  return all.wallets.filter(({ walletAddress }) => wanted.has(walletAddress)).map(({ id }) => id);
}

/** @throws NOT_FOUND, also for an id of another account */
function find(store: MonitoringStore, accountId: string, walletId: string): MonitoredWallet {
  const wallet = store.wallet(accountId, walletId);
  if (wallet !== null) return wallet;
  throw new AssayError('NOT_FOUND', `id: there is no wallet '${walletId.slice(0, 64)}'.`, { field: 'id' });
}

/** Creates the monitoring service. */
export function createMonitoring(deps: MonitoringServiceDeps): MonitoringService {
  const { store, screen, policy, clock, following, purchases, onWallets } = deps;

  const webhookUrl = (url: string | null): string | null =>
    url === null ? null : checkReceiverUrl(url, 'customWebhookUrl', policy);

  /** The last processed block of a chain; null if it has no watched wallets. */
  const lastProcessed = (chain: MonitoringChain): BlockRef | null =>
    store.isWatched(chain) ? (store.blocks(chain).at(-1) ?? null) : null;

  /** The newest known block: the processed one may be behind the chain's node. */
  async function newestBlock(chain: MonitoringChain): Promise<BlockRef | null> {
    const head = await deps.head(chain);
    const processed = lastProcessed(chain);
    if (head === null || processed === null) return head ?? processed;
    return head.height > processed.height ? head : processed;
  }

  /** Returns the position after which a wallet is watched. */
  async function startAt(
    chain: MonitoringChain,
    newest: () => Promise<BlockRef | null>,
  ): Promise<WatchStart> {
    // Counted first: a revert while the block is read must count as a later one.
    const watchFromRevert = store.revertCount(chain);
    const block = await newest();
    return { watchFromHeight: block?.height ?? null, watchFromHash: block?.hash ?? null, watchFromRevert };
  }

  /**
   * Validates a new wallet.
   *
   * @throws UNKNOWN_CHAIN, INVALID_ADDRESS, INVALID_REQUEST
   */
  function checked(draft: WalletDraft) {
    const chain = parseMonitoringChain(draft.chain);
    const { canonical } = parseAddress(chain, draft.walletAddress, 'walletAddress');
    return { chain, canonical, customWebhookUrl: webhookUrl(draft.customWebhookUrl ?? null) };
  }

  /**
   * Screens a validated address, and returns the wallet to store.
   *
   * @throws INVALID_REQUEST if the account cannot add it
   */
  async function screened(
    accountId: string,
    draft: WalletDraft,
    { chain, canonical, customWebhookUrl }: ReturnType<typeof checked>,
  ): Promise<WalletDraftRecord> {
    // Checked again when the wallet is stored; checked here to avoid a useless screening.
    store.requireFree(accountId, chain, canonical, deps.walletsMax(accountId));
    // Before the screening: if labels change in between, the wallet is compared with them once more.
    const ownRuleId = deps.ownRuleOf(chain, canonical);
    const screening = readScreening(await screen({ chain, address: canonical }));
    return {
      accountId,
      chain,
      walletAddress: canonical,
      label: draft.label ?? null,
      ...screening,
      ...(ownRuleId === undefined ? {} : { ownRuleId }),
      enabledRules: orderedRules(draft.enabledRules ?? RULE_IDS),
      customWebhookUrl,
      alertThreshold: draft.alertThreshold ?? 'all',
      alertFrequency: draft.alertFrequency ?? 'realtime',
      notes: draft.notes ?? null,
      // Earlier transfers are not processed: the screening covers the time before the wallet was watched.
      ...(await startAt(chain, async () => lastProcessed(chain) ?? deps.head(chain))),
    };
  }

  return {
    store,
    streams: createStreamHub({ render: eventOf, store }),
    async register(accountId, draft) {
      const record = await screened(accountId, draft, checked(draft));
      const wallet = await store.addWallet(record, deps.walletsMax(accountId), record.watchFromHeight);
      onWallets();
      return wallet;
    },
    async buy(accountId, draft, charge, beginCharge) {
      const address = checked(draft);
      const known = store.pending.at(accountId, address.chain, address.canonical);
      if (known?.isAbandoned) await purchases.discard(known);
      else if (known !== null && isSameRequest(known.charge, charge)) {
        beginCharge();
        return purchases.resume(known);
      }
      const record = await screened(accountId, draft, address);
      beginCharge();
      const now = following(record.chain);
      // The listener learns of the wallet later, so it has not tried the node yet.
      const shown = now.following && record.watchFromHeight === null ? notAnswering(record.chain) : {};
      const row = store.pending.prepare(record, charge, (wallet) =>
        JSON.stringify({ wallet: followedWallet(wallet, { ...now, ...shown }) }),
      );
      return purchases.buy(row, deps.walletsMax(accountId));
    },
    wallet: (accountId, walletId) => find(store, accountId, walletId),
    async change(accountId, walletId, change) {
      const known = find(store, accountId, walletId);
      const mayResume =
        known.status !== 'ACTIVE' && (change.status === 'ACTIVE' || change.action === 'restore');
      const from = mayResume ? await startAt(known.chain, () => newestBlock(known.chain)) : null;
      const wallet = await store.changeWallet(
        accountId,
        walletId,
        (before) => changed(before, change, from, webhookUrl),
        { head: from?.watchFromHeight ?? null, isUrlSet: change.customWebhookUrl !== undefined },
      );
      onWallets();
      return wallet;
    },
    async remove(accountId, walletId) {
      find(store, accountId, walletId);
      const wallet = await store.changeWallet(accountId, walletId, (before) =>
        before.status === 'DELETED' ? before : { ...before, status: 'DELETED', deletedAtMs: clock.now() },
      );
      onWallets();
      return wallet;
    },
    following,
    notFollowed(accountId, only) {
      const isActive = (chain: MonitoringChain): boolean =>
        store.wallets(accountId, { includeDeleted: false, chain, status: 'ACTIVE' }, { limit: 1, offset: 0 })
          .total > 0;
      return MONITORING_CHAINS.flatMap((chain) => {
        if ((only !== undefined && only !== chain) || !store.isWatched(chain)) return [];
        const { following: isFollowed, ...of } = following(chain);
        return isFollowed || !isActive(chain) ? [] : [{ chain, ...of }];
      });
    },
    alerts(accountId, { status, severity, walletId, walletAddresses, upTo }, page) {
      const byAddress = walletAddresses === undefined ? null : walletsAt(store, accountId, walletAddresses);
      const own = walletId === undefined ? null : [walletId];
      const walletIds =
        own === null || byAddress === null ? (own ?? byAddress) : own.filter((id) => byAddress.includes(id));
      return store.alerts(
        accountId,
        {
          ...(status === undefined ? {} : { status }),
          ...(severity === undefined ? {} : { severity }),
          ...(walletIds === null ? {} : { walletIds }),
        },
        { ...page, ...(upTo === undefined ? {} : { upTo }) },
      );
    },
    changeAlert: (accountId, alertId, change, by) => store.changeAlert(accountId, alertId, change, by),
    checkReceiver: (url, field) => checkReceiverUrl(url, field, policy),
    async setChannels(accountId, { email, slackWebhookUrl, telegram }) {
      const channels = {
        email,
        slackWebhookUrl:
          slackWebhookUrl === null ? null : checkReceiverUrl(slackWebhookUrl, 'slackWebhookUrl', policy),
        telegram,
      };
      await store.channels.setChannels(accountId, channels);
      return channels;
    },
  };
}

/** Watched wallets that are listed or labelled themselves: an alert, and a new score long before the scheduled screening. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import type { LabelReader } from '../../src/labels/index/reader.ts';
import type { Label } from '../../src/labels/label.ts';
import type { Monitoring } from '../../src/monitoring/open.ts';
import { createOwnListings, type OwnListings } from '../../src/monitoring/own-listings.ts';
import { loadMonitoringPolicy } from '../../src/monitoring/policy.ts';
import type { Alert, MonitoredWallet } from '../../src/monitoring/records.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';
import { openedMonitoring, SCAM_LABEL, screeningJson } from './opened.ts';

const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
const signal = new AbortController().signal;

describe('a watched wallet', () => {
  let folder: TempFolder;
  let monitoring: Monitoring;
  let listings: OwnListings;
  let version: number;
  const labelled = new Map<string, Label>();

  /** The labels of this moment, as a snapshot with a version and a build time. */
  const reader = (): LabelReader => {
    const now = new Map(labelled);
    return {
      meta: { dataVersion: `v${version}`, builtAt: `2026-11-0${version}T00:00:00.000Z` },
      lookup(key: Uint8Array) {
        const found = now.get(`0x${Buffer.from(key).toString('hex').slice(-40)}`);
        return found === undefined ? [] : [found];
      },
    } as unknown as LabelReader;
  };
  const publish = (...labels: readonly (readonly [number, Label])[]): void => {
    version++;
    labelled.clear();
    for (const [n, label] of labels) labelled.set(address(n), label);
  };
  const listingsWith = (labels: () => LabelReader | null, clock: Clock = systemClock): OwnListings =>
    createOwnListings({
      ...{ store: monitoring.service.store, labels, clock },
      policy: loadMonitoringPolicy(),
      riskPolicy: loadPolicy(loadTaxonomy().rows),
    });
  const register = (n: number, change = {}): Promise<MonitoredWallet> =>
    monitoring.service.register('a', { walletAddress: address(n), chain: 'ETH', ...change });
  const current = ({ id }: MonitoredWallet): MonitoredWallet => monitoring.service.wallet('a', id);
  const alerts = (): readonly Alert[] =>
    monitoring.service.store.alerts('a', {}, { limit: 100, offset: 0 }).alerts;
  const recheck = () => listings.recheck('ETH', signal);

  beforeEach(() => {
    folder = memoryFolder();
    version = 0;
    labelled.clear();
    publish();
    const screen = async ({ address: of }: { readonly address: string }): Promise<Uint8Array> =>
      labelled.has(of.toLowerCase()) ? screeningJson(80, 'CRITICAL') : screeningJson(0, 'LOW');
    monitoring = openedMonitoring(folder.path, { labels: reader, screen });
    listings = listingsWith(reader);
  });
  afterEach(async () => {
    await monitoring.close();
    folder.remove();
  });

  it('that is labelled raises one alert, and is screened again within seconds', async () => {
    const wallet = await register(1);
    const other = await register(2);
    monitoring.start({ follows: true, sends: false, bills: false });
    publish([1, SCAM_LABEL]);
    await expect.poll(() => current(wallet).riskScore, { timeout: 30_000 }).toBe(80);
    expect(alerts()).toMatchObject([
      {
        ruleId: 'SCAM-001',
        walletId: wallet.id,
        severity: 'HIGH',
        category: 'SCAM',
        riskType: 'LIST_CHANGE',
        transaction: null,
        final: true,
        title: 'A list changed: the wallet itself, The Scam',
      },
    ]);
    expect(current(other).screenedAtMs).toBe(other.screenedAtMs);
    publish([1, SCAM_LABEL], [3, SCAM_LABEL]);
    await expect.poll(() => listings.isDue('ETH'), { timeout: 30_000 }).toBe(false);
    expect(alerts()).toHaveLength(1);
  });

  it('that is no longer labelled is screened again without an alert, and raises one if the label returns', async () => {
    publish([1, SCAM_LABEL]);
    const wallet = await register(1);
    expect(await recheck()).toEqual({ wallets: 1, alerts: 0 });
    publish();
    const due = () =>
      monitoring.service.store
        .refreshesDue('ETH', { behindAlert: 9, scheduled: 9 })
        .map((one) => one.walletId);
    expect(due()).toEqual([]);
    expect(await recheck()).toEqual({ wallets: 1, alerts: 0 });
    await expect.poll(due, { timeout: 30_000 }).toEqual([wallet.id]);
    publish([1, SCAM_LABEL]);
    expect(await recheck()).toEqual({ wallets: 1, alerts: 1 });
    expect(current(wallet).ownRuleId).toBe('SCAM-001');
  });

  it('that was labelled when it was added, is paused, or has no such rule raises no alert', async () => {
    const paused = await register(1);
    await monitoring.service.change('a', paused.id, { status: 'PAUSED' });
    await register(2, { enabledRules: ['MIXING-001'] });
    publish([1, SCAM_LABEL], [2, SCAM_LABEL], [3, SCAM_LABEL]);
    await register(3);
    expect(await recheck()).toEqual({ wallets: 2, alerts: 0 });
    // The pause ends: the wallet is compared when it is screened.
    const resumed = await monitoring.service.change('a', paused.id, { status: 'ACTIVE' });
    await listings.reassess(resumed);
    expect(alerts().map(({ walletId }) => walletId)).toEqual([paused.id]);
  });

  it('is compared once with each version of the labels, in pages that an interruption does not repeat', async () => {
    for (let n = 1; n <= 450; n++) await register(n);
    publish([1, SCAM_LABEL], [300, SCAM_LABEL], [450, SCAM_LABEL]);
    const stop = new AbortController();
    const store = monitoring.service.store;
    let pages = 0;
    const interrupted = createOwnListings({
      ...{ labels: reader, clock: systemClock, policy: loadMonitoringPolicy() },
      riskPolicy: loadPolicy(loadTaxonomy().rows),
      store: {
        ownRecheckState: (chain) => store.ownRecheckState(chain),
        watchedPage: (chain, page) => {
          if (++pages === 2) stop.abort();
          return store.watchedPage(chain, page);
        },
        write: (...of) => store.write(...of),
      },
    });
    await expect(interrupted.recheck('ETH', stop.signal)).rejects.toThrow();
    expect(alerts()).toHaveLength(2);
    expect(listings.isDue('ETH')).toBe(true);
    expect(await recheck()).toEqual({ wallets: 50, alerts: 1 });
    expect(listings.isDue('ETH')).toBe(false);
    publish([1, SCAM_LABEL], [300, SCAM_LABEL], [450, SCAM_LABEL]);
    expect(listings.isDue('ETH')).toBe(true);
  });

  it('is not compared with labels that are older than those of another node', async () => {
    await register(1);
    const former = reader();
    publish([1, SCAM_LABEL]);
    expect(await recheck()).toEqual({ wallets: 1, alerts: 1 });
    expect(listingsWith(() => former).isDue('ETH')).toBe(false);
    expect(listingsWith(() => null).isDue('ETH')).toBe(false);
  });

  it('is compared with labels that were built before the others because the clock was set back', async () => {
    await register(1);
    const former = reader();
    publish([1, SCAM_LABEL]);
    await recheck();
    const isDueAt = (time: string): boolean =>
      listingsWith(() => former, { ...systemClock, now: () => Date.parse(time) }).isDue('ETH');
    expect(['2026-11-01T23:49:59Z', '2026-11-01T23:50:00Z'].map(isDueAt)).toEqual([true, false]);
  });

  it('of an earlier version raises an alert unless its score covers the label already', async () => {
    const [scored, unscored] = [await register(1), await register(2)] as const;
    const store = monitoring.service.store;
    for (const [{ id }, riskScore] of [
      [scored, 80],
      [unscored, 10],
    ] as const)
      await store.changeWallet('a', id, ({ ownRuleId: _, ...wallet }) => ({ ...wallet, riskScore }));
    publish([1, SCAM_LABEL], [2, SCAM_LABEL]);
    expect(await recheck()).toEqual({ wallets: 2, alerts: 1 });
    expect(alerts().map(({ walletId }) => walletId)).toEqual([unscored.id]);
  });
});

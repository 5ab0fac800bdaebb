/** Forgeable transfers never raise an alarm: the real processor over blocks with forged transfers. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { loadTokenList } from '../../src/chains/tokens.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import type { LabelReader } from '../../src/labels/index/reader.ts';
import type { Label } from '../../src/labels/label.ts';
import type { Category } from '../../src/labels/taxonomy.ts';
import { alertAnswer, transactionAnswer } from '../../src/monitoring/answers.ts';
import { loadMonitoringPolicy } from '../../src/monitoring/policy.ts';
import { createProcessor, type Processor } from '../../src/monitoring/processor.ts';
import { type Alert, type MonitoredWallet, RULE_IDS } from '../../src/monitoring/records.ts';
import type { MonitoringStore } from '../../src/monitoring/store.ts';
import { openMonitoringStore } from '../../src/monitoring/store-lmdb.ts';
import { buildWatchTable } from '../../src/monitoring/watch-table.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
import { createEncryption } from '../../src/state/encryption.ts';

const canonical = (text: string): string => parseAddress('ETH', text).canonical;
const WALLET = canonical('0x1111111111111111111111111111111111111111');
const FRIEND = canonical('0xabcdef0000000000000000000000000000005678');
const LOOK_ALIKE = canonical('0xabcffffffffffffffffffffffffffffffff05678'.replace('f05678', 'ff5678'));
const STRANGER = canonical('0x2222222222222222222222222222222222222222');
const WORTHLESS = canonical('0x3333333333333333333333333333333333333333');
const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const RISKY = {
  [canonical('0x00000000000000000000000000000000000000a1')]: 'SANCTIONED_ENTITY',
  [canonical('0x00000000000000000000000000000000000000a2')]: 'MIXER',
  [canonical('0x00000000000000000000000000000000000000a3')]: 'PHISHING',
  [canonical('0x00000000000000000000000000000000000000a4')]: 'RANSOMWARE',
  [canonical('0x00000000000000000000000000000000000000a5')]: 'DARKNET_MARKET',
} as const satisfies Record<string, Category>;
const SANCTIONED = Object.keys(RISKY)[0] as string;

const nowMs = Date.UTC(2026, 0, 5);
const clock: Clock = { now: () => nowMs, monotonic: () => nowMs };

const labelOf = (category: Category): Label =>
  ({
    entity: { id: category, name: `The ${category}`, category, jurisdiction: null, url: null },
    scope: 'EVM',
    category,
    threatLevel: 'CRITICAL',
    source: 'ofac',
    sourceUrl: null,
    tags: [],
    confidence: 1,
    sanctions:
      category === 'SANCTIONED_ENTITY'
        ? [{ list: 'OFAC_SDN', matchType: 'DIRECT', listedAt: '2020-01-01', delistedAt: null }]
        : [],
    verified: true,
    synthetic: false,
    firstSeen: null,
    lastSeen: null,
  }) as unknown as Label;

let folder: string;
let store: MonitoringStore;
let transfers: TransferStore;
let processor: Processor;
let wallet: MonitoredWallet;
let height: number;
let isListed: boolean;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'assay-spoofed-'));
  height = 100;
  isListed = true;
  store = openMonitoringStore(
    { path: join(folder, 'monitoring.lmdb') },
    { clock, random: systemRandom, encryption: createEncryption(new Uint8Array(32), systemRandom) },
  );
  transfers = openTransferStore({ path: join(folder, 'transfers'), readOnly: false });
  const byKey = new Map(
    Object.entries(RISKY).map(([address, category]) => [
      Buffer.from(parseAddress('ETH', address).key).toString('hex'),
      labelOf(category),
    ]),
  );
  const reader = {
    get meta() {
      return { dataVersion: isListed ? 'listed' : 'none' };
    },
    lookup: (key: Uint8Array) => {
      const label = byKey.get(Buffer.from(key).toString('hex'));
      return isListed && label !== undefined ? [label] : [];
    },
  } as unknown as LabelReader;
  processor = createProcessor({
    store,
    policy: loadMonitoringPolicy(),
    riskPolicy: loadPolicy(loadTaxonomy().rows),
    labels: () => reader,
    transfers,
    assets: loadTokenList(),
    clock,
  });
  wallet = await store.addWallet(
    {
      accountId: 'a',
      chain: 'ETH',
      walletAddress: WALLET,
      label: null,
      riskScore: null,
      riskLevel: null,
      enabledRules: RULE_IDS,
      customWebhookUrl: null,
      alertThreshold: 'all',
      alertFrequency: 'realtime',
      notes: null,
      watchFromHeight: null,
    },
    100,
  );
});
afterEach(async () => {
  await store.close();
  await transfers.close();
  rmSync(folder, { recursive: true });
});

const moved = (from: string, to: string, change: Partial<Transfer> = {}): Transfer => ({
  chain: 'ETH',
  txHash: `0x${(height * 1_000).toString(16).padStart(64, '0')}`,
  position: 'log:0',
  blockNumber: height,
  timestampMs: nowMs,
  from,
  to,
  asset: WORTHLESS,
  amount: 5_000_000n,
  decimals: 6,
  valueUsd: null,
  ...change,
});
const payment = { asset: 'ETH', decimals: 18, amount: 10n ** 18n, valueUsd: 5_000, position: 'value' };

async function block(...moves: Transfer[]): Promise<readonly Alert[]> {
  const next = {
    chain: 'ETH' as const,
    height,
    hash: `b${height}`,
    parentHash: null,
    timestampMs: nowMs,
    transfers: moves.map((move, index) => ({
      ...move,
      blockNumber: height,
      position: `${move.position}${index}`,
    })),
  };
  height++;
  await transfers.ingest(next.transfers);
  await processor.block('ETH', next, buildWatchTable(store.watched()));
  return store.alerts('a', {}, { limit: 100, offset: 0 }).alerts;
}
const stored = () => store.transactions('a', wallet.id, { limit: 1_000, offset: 0 }).transactions;

describe('a watched wallet and a transfer of an unknown token', () => {
  it('raises LOW alerts at most, by whichever rule, in either direction', async () => {
    const moves = Object.keys(RISKY).flatMap((address, index) => [
      moved(WALLET, address, { txHash: `0x${index.toString(16).padStart(64, '1')}` }),
      moved(address, WALLET, { txHash: `0x${index.toString(16).padStart(64, '2')}` }),
    ]);
    const alerts = await block(...moves);
    expect(new Set(alerts.map(({ ruleId }) => ruleId))).toEqual(
      new Set(RULE_IDS.filter((id) => id !== 'VELOCITY-001')),
    );
    expect(new Set(alerts.map(({ severity }) => severity))).toEqual(new Set(['LOW']));
    for (const { title, message } of alerts) {
      expect(title).toMatch(/^Not evidence: /);
      expect(message).toMatch(/anybody can forge/);
    }
    expect(stored().map(({ riskScore, riskLevel, spoofable }) => [riskScore, riskLevel, spoofable])).toEqual(
      moves.map(() => [0, 'LOW', true]),
    );
  });

  it('raises the usual alerts for a listed token and for the native coin', async () => {
    const alerts = await block(
      moved(WALLET, SANCTIONED, { ...payment, txHash: `0x${'1'.repeat(64)}` }),
      moved(WALLET, SANCTIONED, { asset: USDT, valueUsd: 5, txHash: `0x${'2'.repeat(64)}` }),
    );
    expect(alerts.map(({ ruleId, severity }) => [ruleId, severity])).toEqual([
      ['SANCTIONS-001', 'CRITICAL'],
      ['SANCTIONS-001', 'CRITICAL'],
    ]);
    expect(stored().map(({ spoofable }) => spoofable)).toEqual([false, false]);
  });

  it('is shown in native units, with the decimals of its asset', async () => {
    const [alert] = await block(moved(SANCTIONED, WALLET, { ...payment, amount: 15n * 10n ** 17n }));
    expect(alertAnswer(alert as Alert).transaction).toMatchObject({
      asset: 'ETH',
      amount: '1.5',
      decimals: 18,
    });
    await block(moved(SANCTIONED, WALLET, { decimals: null }));
    const shown = stored().map((transaction) => transactionAnswer(transaction, null));
    expect(shown.map(({ amount, decimals }) => [amount, decimals])).toEqual([
      ['5000000', null],
      ['1.5', 18],
    ]);
  });

  it('raises an alert about risk behind the other side, and none about a side without it', async () => {
    const sentBy = (from: string, to: string, digit: string) =>
      moved(from, to, { ...payment, txHash: `0x${digit.repeat(64)}` });
    expect(await block(sentBy(SANCTIONED, FRIEND, '2'))).toEqual([]);
    const alerts = await block(sentBy(FRIEND, WALLET, '3'));
    expect(alerts.map(({ riskType }) => riskType)).toEqual(['INDIRECT']);
    expect(await block(sentBy(STRANGER, WALLET, '4'))).toHaveLength(1);
  });

  it('raises LOW for received dust, once a day, and does not store it as dealings', async () => {
    const dust = (digit: string) =>
      moved(SANCTIONED, WALLET, {
        ...{ ...payment, amount: 1n, valueUsd: 2.97e-15 },
        txHash: `0x${digit.repeat(64)}`,
      });
    const alerts = await block(dust('1'), dust('2'));
    expect(alerts.map(({ ruleId, severity }) => [ruleId, severity])).toEqual([['SANCTIONS-001', 'LOW']]);
    expect(alerts[0]?.title).toMatch(/^Dust: /);
    expect(alerts[0]?.transaction?.amountUsd).toBe(0);
    expect(stored().map(({ riskScore, amountUsd }) => [riskScore, amountUsd])).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(store.counterparties({ after: null, limit: 10 }).counterparties).toEqual([]);
    const sent = await block(
      moved(WALLET, SANCTIONED, {
        ...payment,
        amount: 1n,
        valueUsd: 2.97e-15,
        txHash: `0x${'3'.repeat(64)}`,
      }),
    );
    expect(sent.map(({ severity }) => severity)).toEqual(['LOW', 'LOW']);
    expect(store.counterparties({ after: null, limit: 10 }).counterparties).toEqual([]);
  });

  it('raises CRITICAL for dust that adds up to more than dust', async () => {
    const cents = (digit: string) =>
      moved(WALLET, SANCTIONED, {
        ...payment,
        amount: 10n ** 14n,
        valueUsd: 0.6,
        txHash: `0x${digit.repeat(64)}`,
      });
    expect((await block(cents('1'))).map(({ severity }) => severity)).toEqual(['LOW']);
    const alerts = await block(cents('2'));
    expect(alerts.map(({ severity }) => severity).sort()).toEqual(['CRITICAL', 'LOW']);
  });

  it('raises LOW for less than a ten-thousandth of a token without a price, and CRITICAL for more', async () => {
    const link = canonical('0x514910771af9ca656af840dff83e8264ecf986ca');
    const units = (from: string, to: string, amount: bigint, digit: string) =>
      moved(from, to, { asset: link, decimals: 18, amount, txHash: `0x${digit.repeat(64)}` });
    await block(units(FRIEND, WALLET, 10n ** 21n, '1'));
    const dust = await block(
      units(SANCTIONED, WALLET, 2n * 10n ** 12n, '2'),
      units(WALLET, SANCTIONED, 2n * 10n ** 12n, '3'),
    );
    // Nothing else was sent: the share is of the greater flow.
    expect(dust.map(({ severity }) => severity)).toEqual(['LOW', 'LOW']);
    const paid = await block(units(WALLET, SANCTIONED, 10n ** 19n, '4'));
    expect(paid.map(({ severity }) => severity).sort()).toEqual(['CRITICAL', 'LOW', 'LOW']);
  });

  it("of a listed token that moved no amount raises LOW: transferFrom with 0 needs nobody's consent", async () => {
    const alerts = await block(moved(WALLET, SANCTIONED, { asset: USDT, amount: 0n, valueUsd: 0 }));
    expect(alerts.map(({ ruleId, severity }) => [ruleId, severity])).toEqual([['SANCTIONS-001', 'LOW']]);
    expect(alerts[0]?.message).toMatch(/No amount moved/);
  });

  it('does not count for velocity, also when its block is reverted', async () => {
    const spam = (count: number) =>
      Array.from({ length: count }, (_, index) =>
        moved(STRANGER, WALLET, { txHash: `0x${(index + 1).toString(16).padStart(64, '3')}` }),
      );
    expect(await block(...spam(300))).toEqual([]);
    await processor.revert('ETH', 99);
    // 199 real transfers are below the cold limit of 200, 200 are not.
    const real = (count: number, digit: string) =>
      Array.from({ length: count }, (_, index) =>
        moved(STRANGER, WALLET, {
          ...payment,
          valueUsd: 1,
          txHash: `0x${(index + 1).toString(16).padStart(64, digit)}`,
        }),
      );
    height = 100;
    expect(await block(...real(199, '4'))).toEqual([]);
    const alerts = await block(...real(2, '5'));
    expect(alerts.map(({ ruleId }) => ruleId)).toEqual(['VELOCITY-001']);
  });

  it('raises one alert a day per counterparty, for any number of transfers', async () => {
    const spam = (digit: string) =>
      Array.from({ length: 50 }, (_, index) =>
        moved(SANCTIONED, WALLET, { txHash: `0x${(index + 1).toString(16).padStart(64, digit)}` }),
      );
    expect(await block(...spam('6'))).toHaveLength(1);
    expect(await block(...spam('7'))).toHaveLength(1);
    // Evidence still raises its own alert.
    const alerts = await block(moved(SANCTIONED, WALLET, payment));
    expect(alerts.map(({ severity }) => severity).sort()).toEqual(['CRITICAL', 'LOW']);
  });

  it('is not rechecked as a dealing after a list change', async () => {
    isListed = false;
    await block(moved(WALLET, SANCTIONED), moved(SANCTIONED, WALLET, { asset: USDT, amount: 0n }));
    isListed = true;
    const signal = new AbortController().signal;
    expect(await processor.recheck(signal)).toEqual({ counterparties: 0, alerts: 0 });
  });
});

describe('address poisoning of a watched wallet', () => {
  it.each([
    [
      'a zero-value transferFrom in its name',
      () => moved(WALLET, LOOK_ALIKE, { asset: USDT, amount: 0n, valueUsd: 0 }),
    ],
    ['an unknown token from the look-alike', () => moved(LOOK_ALIKE, WALLET)],
    [
      'dust from the look-alike',
      () => moved(LOOK_ALIKE, WALLET, { ...payment, amount: 1n, valueUsd: 0.001 }),
    ],
  ])('is named at LOW: %s', async (_, poison) => {
    expect(await block(moved(WALLET, FRIEND, payment))).toEqual([]);
    const alerts = await block(poison());
    expect(alerts.map(({ ruleId, severity, title }) => [ruleId, severity, title])).toEqual([
      ['SCAM-001', 'LOW', 'Address poisoning'],
    ]);
    expect(alerts[0]?.message).toContain(LOOK_ALIKE);
    expect(alerts[0]?.message).toContain(FRIEND);
  });

  it('raises one alert a day per imitated address', async () => {
    await block(moved(WALLET, FRIEND, payment));
    const poison = Array.from({ length: 20 }, (_, index) =>
      moved(canonical(`0xabc${index.toString(16).padStart(33, '0')}5678`), WALLET, {
        txHash: `0x${(index + 1).toString(16).padStart(64, '8')}`,
      }),
    );
    expect(await block(...poison)).toHaveLength(1);
  });

  it('is not reported for transfers of value, or for an address that resembles no counterparty', async () => {
    await block(moved(WALLET, FRIEND, payment));
    expect(await block(moved(LOOK_ALIKE, WALLET, payment), moved(STRANGER, WALLET))).toEqual([]);
  });
});

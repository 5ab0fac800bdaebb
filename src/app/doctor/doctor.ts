/** All checks of `assay doctor`. They read settings, files and servers, change nothing, and take no lock. */

import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { attributionFileOf, attributionFolderOf, openAttributionStore } from '../../attribution/store.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import { openFilesLimit } from '../../base/open-files.ts';
import { readCryptoKeys } from '../../billing/crypto/crypto-payments.ts';
import { CHAINS } from '../../chains/registry.ts';
import { loadTokenList } from '../../chains/tokens.ts';
import type { Finding } from '../../cli/doctor.ts';
import type { Config } from '../../config/config.ts';
import { SETTINGS } from '../../config/settings.ts';
import { readPointer } from '../../graph/cluster/format.ts';
import { clustersFolderOf } from '../../graph/cluster/store.ts';
import { labelsFolderOf, snapshotsFolderOf } from '../../labels/folders.ts';
import {
  freshnessOf,
  oldPublicationAdvice,
  oldPublications,
  readListChecks,
  staleListAdvice,
} from '../../labels/freshness.ts';
import { currentSnapshot } from '../../labels/index/folder.ts';
import { heldBackIn } from '../../labels/sanctions.ts';
import { openLabelStore } from '../../labels/store.ts';
import { presentVerdictKey, verdictKeyPath } from '../../receipts/verdict-key.ts';
import { type LockHolder, serverIn } from '../../state/folder-lock.ts';
import { isEnvironment, keyFault, missingStores, readInstallation } from '../../state/installation-record.ts';
import { lmdbFault } from '../../state/lmdb-binary.ts';
import { AFTER_RESTORE, restoredFrom, undoneBy } from '../../state/restored.ts';
import { requireSound } from '../../state/sound-file.ts';
import { unusableIn } from '../../state/usable-files.ts';
import { checkAuthorizedPayments, hasAuthorizedPayments } from '../authorized-services.ts';
import { readRules } from '../label-services.ts';
import { requireWhole } from '../node-services.ts';
import {
  clockFindings,
  diskFindings,
  faultAndRemedy,
  fileLimitFinding,
  lmdbFinding,
  type OtherClock,
  signerFinding,
  tlsFinding,
} from './machine.ts';
import { priceFindings, pricesOfCoins } from './prices.ts';
import { examineNodes, examineRedis } from './servers.ts';

/** Larger stores are only measured: reading their pages takes minutes, which `assay verify` is for. */
const STORE_BYTES_READ_MAX = 2 ** 28;

/**
 * Checks everything.
 *
 * @param read - reads the settings; an invalid one is a finding
 */
export async function examine(
  read: () => Config,
  signal: AbortSignal,
  clock: Clock = systemClock,
): Promise<readonly Finding[]> {
  let config: Config;
  try {
    config = read();
    await checkAsStart(config);
  } catch (error) {
    const advice = 'Correct the setting (docs/reference/configuration.md), and run `assay doctor` again.';
    return [{ check: 'settings', state: 'problem', text: messageOf(error), advice }];
  }
  const { dataDir, jobsDir, tls, publicHost } = config;
  const server = existsSync(dataDir) ? await serverIn(dataDir) : null;
  const [nodes, redis] = await Promise.all([
    guarded('nodes', () => examineNodes(config, clock, signal)),
    guarded('redis', () => examineRedis(config, clock)),
  ]);
  return [
    { check: 'settings', state: 'ok', text: 'All settings are valid.', advice: null },
    serverFinding(dataDir, server),
    ...diskFindings(dataDir, SETTINGS.dataDir.variable),
    ...(jobsDir === null ? [] : diskFindings(jobsDir, SETTINGS.jobsDir.variable)),
    ...findingsOf('stores', () => storeFindings(config)),
    ...findingsOf('restored', () => restoredFindings(config)),
    ...findingsOf('derived', () => derivedFindings(config)),
    ...findingsOf('lists', () => listFindings(config, clock)),
    ...findingsOf('prices', () => priceFindings(pricesOfCoins(config, clock), clock.now())),
    ...nodes.findings,
    ...redis.findings,
    ...findingsOf('clock', () =>
      clockFindings(clock.now(), [...nodes.clocks, ...redis.clocks, ...recordedTimes(config, clock)]),
    ),
    ...(tls === null ? [] : findingsOf('tls', () => [tlsFinding(tls, publicHost, clock.now())])),
    ...findingsOf('signer', () => {
      const key = presentVerdictKey(verdictKeyPath(dataDir));
      return key === null ? [] : [signerFinding(key, clock.now())];
    }),
    fileLimits(server),
    ...findingsOf('lmdb', () => [lmdbFinding(lmdbFault())]),
  ];
}

/**
 * Checks settings that a start reads after the others: files, keys, and settings that need one another.
 *
 * @throws the error with which the start would fail
 */
async function checkAsStart(config: Config): Promise<void> {
  loadTokenList({ ownFile: config.tokensFile });
  readRules(config);
  readCryptoKeys(config.paymentKeys);
  if (hasAuthorizedPayments(config)) await checkAuthorizedPayments(config);
  if (config.redis === null) requireWhole(config.roles, config);
}

/** Advice for a check that failed for a reason that it does not know. */
const UNKNOWN = 'Follow the message; run with --debug and report it if it does not help.';

const failed = (check: string, error: unknown): Finding => ({
  check,
  state: 'problem',
  text: messageOf(error),
  advice: UNKNOWN,
});

function findingsOf(check: string, look: () => readonly Finding[]): readonly Finding[] {
  try {
    return look();
  } catch (error) {
    return [failed(check, error)];
  }
}

async function guarded(
  check: string,
  look: () => ReturnType<typeof examineNodes>,
): ReturnType<typeof examineNodes> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw error;
    return { findings: [failed(check, error)], clocks: [] };
  }
}

const serverFinding = (dataDir: string, server: LockHolder | null): Finding => ({
  check: 'server',
  state: 'ok',
  text:
    server === null
      ? `No server runs on ${dataDir}.`
      : `Process ${server.pid} on host ${server.host} serves ${dataDir} since ${server.since}.`,
  advice: null,
});

/** The limit of the running server counts; without one, that of this shell. */
function fileLimits(server: LockHolder | null): Finding {
  if (server === null) return fileLimitFinding(openFilesLimit('self'), 'This process');
  return fileLimitFinding(openFilesLimit(server.pid), 'The server');
}

function storeFindings({ dataDir, redis, snapshots }: Config): readonly Finding[] {
  const check = 'stores';
  const unusable = unusableIn(dataDir);
  if (unusable.length > 0) {
    const advice = 'Do what the message says; `assay verify` checks all files.';
    return unusable.map((text) => ({ check, state: 'problem', text, advice }));
  }
  const record = readInstallation(dataDir);
  if (record === null)
    return [
      { check, state: 'ok', text: `${dataDir} is new: the first start creates the stores.`, advice: null },
    ];
  const findings: Finding[] = missingStores(dataDir, redis !== null).map(({ path }) => ({
    check,
    state: 'problem',
    text: `${path} is missing.`,
    advice: `Restore it from a backup (docs/OPERATIONS.md), or accept its loss: \`assay installation accept-loss ${path}\`.`,
  }));
  const wrongKey = redis === null ? keyFault(dataDir) : null;
  if (wrongKey !== null) {
    const [text, advice] = faultAndRemedy(wrongKey);
    findings.push({ check, state: 'problem', text, advice });
  }
  for (const { path } of record.stores) {
    const file = join(dataDir, path);
    const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (!isEnvironment(path) || bytes === 0 || bytes > STORE_BYTES_READ_MAX) continue;
    try {
      requireSound(file);
    } catch (error) {
      const advice = 'Stop the server and do what the message says; `assay verify` checks all files.';
      findings.push({ check, state: 'problem', text: messageOf(error), advice });
    }
  }
  if (currentSnapshot(snapshotsFolderOf(dataDir)) === null)
    findings.push({
      check,
      state: 'problem',
      text: 'There is no label index.',
      advice:
        snapshots.from === null
          ? 'Run `assay index build`, or start the server, which builds it.'
          : 'Run `assay snapshot pull`, or start the server, which pulls it.',
    });
  if (findings.length > 0) return findings;
  const text = `${record.stores.length} stores are there and intact as far as read; \`assay verify\` reads every page.`;
  return [{ check, state: 'ok', text, advice: null }];
}

/** A restored backup, until the operator has confirmed the steps after it. With a Redis, the state is not that of the folder. */
function restoredFindings({ dataDir, redis }: Config): readonly Finding[] {
  const restored = redis === null ? restoredFrom(dataDir) : null;
  if (restored === null) return [];
  return [{ check: 'restored', state: 'warning', text: undoneBy(restored), advice: AFTER_RESTORE }];
}

/** Clusters and derived labels in the format of another version: a server starts without them, and only a command builds them again. */
function derivedFindings({ dataDir }: Config): readonly Finding[] {
  const attributions = attributionFolderOf(dataDir);
  return CHAINS.flatMap(({ id, family }): Finding[] => [
    ...(family === 'utxo'
      ? formatFinding(
          () => readPointer(join(clustersFolderOf(dataDir), id)),
          `Run \`assay cluster ${id}\`, then \`assay index build\`. Until then answers about ${id} have no cluster.`,
        )
      : []),
    ...formatFinding(
      () => void openAttributionStore(attributions, id, true)?.close(),
      `Move ${attributionFileOf(attributions, id)} away, and run \`assay attribute ${id}\`. Until then no labels are derived on ${id}.`,
    ),
  ]);
}

/** Returns a finding if the format of a store is that of another version of the program. */
function formatFinding(open: () => unknown, advice: string): Finding[] {
  try {
    open();
    return [];
  } catch (error) {
    if (!(error instanceof AssayError) || error.code !== 'STORE_VERSION') throw error;
    return [{ check: 'derived', state: 'problem', text: error.message, advice }];
  }
}

function listFindings({ dataDir, listMaxAgeDays, snapshots }: Config, clock: Clock): readonly Finding[] {
  const check = 'lists';
  const { staleLists, lists } = freshnessOf(
    readListChecks(labelsFolderOf(dataDir)),
    clock.now(),
    listMaxAgeDays,
  );
  const heldBack = heldBackFindings(dataDir);
  const old = oldPublicationAdvice(oldPublications(lists, clock.now())).map((sentence): Finding => {
    const [text, advice] = faultAndRemedy(sentence);
    return { check, state: 'warning', text, advice };
  });
  if (staleLists.length === 0) {
    const text = `All ${Object.keys(lists).length} sanctions lists were checked within ${listMaxAgeDays} days.`;
    return [{ check, state: 'ok', text, advice: null }, ...old, ...heldBack];
  }
  const stale = staleListAdvice(staleLists).map((sentence): Finding => {
    const [text, own] = faultAndRemedy(sentence);
    const advice =
      snapshots.from === null
        ? own
        : 'This node pulls its labels: run `assay doctor` on the node that builds them.';
    return { check, state: 'problem', text, advice };
  });
  return [...stale, ...old, ...heldBack];
}

/** Wallets that stay in force only because the newest file of their list has unreadable rows in their place. */
function heldBackFindings(dataDir: string): readonly Finding[] {
  const store = openLabelStore({ dataDir });
  return store.catalogue().lists.flatMap(({ list }): Finding[] => {
    const wallets = heldBackIn(store.listState(list));
    if (wallets === 0) return [];
    const text = `Wallets of ${list} in force that its newest file lacks: ${wallets}. The file has unreadable rows in their place.`;
    const advice =
      'Compare them with the publisher. If they were removed, import the file with `--force`; otherwise the next file that can be read confirms them.';
    return [{ check: 'lists', state: 'warning', text, advice }];
  });
}

/** Times that were recorded when they were the present: a clock before one of them was set back. */
function recordedTimes({ dataDir }: Config, clock: Clock): readonly OtherClock[] {
  const nowMs = clock.now();
  const created = readInstallation(dataDir)?.createdAt;
  if (created === undefined) return [];
  return [{ name: 'the first start', timeMs: Date.parse(created), nowMs, kind: 'past' }];
}

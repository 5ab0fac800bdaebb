/** `assay snapshot export|check|diff`: copies of label snapshots with a signed manifest, and what changed between two of them. */

import { constants, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { AssayError, messageOf } from '../base/errors.ts';
import { checkOutboundUrl, createOutboundAgent } from '../base/outbound.ts';
import { systemRandom } from '../base/random.ts';
import { sleep } from '../base/retry.ts';
import { undici } from '../base/undici.ts';
import { isUrl } from '../base/url.ts';
import { AddressError } from '../chains/address/address.ts';
import { parseAddress } from '../chains/address/parse.ts';
import { parseChainId } from '../chains/registry.ts';
import { leaseCurrent } from '../labels/index/folder.ts';
import { ENVIRONMENT_FILE, snapshotFiles } from '../labels/index/format.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import { openSnapshot } from '../labels/index/snapshot.ts';
import { readSnapshotMeta } from '../labels/index/snapshot-views.ts';
import { verifySnapshot } from '../labels/index/verify.ts';
import {
  type ComparedWallet,
  type DiffCounts,
  type LabelChange,
  SnapshotDiff,
} from '../labels/snapshot-diff.ts';
import { manifestOf, type SnapshotManifest } from '../labels/snapshot-manifest.ts';
import { signWebhook } from '../monitoring/delivery/senders.ts';
import { parseJwks, type ReceiptJwks } from '../receipts/jws.ts';
import { jwksOf } from '../receipts/keys.ts';
import { signManifest, verifyManifest } from '../receipts/snapshot-jws.ts';
import { readCsv } from '../sources/csv.ts';
import { PRIVATE_FOLDER } from '../state/data-folder.ts';
import { answer, type Terminal } from './context.ts';
import type { Services } from './services.ts';

const MANIFEST = 'manifest.json';
const SIGNATURE = 'manifest.jws';
/** Names the snapshot that is in force. */
const CURRENT = 'current';

/** Changes of one webhook message: about 400 KB of JSON. */
const CHANGES_PER_MESSAGE = 1_000;
/** Waits before a message that was not accepted is sent again. */
const WEBHOOK_WAITS_MS = [1_000, 5_000];
const WEBHOOK_TIMEOUTS = { connectMs: 5_000, headersMs: 15_000, stallMs: 15_000 };
/** Rows of a list of wallets: twenty times the largest customer list of the specification. */
const WALLETS_MAX = 1_000_000;

interface ExportReport {
  readonly folder: string;
  readonly dataVersion: string;
  readonly kid: string;
  readonly manifest: SnapshotManifest;
}

/** Copies the snapshot in force into a folder, with its manifest and the signature. */
async function exportSnapshot(folder: string, opened: Services): Promise<ExportReport> {
  if (existsSync(join(folder, ENVIRONMENT_FILE)))
    throw new AssayError('INVALID_REQUEST', `folder: ${folder} has a snapshot already.`, { field: 'folder' });
  const leased = leaseCurrent(opened.snapshotsFolder);
  if (leased === null)
    throw new AssayError('NOT_READY', "No label index was built yet. Run 'assay index build'.");
  const isNew = !existsSync(folder);
  const written: string[] = [];
  const create = (name: string): string => {
    written.push(join(folder, name));
    return join(folder, name);
  };
  try {
    mkdirSync(folder, PRIVATE_FOLDER);
    const { layout, ...meta } = await readSnapshotMeta(leased.path);
    const manifest = manifestOf(meta, opened.rules.sources);
    const signer = await opened.receipts().keys.active();
    const jws = await signManifest(manifest, signer);
    for (const name of snapshotFiles(layout.partitions?.length ?? 1))
      if (existsSync(join(leased.path, name)))
        copyFileSync(join(leased.path, name), create(name), constants.COPYFILE_FICLONE);
    writeFileSync(create(MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
    writeFileSync(create(SIGNATURE), `${jws}\n`);
    return { folder, dataVersion: manifest.dataVersion, kid: signer.kid, manifest };
  } catch (error) {
    // The next attempt would refuse a part of an export as a snapshot that is there already.
    for (const path of written) rmSync(path, { force: true });
    if (isNew) rmSync(folder, { recursive: true, force: true });
    throw error;
  } finally {
    leased.lease.release();
  }
}

interface CheckReport {
  readonly folder: string;
  readonly dataVersion: string;
  readonly kid: string;
  /** Faults of the files, and differences between them and the signed manifest. */
  readonly faults: readonly string[];
}

/** Returns whether a file has the content of a manifest. People read the file, so a changed one beside a valid signature is a fault. */
function isSame(path: string, manifest: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(readFileSync(path, 'utf8')), manifest);
  } catch {
    return false;
  }
}

/** Verifies the signature of an exported snapshot, and that its files are those of the manifest. */
async function checkExport(folder: string, jwks: ReceiptJwks): Promise<CheckReport> {
  const { manifest, kid } = verifyManifest(readFileSync(join(folder, SIGNATURE), 'utf8'), jwks);
  const { checksum, dataVersion } = manifest as SnapshotManifest;
  const verified = await verifySnapshot(folder);
  const { meta } = openSnapshot(folder);
  const faults = [...verified.faults];
  if (!isSame(join(folder, MANIFEST), manifest))
    faults.push(`${MANIFEST} is not the manifest that was signed. Read the one in ${SIGNATURE}.`);
  if (meta.checksum !== checksum)
    faults.push(
      `The checksum of the snapshot is ${meta.checksum}, and that of the signed manifest ${checksum}.`,
    );
  return { folder, dataVersion, kid, faults };
}

/** Opens a snapshot by its folder, or the one in force. */
function openNamed(name: string, services: () => Services): LabelReader {
  if (name === CURRENT) return services().snapshots().current;
  return openSnapshot(name);
}

interface BadRow {
  readonly line: number;
  readonly reason: string;
}

/**
 * Yields the wallets of a CSV with the columns `chain` and `address`, and optionally `reference`.
 *
 * @throws INVALID_FILE if a column is missing or the list is too long
 */
async function* walletsIn(path: string): AsyncGenerator<ComparedWallet | BadRow> {
  let columns: readonly string[] | null = null;
  let rows = 0;
  for await (const row of readCsv(path)) {
    if (row.type === 'fault') {
      yield { line: row.line, reason: row.reason };
      continue;
    }
    if (columns === null) {
      columns = row.cells.map((cell) => cell.trim().toLowerCase());
      const missing = ['chain', 'address'].filter((name) => !columns?.includes(name));
      if (missing.length > 0)
        throw new AssayError(
          'INVALID_FILE',
          `${basename(path)}, line 1: lacks the columns ${missing.join(', ')}.`,
          {
            field: 'customers',
          },
        );
      continue;
    }
    if (++rows > WALLETS_MAX)
      throw new AssayError('INVALID_FILE', `${basename(path)}: has more than ${WALLETS_MAX} wallets.`, {
        field: 'customers',
      });
    const cell = (name: string): string => (row.cells[columns?.indexOf(name) ?? -1] ?? '').trim();
    try {
      const chain = parseChainId(cell('chain'));
      const { key, canonical: address } = parseAddress(chain, cell('address'));
      yield { chain, key, address, reference: cell('reference') || null };
    } catch (error) {
      if (!(error instanceof AddressError) && !(error instanceof AssayError)) throw error;
      yield { line: row.line, reason: error.message };
    }
  }
}

interface DiffReport {
  readonly from: string;
  readonly to: string;
  readonly counts: DiffCounts;
  /** Rows of the list that were not compared. */
  readonly rejected: readonly BadRow[];
  readonly changes: readonly LabelChange[];
}

const CSV_COLUMNS = [
  'chain',
  'address',
  'reference',
  'change',
  'source',
  'class',
  'category',
  'threatLevel',
  'entityId',
  'entity',
  'fields',
  'wasSanctioned',
  'isSanctioned',
] as const satisfies readonly (keyof LabelChange)[];

/** Formats a cell; a text that a spreadsheet would execute gets a quote in front of it. */
function csvCell(value: unknown): string {
  const text = Array.isArray(value) ? value.join(';') : value === null ? '' : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const csvLines = ({ changes }: DiffReport): readonly string[] => [
  CSV_COLUMNS.join(),
  ...changes.map((change) => CSV_COLUMNS.map((column) => csvCell(change[column])).join()),
];

async function compare(before: LabelReader, after: LabelReader, customers: string): Promise<DiffReport> {
  const diff = new SnapshotDiff(before, after);
  const changes: LabelChange[] = [];
  const rejected: BadRow[] = [];
  for await (const wallet of walletsIn(customers)) {
    if ('reason' in wallet) rejected.push(wallet);
    else changes.push(...diff.compare(wallet));
  }
  const { counts } = diff;
  return { from: before.meta.dataVersion, to: after.meta.dataVersion, counts, rejected, changes };
}

/** Reads a secret of Standard Webhooks (`whsec_…`) from a file. */
function secretIn(path: string): string {
  const secret = readFileSync(path, 'utf8').trim();
  if (/^whsec_[A-Za-z0-9+/=]{24,}$/.test(secret)) return secret;
  throw new AssayError('INVALID_FILE', `${path}: must have one secret of the form whsec_BASE64.`, {
    field: 'webhookSecretFile',
  });
}

/** Sends the report in messages of Standard Webhooks. Throws SOURCE_UNAVAILABLE if one is not accepted. */
async function sendDiff(
  report: DiffReport,
  target: { readonly url: string; readonly secret: string },
  terminal: Terminal,
): Promise<number> {
  const url = new URL(target.url);
  const policy = { trustedHosts: new Set([url.hostname]) };
  checkOutboundUrl(url, policy);
  const agent = createOutboundAgent({ policy, timeouts: WEBHOOK_TIMEOUTS });
  const parts = Math.max(1, Math.ceil(report.changes.length / CHANGES_PER_MESSAGE));
  const run = Buffer.from(systemRandom.bytes(16)).toString('hex');
  try {
    for (let part = 0; part < parts; part++) {
      const changes = report.changes.slice(part * CHANGES_PER_MESSAGE, (part + 1) * CHANGES_PER_MESSAGE);
      const body = JSON.stringify({
        type: 'snapshot.diff',
        part: part + 1,
        parts,
        from: report.from,
        to: report.to,
        counts: report.counts,
        rejected: report.rejected.length,
        changes,
      });
      const id = `msg_${run}_${part + 1}`;
      for (let attempt = 0; ; attempt++) {
        const reason = await post(url, { id, body, secret: target.secret }, agent, terminal);
        if (reason === null) break;
        const wait = WEBHOOK_WAITS_MS[attempt];
        if (wait === undefined)
          throw new AssayError(
            'SOURCE_UNAVAILABLE',
            `webhook: message ${part + 1} of ${parts} was not accepted (${reason}).`,
          );
        await sleep(wait, terminal.signal);
      }
    }
    return parts;
  } finally {
    await agent.destroy();
  }
}

/** Sends one message; returns null if it was accepted, else the reason. */
async function post(
  url: URL,
  { id, body, secret }: { readonly id: string; readonly body: string; readonly secret: string },
  agent: ReturnType<typeof createOutboundAgent>,
  terminal: Terminal,
): Promise<string | null> {
  const timestamp = Math.floor(terminal.clock.now() / 1000);
  try {
    const response = await undici().request(url, {
      method: 'POST',
      dispatcher: agent,
      signal: terminal.signal,
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signWebhook([secret], { id, timestamp, body }),
      },
      body,
    });
    await response.body.dump();
    return response.statusCode >= 200 && response.statusCode < 300 ? null : `HTTP ${response.statusCode}`;
  } catch (error) {
    terminal.signal.throwIfAborted();
    return messageOf(error);
  }
}

interface DiffFlags {
  readonly customers: string;
  readonly format?: string;
  readonly webhook?: string;
  readonly webhookSecretFile?: string;
  readonly json?: boolean;
}

const diffLines = (report: DiffReport): readonly string[] => {
  const { counts, rejected, from, to } = report;
  return [
    `${from} → ${to}: ${counts.changedWallets} of ${counts.wallets} wallets changed: ${counts.added} labels added, ` +
      `${counts.removed} removed, ${counts.changed} changed; ${counts.newlySanctioned} newly sanctioned, ` +
      `${counts.noLongerSanctioned} no longer.`,
    ...rejected.slice(0, 10).map(({ line, reason }) => `line ${line}: ${reason}`),
    ...(rejected.length > 10 ? [`${rejected.length - 10} more rows were not compared.`] : []),
    ...report.changes.map(
      ({ change, chain, address, reference, category, entity, source }) =>
        `${change} ${chain} ${address}${reference === null ? '' : ` (${reference})`}: ${category} ${entity} (${source})`,
    ),
  ];
};

/** Adds `export`, `check` and `diff` to `assay snapshot`. */
export function addSnapshotProducts(snapshot: Command, terminal: Terminal, services: () => Services): void {
  snapshot
    .command('export')
    .description(
      'copy the label snapshot in force into a folder, with a signed manifest of sources and licences',
    )
    .argument('<folder>', 'folder to create')
    .option('--json', 'answer as JSON')
    .action(async (folder: string, options: { json?: boolean }) => {
      const report = await exportSnapshot(folder, services());
      answer(terminal, options.json ?? false, report, ({ manifest, kid }) => [
        `exported data version ${manifest.dataVersion} to ${folder}, signed with key ${kid}`,
        ...Object.entries(manifest.byClass).map(([name, labels]) => `${name}: ${labels} labels`),
        `licences: ${manifest.licences.join('; ')}`,
        ...(manifest.withoutLicence.length === 0
          ? []
          : [`no licence stated: ${manifest.withoutLicence.join(', ')}`]),
        ...(manifest.restricted.length === 0 ? [] : [`restricted: ${manifest.restricted.join(', ')}`]),
      ]);
    });

  snapshot
    .command('check')
    .description('verify the signature of an exported snapshot, and its files')
    .argument('<folder>', 'folder of `assay snapshot export`')
    .option('--jwks <file>', 'keys of the issuer (default: those of this installation)')
    .option('--json', 'answer as JSON')
    .action(async (folder: string, options: { jwks?: string; json?: boolean }) => {
      if (options.jwks === undefined) await services().ready('accounts');
      const jwks =
        options.jwks === undefined
          ? jwksOf(services().receipts().keys.list())
          : parseJwks(JSON.parse(readFileSync(options.jwks, 'utf8')));
      const report = await checkExport(folder, jwks);
      answer(terminal, options.json ?? false, report, ({ dataVersion, kid, faults }) => [
        `data version ${dataVersion}, signed with key ${kid}: ${faults.length === 0 ? 'sound' : 'FAULTY'}`,
        ...faults,
      ]);
      if (report.faults.length > 0)
        throw new AssayError('STORE_CORRUPT', `${folder}: the snapshot is not the one that was signed.`);
    });

  snapshot
    .command('diff')
    .description('say which labels of a list of wallets changed between two snapshots')
    .argument('<from>', 'folder of an exported snapshot')
    .argument('<to>', `folder of an exported snapshot, or \`${CURRENT}\``)
    .requiredOption(
      '--customers <file>',
      'CSV of wallets with the columns chain, address and optionally reference',
    )
    .option('--format <format>', 'text or csv', 'text')
    .option('--webhook <url>', 'also send the changes to this URL, signed (Standard Webhooks)')
    .option('--webhook-secret-file <file>', 'file with the secret of the webhook, whsec_BASE64')
    .option('--json', 'answer as JSON')
    .action(async (from: string, to: string, options: DiffFlags) => {
      if (options.format !== 'text' && options.format !== 'csv')
        throw new AssayError('INVALID_REQUEST', `--format: must be text or csv (got '${options.format}').`);
      if ((options.webhook === undefined) !== (options.webhookSecretFile === undefined))
        throw new AssayError('INVALID_REQUEST', '--webhook and --webhook-secret-file: give both or none.');
      if (options.webhook !== undefined && !isUrl(options.webhook))
        throw new AssayError(
          'INVALID_REQUEST',
          `--webhook: '${options.webhook.slice(0, 200)}' is not a URL.`,
        );
      const secret = options.webhookSecretFile === undefined ? null : secretIn(options.webhookSecretFile);
      const report = await compare(openNamed(from, services), openNamed(to, services), options.customers);
      answer(terminal, options.json ?? false, report, options.format === 'csv' ? csvLines : diffLines);
      if (options.webhook !== undefined && secret !== null)
        await sendDiff(report, { url: options.webhook, secret }, terminal);
    });
}

/** Checks of the machine: the disk, the clock, the certificate of TLS and the limits of the process. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { isoTime } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Finding } from '../../cli/doctor.ts';
import type { VerdictKeyFacts } from '../../receipts/verdict-key.ts';
import { PRIVATE_FILE } from '../../state/data-folder.ts';
import { isStorageFull, storageFull } from '../../state/storage.ts';
import { TRIAL_BYTES } from '../../state/storage-watch.ts';

const GIB = 2 ** 30;
/** A build of labels or an ingest writes about this much before it removes anything: below it, writes are about to fail. */
const FREE_BYTES_MIN = GIB;
/** Space for a week of a busy installation: transfers, results of jobs, three label snapshots. */
const FREE_BYTES_WANTED = 10 * GIB;
const FREE_SHARE_WANTED = 0.1;
/** Inodes that one label snapshot, a job and their temporary files need many times over. */
const FREE_FILES_MIN = 10_000;

/** Free space of a file system, as the system reports it. */
export interface Space {
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** 0 of 0 on file systems without a fixed number of files. */
  readonly freeFiles: number;
  readonly totalFiles: number;
}

const gigabytes = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`;

/** Judges the free space of a folder. */
export function spaceFinding(folder: string, space: Space): Finding {
  const { freeBytes, totalBytes, freeFiles, totalFiles } = space;
  const text = `${folder}: ${gigabytes(freeBytes)} of ${gigabytes(totalBytes)} are free.`;
  const more = `Free disk space or enlarge the volume: keep ${gigabytes(FREE_BYTES_WANTED)} free.`;
  if (freeBytes < FREE_BYTES_MIN) return { check: 'disk', state: 'problem', text, advice: more };
  if (totalFiles > 0 && freeFiles < FREE_FILES_MIN)
    return {
      check: 'disk',
      state: 'problem',
      text: `${folder}: only ${freeFiles} more files can be created (inodes).`,
      advice: 'Remove files from this file system, or use one with more inodes.',
    };
  if (freeBytes < FREE_BYTES_WANTED && freeBytes < totalBytes * FREE_SHARE_WANTED)
    return { check: 'disk', state: 'warning', text, advice: more };
  return { check: 'disk', state: 'ok', text, advice: null };
}

/** Returns the folder, or the nearest one above it that exists. */
function existing(folder: string): string {
  let path = folder;
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path);
  return path;
}

/** Divides a text whose first sentence is the fault, and whose others are the remedy. */
export function faultAndRemedy(text: string): readonly [fault: string, remedy: string] {
  const end = text.indexOf('. ') + 1;
  return [text.slice(0, end), text.slice(end + 1)];
}

/** Writes a file and removes it: a file system that stopped after an error still reports its space, and itself as writable. */
function tryToWrite(folder: string): void {
  const path = join(folder, `.room-${process.pid}`);
  try {
    writeFileSync(path, Buffer.alloc(TRIAL_BYTES), { mode: PRIVATE_FILE, flush: true });
  } finally {
    rmSync(path, { force: true });
  }
}

/**
 * Checks a folder of state: it can be written, and has space. The test writes a file only if the folder exists.
 *
 * @param setting - name of the setting that names the folder
 */
export function diskFindings(folder: string, setting: string): readonly Finding[] {
  const path = existing(folder);
  try {
    if (!statSync(path).isDirectory()) throw new Error(`${path} is not a folder`);
    accessSync(path, constants.W_OK | constants.X_OK);
    if (path === folder) tryToWrite(folder);
    const { bavail, blocks, bsize, ffree, files } = statfsSync(path);
    const space = {
      freeBytes: bavail * bsize,
      totalBytes: blocks * bsize,
      freeFiles: ffree,
      totalFiles: files,
    };
    return [spaceFinding(folder, space)];
  } catch (error) {
    if (isStorageFull(error)) {
      const [fault, advice] = faultAndRemedy(storageFull(folder, error).message);
      return [{ check: 'disk', state: 'problem', text: `${setting}: ${fault}`, advice }];
    }
    return [
      {
        check: 'disk',
        state: 'problem',
        text: `${setting}: ${folder} cannot be written (${messageOf(error)}).`,
        advice: `Give the user of this process write access to it, or set ${setting} to another folder.`,
      },
    ];
  }
}

/** Open files that a server may need: a connection each for clients, receivers and nodes, and some for each store and thread. */
const FILES_WANTED = 65_536;
/** Below this, a server with some hundred clients fails to accept connections or to open stores. */
const FILES_MIN = 4_096;

/** Judges the limit of open files; null if it is not known. */
export function fileLimitFinding(limit: number | null, of: string): Finding {
  const check = 'files';
  if (limit === null)
    return { check, state: 'ok', text: `The limit of open files of ${of} is not known here.`, advice: null };
  const text = `${of} may open ${limit === Number.POSITIVE_INFINITY ? 'any number of' : limit} files.`;
  if (limit >= FILES_WANTED) return { check, state: 'ok', text, advice: null };
  const advice = `Raise the limit to ${FILES_WANTED}: LimitNOFILE= in systemd, --ulimit nofile= in Docker, ulimit -n in a shell.`;
  return { check, state: limit < FILES_MIN ? 'problem' : 'warning', text, advice };
}

/** Days before the end of a certificate at which it should have been renewed: ACME clients do so after two thirds of its 90 days. */
const CERTIFICATE_DAYS_WANTED = 14;
const DAY_MS = 86_400_000;

/** Returns the result of a step; null if it throws. */
function attempt<T>(step: () => T): T | null {
  try {
    return step();
  } catch {
    return null;
  }
}

/**
 * Checks the certificate and the key that a server reads.
 *
 * @param publicHost - with or without a port
 * @param nowMs - milliseconds since the epoch
 */
export function tlsFinding(
  { keyFile, certFile }: { readonly keyFile: string; readonly certFile: string },
  publicHost: string | null,
  nowMs: number,
): Finding {
  const finding = (state: Finding['state'], text: string, advice: string | null): Finding => ({
    ...{ check: 'tls', state, text, advice },
  });
  const certificate = attempt(() => new X509Certificate(readFileSync(certFile, 'latin1')));
  const key = attempt((): KeyObject => createPrivateKey(readFileSync(keyFile)));
  if (certificate === null)
    return finding('problem', `${certFile} is not a certificate in PEM format.`, 'Correct ASSAY_TLS_CERT.');
  if (key === null)
    return finding(
      'problem',
      `${keyFile} is not a private key in PEM format without a passphrase.`,
      'Correct ASSAY_TLS_KEY.',
    );
  if (!certificate.checkPrivateKey(key))
    return finding(
      'problem',
      `The key in ${keyFile} does not belong to the first certificate in ${certFile}.`,
      'Put the certificate of this server first, and those of its issuers after it.',
    );
  const { validFrom, validTo } = certificate;
  const end = Date.parse(validTo);
  const renew = 'Renew the certificate; the server reads it again within a minute.';
  if (end < nowMs) return finding('problem', `The certificate has expired on ${isoTime(end)}.`, renew);
  const start = Date.parse(validFrom);
  if (start > nowMs)
    return finding('problem', `The certificate is not valid before ${isoTime(start)}.`, 'Check the clock.');
  const host = publicHost?.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1') ?? null;
  const covers = (name: string): boolean =>
    (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined;
  if (host !== null && !covers(host))
    return finding(
      'problem',
      `The certificate is not valid for ${host}.`,
      'Use a certificate for the host in ASSAY_PUBLIC_HOST.',
    );
  const text = `The certificate is valid until ${isoTime(end)}.`;
  return end - nowMs < CERTIFICATE_DAYS_WANTED * DAY_MS
    ? finding('warning', text, renew)
    : finding('ok', text, null);
}

/** Days before the end of a key of verdicts at which the next one should be in the contracts: their owners may need some to add it. */
const SIGNER_DAYS_WANTED = 14;

/**
 * Checks the end of the key that signs verdicts for contracts.
 *
 * @param nowMs - milliseconds since the epoch
 */
export function signerFinding({ address, endsAt }: VerdictKeyFacts, nowMs: number): Finding {
  const check = 'signer';
  const endMs = endsAt * 1_000;
  const advice =
    'Run `assay oracle signer --new`, and add the new signer to the contracts (docs/guides/on-chain.md).';
  if (endMs <= nowMs) {
    const text = `The key ${address} ended on ${isoTime(endMs)}: verdicts for contracts are not signed.`;
    return { check, state: 'problem', text, advice };
  }
  const text = `The key ${address} signs verdicts for contracts until ${isoTime(endMs)}.`;
  return endMs - nowMs < SIGNER_DAYS_WANTED * DAY_MS
    ? { check, state: 'warning', text, advice }
    : { check, state: 'ok', text, advice: null };
}

/**
 * Says whether commands beside a running server are safe.
 *
 * @param fault - of the installed binaries of lmdb
 */
export function lmdbFinding(fault: string | null): Finding {
  const check = 'lmdb';
  if (fault === null)
    return { check, state: 'ok', text: 'Commands can open stores to which a server writes.', advice: null };
  return {
    check,
    state: 'problem',
    text: `${fault} A command beside a running server may make it lose a write.`,
    advice:
      'Run `node scripts/supply/after-install.mjs`; where that does not help, stop the server for commands (docs/decisions/lmdb-open.md).',
  };
}

/** Another clock, or a time that this clock must have passed. */
export interface OtherClock {
  /** As part of a sentence: `Redis`, `the newest block of ETH`. */
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly timeMs: number;
  /** Time of this machine at which `timeMs` was read. */
  readonly nowMs: number;
  /** `same`: a clock that must agree. `past`: a time that is over. */
  readonly kind: 'same' | 'past';
}

/** Leases between nodes, sessions and rate limits tolerate this; blocks and files may be dated by other machines. */
const SKEW_MS_MAX = { same: 5_000, past: 120_000 } as const;

/** Judges the clock of this machine by others. */
export function clockFindings(nowMs: number, others: readonly OtherClock[]): readonly Finding[] {
  const wrong = others.filter(({ timeMs, nowMs: at, kind }) => {
    const ahead = timeMs - at;
    return (kind === 'same' ? Math.abs(ahead) : ahead) > SKEW_MS_MAX[kind];
  });
  if (wrong.length > 0)
    return wrong.map(({ name, timeMs, nowMs: at }) => ({
      check: 'clock',
      state: 'problem',
      text: `The clock of this machine (${isoTime(at)}) differs by ${Math.round(Math.abs(timeMs - at) / 1_000)} s from ${name} (${isoTime(timeMs)}).`,
      advice: 'Synchronise the clocks of all machines by NTP (chrony, systemd-timesyncd).',
    }));
  const compared = others.map(({ name }) => name);
  const text =
    compared.length === 0
      ? `${isoTime(nowMs)}; nothing to compare it with.`
      : `${isoTime(nowMs)}, plausible by ${compared.join(', ')}.`;
  return [{ check: 'clock', state: 'ok', text, advice: null }];
}

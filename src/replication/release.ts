/**
 * A release: the unit of snapshot replication. It lists every file on which responses about labels, names and registers depend, with its
 * size and SHA-256. It is immutable; its id depends only on its content. For transfer it is wrapped in an envelope with a signature.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { AssayError } from '../base/errors.ts';
import { REPLICATION_LIMITS } from './limits.ts';

export interface ReleaseFile {
  /** Path inside the data folder, without the folder of the snapshot in force: `labels/labels.mdb`. */
  readonly path: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/** Format versions of the two indexes: a program that reads other versions rejects the release. */
export interface ReleaseFormats {
  readonly labels: number;
  /** Null if no name index was built yet. */
  readonly names: number | null;
}

export interface Release {
  readonly format: number;
  /** 32 hexadecimal digits: the same content has the same id, regardless of publisher and time. */
  readonly id: string;
  /** Version of the label snapshot: the `dataVersion` of every response. */
  readonly dataVersion: string;
  /** ISO time. */
  readonly publishedAt: string;
  readonly formats: ReleaseFormats;
  /** Sorted by path. */
  readonly files: readonly ReleaseFile[];
}

const FORMAT = 1;

/** The only paths that a release may contain, so that it cannot write anywhere else. */
const PATHS =
  /^(?:labels\/(?:labels(?:-\d{1,2})?\.(?:mdb|size)|freshness\.json)|names\/(?:catalogue\.json|index\/[\w.-]{1,64})|registers\/(?:catalogue\.json|states\/[\w.-]{1,160}))$/;

const SHA256 = /^[0-9a-f]{64}$/;

const idOf = (content: Pick<Release, 'format' | 'dataVersion' | 'formats' | 'files'>): string => {
  const { format, dataVersion, formats, files } = content;
  const listed = files.map(({ path, bytes, sha256 }) => [path, bytes, sha256]);
  const text = JSON.stringify([format, dataVersion, formats.labels, formats.names, listed]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
};

/** Creates a release of these files. */
export function makeRelease(
  content: Pick<Release, 'dataVersion' | 'formats' | 'files' | 'publishedAt'>,
): Release {
  const files = [...content.files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const whole = { format: FORMAT, ...content, files };
  return { ...whole, id: idOf(whole) };
}

/** Returns the total size of the files of a release. */
export const bytesOfRelease = (release: Pick<Release, 'files'>): number =>
  release.files.reduce((sum, file) => sum + file.bytes, 0);

// --- the envelope -------------------------------------------------------------------------------------------------------

/** The text of a release, and its HMAC-SHA-256 under a key that is derived from the cluster secret. */
interface Envelope {
  readonly release: string;
  /** Hex; null if the publisher has no secret. */
  readonly signature: string | null;
}

/**
 * Two keys derived from one secret: the token that a reader sends does not reveal the signing key, and the secret itself never leaves a
 * node.
 */
export interface ClusterKeys {
  /** Sent by readers as a bearer token. */
  readonly reader: string;
  readonly signing: Buffer;
}

/** Derives the keys of a cluster from its secret. */
export function clusterKeys(secret: string): ClusterKeys {
  const derive = (purpose: string): Buffer =>
    createHmac('sha256', secret).update(`assay ${purpose}`).digest();
  return { reader: derive('snapshot reader').toString('hex'), signing: derive('snapshot release') };
}

/** Compares two texts in constant time. */
export function isSameSecret(shown: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(shown), digest(wanted));
}

const signatureOf = (text: string, keys: ClusterKeys): string =>
  createHmac('sha256', keys.signing).update(text).digest('hex');

/** Wraps a release in an envelope, signed if there are keys. */
export function signRelease(release: Release, keys: ClusterKeys | null): Buffer {
  const text = JSON.stringify(release);
  const envelope: Envelope = { release: text, signature: keys === null ? null : signatureOf(text, keys) };
  return Buffer.from(JSON.stringify(envelope));
}

/**
 * Decodes and verifies an envelope: limits, paths, the id, and the signature if there are keys.
 *
 * @throws SOURCE_UNAVAILABLE with a sentence that begins with `from`
 */
export function openRelease(bytes: Uint8Array, keys: ClusterKeys | null, from: string): Release {
  const refuse = (why: string): never => {
    throw new AssayError('SOURCE_UNAVAILABLE', `${from}: the release ${why}.`);
  };
  if (bytes.length > REPLICATION_LIMITS.releaseBytesMax)
    refuse(`is larger than ${REPLICATION_LIMITS.releaseBytesMax} bytes`);
  const envelope = parsed(bytes) as Partial<Envelope> | null;
  const text = envelope?.release;
  if (typeof text !== 'string') return refuse('is not a release of Assay');
  if (keys !== null && !isSameSecret(envelope?.signature ?? '', signatureOf(text, keys)))
    refuse('is not signed with this ASSAY_CLUSTER_SECRET');
  const release = parsed(Buffer.from(text)) as Partial<Release> | null;
  if (release?.format !== FORMAT)
    refuse(`has format ${String(release?.format)}; this version reads ${FORMAT}`);
  if (!isRelease(release)) return refuse('is damaged');
  if (idOf(release) !== release.id) refuse('does not match its own id');
  return release;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    // The caller reports it as "is not a release".
    return null;
  }
}

function isRelease(value: Partial<Release> | null): value is Release {
  if (value === null || !Array.isArray(value.files)) return false;
  const files: readonly Partial<ReleaseFile>[] = value.files;
  const { formats } = value;
  return (
    typeof value.id === 'string' &&
    /^[0-9a-f]{16}$/.test(value.dataVersion ?? '') &&
    !Number.isNaN(Date.parse(value.publishedAt ?? '')) &&
    Number.isInteger(formats?.labels) &&
    (formats?.names === null || Number.isInteger(formats?.names)) &&
    files.length <= REPLICATION_LIMITS.releaseFilesMax &&
    files.every(isFile) &&
    new Set(files.map((file) => file.path)).size === files.length &&
    files.some((file) => file.path === 'labels/labels.mdb') &&
    files.reduce((sum, file) => sum + (file.bytes ?? 0), 0) <= REPLICATION_LIMITS.releaseTotalBytesMax
  );
}

const isFile = (file: Partial<ReleaseFile> | null): boolean =>
  file !== null &&
  typeof file.path === 'string' &&
  PATHS.test(file.path) &&
  !file.path.includes('..') &&
  Number.isSafeInteger(file.bytes) &&
  (file.bytes ?? -1) >= 0 &&
  SHA256.test(file.sha256 ?? '');

/** The places of a log's files: they are read from a folder or a URL, and published to a folder or an object store. */
import { readFileSync, rmSync } from 'node:fs';
import { mkdir, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AssayError, messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { checkOutboundUrl, createOutboundAgent, type OutboundPolicy } from '../../base/outbound.ts';
import { undici } from '../../base/undici.ts';
import { bodyUpTo, discard } from '../../replication/http/source.ts';
import type { S3Client } from '../../replication/s3/client.ts';
import { syncFolder, writeTextAtomically } from '../../state/atomic-file.ts';
import { asStorageFull } from '../../state/storage.ts';
import { LOG_LIMITS } from './limits.ts';
import { TILE_WIDTH, type TileName, tilePath } from './tiles.ts';

export const CHECKPOINT = 'checkpoint';

/** The files of a log. */
export interface LogSource {
  /** For messages. */
  readonly name: string;
  /** Returns a file by its path below the prefix of the log; null if absent. Throws SOURCE_UNAVAILABLE. */
  read(path: string): Promise<Buffer | null>;
  close(): Promise<void>;
}

/** A place to which the files of a log are published. */
export interface LogTarget extends LogSource {
  /** Writes a file; durable when it resolves. Throws SOURCE_UNAVAILABLE, STORAGE_FULL. */
  write(path: string, bytes: Uint8Array): Promise<void>;
}

/** A folder of static files. */
export function folderSource(folder: string): LogSource {
  return {
    name: folder,
    async read(path) {
      try {
        return readFileSync(join(folder, path));
      } catch (cause) {
        if (['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')) return null;
        throw new AssayError('SOURCE_UNAVAILABLE', `${folder}/${path} cannot be read: ${messageOf(cause)}.`, {
          cause,
        });
      }
    },
    close: async () => {},
  };
}

/** Creates a folder and its missing parents, durably: a lost name would hide the tiles of a published checkpoint. */
async function makeFolders(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first === undefined) return;
  for (let at = path; at.length >= first.length; at = dirname(at)) syncFolder(dirname(at));
}

let writes = 0;

/** A folder to publish to. Its files can be read by all users of the machine, as a web server needs. */
export function folderTarget(folder: string): LogTarget {
  return {
    ...folderSource(folder),
    async write(path, bytes) {
      const to = join(folder, path);
      const partial = `${to}.${process.pid}-${writes++}.tmp`;
      try {
        await makeFolders(dirname(to));
        // A process of the same id that was killed may have left one.
        const file = await open(partial, 'w', 0o644);
        try {
          await file.writeFile(bytes);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(partial, to);
        syncFolder(dirname(to));
      } catch (error) {
        rmSync(partial, { force: true });
        throw asStorageFull(error, to);
      }
    },
  };
}

const unavailable = (name: string, path: string, status: number): AssayError =>
  new AssayError('SOURCE_UNAVAILABLE', `${name}: ${path}: HTTP ${status}.`);

/** A log that is served over HTTP. The operator names it, so it may be private and plain http. */
export function httpSource(text: string): LogSource {
  const prefix = new URL(text.replace(/\/*$/, '/'));
  const policy: OutboundPolicy = { trustedHosts: new Set([prefix.hostname]) };
  const agent = createOutboundAgent({
    policy,
    timeouts: {
      connectMs: LIMITS.downloadConnectMs,
      headersMs: LIMITS.downloadHeadersMs,
      stallMs: LIMITS.downloadStallMs,
    },
    connections: LOG_LIMITS.uploadsAtOnce,
  });
  return {
    name: prefix.href,
    async read(path) {
      const url = new URL(path, prefix);
      checkOutboundUrl(url, policy);
      try {
        const { statusCode, body } = await undici().request(url, { dispatcher: agent });
        if (statusCode === 200) return await bodyUpTo(body, LOG_LIMITS.tileBytesMax);
        discard(body);
        if (statusCode === 404) return null;
        throw unavailable(prefix.href, path, statusCode);
      } catch (cause) {
        if (cause instanceof AssayError) throw cause;
        throw new AssayError('SOURCE_UNAVAILABLE', `${url.href} does not respond: ${messageOf(cause)}.`, {
          cause,
        });
      }
    },
    close: () => agent.destroy(),
  };
}

/** Opens a log by its URL, or as a folder of static files. */
export const openLogSource = (place: string): LogSource =>
  /^https?:\/\//.test(place) ? httpSource(place) : folderSource(place);

/** An object store to publish to. */
export function s3Target(client: S3Client): LogTarget {
  const signal = (): AbortSignal => AbortSignal.timeout(LIMITS.downloadHeadersMs);
  const send = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof AssayError) throw cause;
      throw new AssayError('SOURCE_UNAVAILABLE', `${client.name} does not respond: ${messageOf(cause)}.`, {
        cause,
      });
    }
  };
  return {
    name: client.name,
    read: (path) =>
      send(async () => {
        const { statusCode, body } = await client.send({ method: 'GET', key: path, signal: signal() });
        if (statusCode === 200) return bodyUpTo(body, LOG_LIMITS.tileBytesMax);
        discard(body);
        if (statusCode === 404) return null;
        throw unavailable(client.name, path, statusCode);
      }),
    write: (path, bytes) =>
      send(async () => {
        const isCheckpoint = path === CHECKPOINT;
        const headers = {
          'content-type': isCheckpoint ? 'text/plain; charset=utf-8' : 'application/octet-stream',
          'cache-control': isCheckpoint ? 'no-cache' : 'public, max-age=31536000, immutable',
        };
        const { status } = await client.request({
          method: 'PUT',
          key: path,
          headers,
          body: bytes,
          signal: signal(),
        });
        if (status !== 200) throw unavailable(client.name, path, status);
      }),
    close: () => client.close(),
  };
}

/**
 * Returns a function that reads tiles of a source. If a partial tile was removed, the full one that replaced it is read.
 */
export function tilesIn(source: Pick<LogSource, 'name' | 'read'>): (tile: TileName) => Promise<Buffer> {
  return async (tile) => {
    const bytes =
      (await source.read(tilePath(tile))) ??
      (tile.width === TILE_WIDTH ? null : await source.read(tilePath({ ...tile, width: TILE_WIDTH })));
    if (bytes === null)
      throw new AssayError('INVALID_FILE', `${source.name}: ${tilePath(tile)}: is missing.`);
    return bytes;
  };
}

/**
 * Writes a checkpoint that is remembered, for `assay log audit`. The earlier one stays if that fails: without it, a rollback is not noticed.
 *
 * @throws STORAGE_FULL
 */
export const rememberCheckpoint = (path: string, text: string): void => writeTextAtomically(path, text);

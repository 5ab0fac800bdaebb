/**
 * Allows one server per data folder. The lock is a listening socket in the folder: the kernel closes it when its process ends for any
 * reason, and a connection to it shows whether the process is alive, even between containers with separate process ids. Over a network file
 * system the kernel of the other machine cannot be asked; instead the holder writes a heartbeat file every few seconds.
 */
import {
  chmodSync,
  closeSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isoTime, systemClock } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { systemRandom } from '../base/random.ts';
import { PRIVATE_FILE } from './data-folder.ts';
import { processStart } from './file-lease.ts';
import { asStorageFull, isStorageFull } from './storage.ts';

/** The names have the suffix of other locks, which backups leave out. */
const SOCKET = 'server-socket-lock';
const HOLDER = 'server-lock';
const BEAT = 'server-beat-lock';

/** Interval of the heartbeat. */
const BEAT_MS = 10_000;
/** A holder on another machine without a heartbeat for this long is dead: six intervals, for a slow file system. */
const BEAT_AGE_MS_MAX = 60_000;
/** If a holder does not respond within this time, because its event loop is busy, its record in the folder is used. */
const ANSWER_MS = 1_000;
/** Each round takes the lock, finds a living holder, or removes a dead one. */
const ROUNDS_MAX = 10;

export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  /**
   * Identifies the running kernel: another value means another machine, or a restart of this one. Empty if the system does not report it.
   */
  readonly boot: string;
  /** Start of the process as the kernel counts it: a later process may have the same id. Null if the system does not report it. */
  readonly start: string | null;
  /** ISO time. */
  readonly since: string;
}

export interface FolderLock {
  /** Releases the folder. */
  release(): void;
}

/**
 * Locks a folder for this process until `release` or the end of the process. The lock of a killed process is taken over.
 *
 * @param folder - an existing folder.
 * @param setting - name of the setting that names the folder, for the error.
 * @throws STORE_BUSY naming process, host and time if another server holds the folder; STORAGE_FULL if the disk has no room for the lock;
 * INVALID_CONFIG if the folder cannot be written for another reason.
 */
export async function lockFolder(folder: string, setting: string): Promise<FolderLock> {
  const self: LockHolder = {
    pid: process.pid,
    host: hostname(),
    boot: readOr('/proc/sys/kernel/random/boot_id', '').trim(),
    start: processStart(process.pid),
    since: isoTime(systemClock.now()),
  };
  const busy = (holder: LockHolder | null): AssayError =>
    new AssayError('STORE_BUSY', `${setting}: ${sentenceOf(folder, holder)}`, { field: setting });
  try {
    const elsewhere = holderIn(folder);
    if (elsewhere !== null && isOfAnotherMachine(elsewhere, self) && isBeating(folder)) throw busy(elsewhere);
    const own = `${SOCKET}.${process.pid}-${Buffer.from(systemRandom.bytes(4)).toString('hex')}`;
    const server = await listen(folder, own, self);
    let socket: string | null = null;
    if (server === null) {
      if (elsewhere !== null && isOfRunningProcess(elsewhere, self)) throw busy(elsewhere);
    } else {
      const { name, holder } = await link(folder, own);
      if (name === null) {
        server.close();
        throw busy(holder ?? holderIn(folder));
      }
      socket = name;
    }
    return hold(folder, self, server, socket);
  } catch (cause) {
    if (cause instanceof AssayError) throw cause;
    if (isStorageFull(cause)) throw asStorageFull(cause, folder);
    throw new AssayError('INVALID_CONFIG', `${setting}: '${folder}' cannot be locked: ${messageOf(cause)}.`, {
      field: setting,
      cause,
    });
  }
}

function sentenceOf(folder: string, holder: LockHolder | null): string {
  const named =
    holder === null ? '' : `: process ${holder.pid} on host ${holder.host}, since ${holder.since}`;
  return `another server uses ${folder}${named}. Stop it, or set another folder.`;
}

/**
 * Returns the server that holds a folder now; null if no server of this machine does. Takes no lock and changes nothing.
 *
 * @param folder - an existing folder.
 */
export async function serverIn(folder: string): Promise<LockHolder | null> {
  const living = await livingOf(folder, lockNames(folder));
  return living === null ? null : (living.info ?? holderIn(folder));
}

/** Writes the record of the holder into the folder, and starts the heartbeat. */
function hold(folder: string, self: LockHolder, server: Server | null, socket: string | null): FolderLock {
  const beat = join(folder, BEAT);
  const holder = join(folder, HOLDER);
  const text = JSON.stringify(self);
  try {
    writeFileSync(beat, '.', { mode: PRIVATE_FILE });
    writeFileSync(holder, text, { mode: PRIVATE_FILE });
  } catch (error) {
    // On a full disk the socket locks the folder on this machine without these files; the heartbeat writes them when there is space.
    if (server === null || !isStorageFull(error)) throw error;
  }
  // If one heartbeat fails, the next one follows.
  const show = async (): Promise<void> => {
    await writeFile(beat, '.', { mode: PRIVATE_FILE });
    if (parsed(readOr(holder, '')) === null) await writeFile(holder, text, { mode: PRIVATE_FILE });
  };
  const beating = setInterval(() => void show().catch(() => undefined), BEAT_MS);
  beating.unref();
  return {
    release() {
      clearInterval(beating);
      for (const name of [HOLDER, BEAT]) rmSync(join(folder, name), { force: true });
      if (socket !== null) rmSync(join(folder, socket), { force: true });
      server?.close();
    },
  };
}

/** Calls `work` with a short path of the folder: a socket path is limited to 107 bytes. */
async function withShortPath<T>(folder: string, work: (path: string) => Promise<T>): Promise<T> {
  if (process.platform !== 'linux') return work(folder);
  const handle = openSync(folder, 'r');
  try {
    return await work(`/proc/self/fd/${handle}`);
  } finally {
    closeSync(handle);
  }
}

/** Error codes of a file system that does not support sockets, or hard links to them. */
const WITHOUT_SOCKETS: ReadonlySet<string> = new Set([
  ...['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EPERM', 'EINVAL', 'EMLINK', 'ENAMETOOLONG'],
]);
/** Error codes of a connection to a socket without a listener. Any other error means that the process is alive. */
const NOT_LISTENED_TO: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOENT', 'ENOTSOCK']);

/**
 * Listens on a socket with a unique name, and sends the holder's record to every connection. Returns null if the file system does not
 * support this.
 */
async function listen(folder: string, own: string, self: LockHolder): Promise<Server | null> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(JSON.stringify(self));
  });
  server.unref();
  const path = join(folder, own);
  try {
    await withShortPath(
      folder,
      (short) =>
        new Promise<void>((resolve, reject) => {
          server.once('error', reject);
          server.listen(join(short, own), resolve);
        }),
    );
    chmodSync(path, PRIVATE_FILE);
    linkSync(path, `${path}.try`);
    rmSync(`${path}.try`);
    return server;
  } catch (error) {
    server.close();
    rmSync(path, { force: true });
    if (WITHOUT_SOCKETS.has((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

interface Linked {
  /** Name of the lock in the folder; null if another process holds it. */
  readonly name: string | null;
  /** The other process; null if it does not respond. */
  readonly holder: LockHolder | null;
}

/**
 * Links the socket `own` to a lock name, which ends with a number: one more than that of any lock of a dead process. If several processes
 * find the same dead process, one of them gets the next number. A lock is valid if no other lock has a listener after the link.
 */
async function link(folder: string, own: string): Promise<Linked> {
  const path = join(folder, own);
  try {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const before = lockNames(folder);
      const living = await livingOf(folder, before);
      if (living !== null) return { name: null, holder: living.info };
      const name = `${SOCKET}.${Math.max(0, ...before.map(numberOf)) + 1}`;
      try {
        linkSync(path, join(folder, name));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
        throw error;
      }
      const others = lockNames(folder).filter((other) => other !== name);
      const rival = await livingOf(folder, others);
      if (rival !== null) {
        rmSync(join(folder, name), { force: true });
        return { name: null, holder: rival.info };
      }
      for (const other of others) rmSync(join(folder, other), { force: true });
      return { name, holder: null };
    }
    return { name: null, holder: null };
  } finally {
    // The socket is still reachable under the name of the lock.
    rmSync(path, { force: true });
  }
}

const numberOf = (name: string): number => Number(/^server-socket-lock\.(\d+)$/.exec(name)?.[1] ?? 0);
const lockNames = (folder: string): string[] => readdirSync(folder).filter((name) => numberOf(name) > 0);

async function livingOf(
  folder: string,
  names: readonly string[],
): Promise<{ readonly info: LockHolder | null } | null> {
  for (const name of names) {
    const found = await ask(folder, name);
    if (found !== null) return found;
  }
  return null;
}

/** Reads the holder's record from the process behind a socket. Returns null if no process listens on it. */
const ask = (folder: string, name: string): Promise<{ readonly info: LockHolder | null } | null> =>
  withShortPath(
    folder,
    (short) =>
      new Promise((resolve) => {
        const socket = connect(join(short, name));
        let text = '';
        const end = (error?: NodeJS.ErrnoException): void => {
          clearTimeout(late);
          socket.destroy();
          resolve(NOT_LISTENED_TO.has(error?.code ?? '') ? null : { info: parsed(text) });
        };
        const late = setTimeout(() => end(), ANSWER_MS);
        socket.setEncoding('utf8').on('data', (part) => (text += part));
        socket.on('error', end).on('end', () => end());
      }),
  );

/** Returns the holder that the folder records; null if there is no record. */
const holderIn = (folder: string): LockHolder | null => parsed(readOr(join(folder, HOLDER), ''));

function parsed(text: string): LockHolder | null {
  try {
    const found = JSON.parse(text) as LockHolder;
    return typeof found.pid === 'number' && typeof found.host === 'string' ? found : null;
  } catch {
    return null;
  }
}

function readOr(path: string, instead: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return instead;
  }
}

/** A restarted machine keeps its host name; a replaced container runs on the same kernel. */
const isOfAnotherMachine = (holder: LockHolder, self: LockHolder): boolean =>
  holder.boot !== self.boot && holder.host !== self.host;

/** Used without sockets: returns true if the holder is a running process of this machine. */
const isOfRunningProcess = (holder: LockHolder, self: LockHolder): boolean =>
  holder.host === self.host &&
  holder.boot === self.boot &&
  holder.pid !== self.pid &&
  holder.start !== null &&
  holder.start === processStart(holder.pid);

/** Returns true if the heartbeat is recent, by the clock of the file system, since the clocks of two machines may differ. */
function isBeating(folder: string): boolean {
  const beat = statSync(join(folder, BEAT), { throwIfNoEntry: false });
  if (beat === undefined) return false;
  const probe = join(folder, `${BEAT}.${process.pid}-lock`);
  writeFileSync(probe, '.', { mode: PRIVATE_FILE });
  const now = statSync(probe).mtimeMs;
  rmSync(probe, { force: true });
  return now - beat.mtimeMs < BEAT_AGE_MS_MAX;
}

/**
 * The disk of a simulated machine. It lies between the program and two ports: the file system, and the library of the LMDB stores, which
 * bypasses any virtual file system. Everything below its root happens at once and in the order of the calls, so that a seed takes the same
 * course each time.
 *
 * The files are real ones. A life is one folder: it ends at a step (a commit, a write, a flush, a rename) that its fuse names. The next
 * start finds a copy of the folder at that instant, without the data that was not flushed. The copy is the state that a killed process
 * leaves, because a commit runs within one turn of this thread and no other thread writes. The ended life goes no further: its writes wait
 * for ever, and so does everything that waits for them.
 */
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';

// The real file system, not the double that the program gets.
const fs: typeof import('node:fs') = createRequire(import.meta.url)('node:fs');

const PAGE_BYTES = 4_096;
const META_PAGES = 2;
/** Above the highest number that Linux gives a process: locks of an ended life name a process that is gone. */
const DEAD_PID = 4_194_305;
/** Creates a new promise each time: a shared one would keep everything that waits for it in memory, and with it every ended life. */
const never = (): Promise<never> => new Promise(() => {});

/** The process has ended. Thrown through the calls that were running. */
export class Killed extends Error {}

/** A rename or a new name in a folder that was not flushed since. */
type NameChange =
  | { readonly kind: 'created'; readonly path: string }
  | {
      readonly kind: 'renamed';
      readonly from: string;
      readonly to: string;
      readonly replaced: Buffer | null;
    };

export interface Faults {
  /** `commits`: a full disk is detected when a commit writes its pages; `pages`: within the transaction, as with a map that cannot grow. */
  full: 'no' | 'commits' | 'pages';
  /** The longest time by which a commit, and its report, are delayed; 0 for a fast disk. */
  heldMs: number;
}

/** One process of the program, and its folder. */
export interface Life {
  readonly folder: string;
  readonly faults: Faults;
  /** Steps until it is killed; null for a life that goes on. */
  fuse: number | null;
  /** Renames until the one after which it is killed: only a few of hundreds of steps put unflushed names at risk. */
  renames: number | null;
  /** Steps so far. */
  steps: number;
  isDead: boolean;
  /** Whether it ever had a full disk. */
  hadFullDisk: boolean;
  /** The folder of the next start, once this life has ended. */
  left: string | null;
  /** All stores that it opened: they are closed with it at the latest. */
  readonly roots: Set<Root>;
  readonly closing: Promise<void>[];
  /** Releases the state that this thread holds for its process, once that was killed. */
  forget: () => void;
  /** The flushed length of files in bytes, by path; a file that is not listed is flushed completely. */
  readonly unflushed: Map<string, number>;
  readonly names: Map<string, NameChange[]>;
  /** The bytes that replace those of a store's file, because its last commit was not flushed. */
  readonly torn: Map<string, Buffer>;
  readonly below: (count: number) => number;
}

type Method = (this: unknown, ...parameters: never[]) => unknown;

/** A root of the library, with the methods of its class. */
export interface Root {
  close(): Promise<void>;
  transactionSync(work: () => unknown, flags?: number): unknown;
  childTransaction(work: () => unknown): unknown;
}

const lives = new Map<string, Life>();
let root = '\0';
let folders = 0;

/** Sets the folder below which the machine has its disk. */
export function mountDisk(path: string): void {
  root = path;
}

export function beginLife(folder: string, below: (count: number) => number): Life {
  const life: Life = {
    folder,
    faults: { full: 'no', heldMs: 0 },
    fuse: null,
    renames: null,
    steps: 0,
    isDead: false,
    hadFullDisk: false,
    left: null,
    roots: new Set(),
    closing: [],
    forget: () => {},
    unflushed: new Map(),
    names: new Map(),
    torn: new Map(),
    below,
  };
  lives.set(folder, life);
  return life;
}

export const freshFolder = (): string => join(root, String(folders++));

/** Resolves when the library has closed all that was closed in a life. */
export async function closed(life: Life): Promise<void> {
  await Promise.all(life.closing.splice(0));
}

/**
 * Closes the stores of an ended life, and removes its files. Its open files stay open until their memory is collected: an aborted call
 * closes its file by number, and must not find a file of another life there.
 */
export async function buryLife(life: Life): Promise<void> {
  lives.delete(life.folder);
  life.isDead = true;
  fs.rmSync(life.folder, { recursive: true, force: true });
  for (const opened of [...life.roots]) await opened.close();
  await closed(life);
}

function lifeOf(path: unknown): Life | null {
  if (typeof path !== 'string' || !path.startsWith(root)) return null;
  const end = path.indexOf('/', root.length + 1);
  return lives.get(end < 0 ? path : path.slice(0, end)) ?? null;
}

/** Whether the fuse ends at this step. */
function burns(life: Life): boolean {
  if (life.isDead) throw new Killed();
  life.steps++;
  return life.fuse !== null && --life.fuse < 0;
}

/** Takes a step of a life, and ends the life if the fuse says so. */
function step(life: Life): void {
  if (!burns(life)) return;
  kill(life);
  throw new Killed();
}

/** Ends a life between two steps, with the state that the disk has. */
export function kill(life: Life): void {
  if (life.isDead) return;
  life.isDead = true;
  const left = freshFolder();
  copyFolder(life, life.folder, left);
  undoNames(life, left);
  life.left = left;
}

const asDead = (text: string): string => text.replaceAll(String(process.pid), String(DEAD_PID));

function copyFolder(life: Life, from: string, to: string): void {
  fs.mkdirSync(to);
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const path = join(from, entry.name);
    const isLock = /^(?:LOCK|build\.lock|opening-\d+)$/.test(entry.name) || basename(from) === 'leases';
    const target = join(to, isLock ? asDead(entry.name) : entry.name);
    if (entry.isDirectory()) copyFolder(life, path, target);
    else if (isLock) fs.writeFileSync(target, asDead(fs.readFileSync(path, 'utf8')));
    else if (life.torn.has(path)) fs.writeFileSync(target, life.torn.get(path) as Buffer);
    else if (life.unflushed.has(path)) fs.writeFileSync(target, cutShort(life, path));
    else fs.copyFileSync(path, target);
  }
}

/** Returns a file that was not flushed, up to some byte after the flushed part. */
function cutShort(life: Life, path: string): Buffer {
  const bytes = fs.readFileSync(path);
  const flushed = Math.min(life.unflushed.get(path) ?? 0, bytes.length);
  return bytes.subarray(0, flushed + life.below(bytes.length - flushed + 1));
}

/**
 * Reverts some of the names of each folder that was not flushed since: the newest of them, as file systems with a journal do; or any of
 * them, or a single one, as other file systems may.
 */
function undoNames(life: Life, left: string): void {
  const there = (path: string): string => join(left, path.slice(life.folder.length));
  for (const changes of life.names.values()) {
    const kind = life.below(3);
    const one = life.below(changes.length);
    for (let count = kind === 0 ? life.below(changes.length + 1) : changes.length; count > 0; count--) {
      const change = changes.pop() as NameChange;
      if (kind === 1 && life.below(2) === 0) continue;
      if (kind === 2 && changes.length !== one) continue;
      if (change.kind === 'created') fs.rmSync(there(change.path), { force: true });
      else if (fs.existsSync(there(change.to)) && fs.existsSync(dirname(there(change.from)))) {
        fs.renameSync(there(change.to), there(change.from));
        if (change.replaced !== null) fs.writeFileSync(there(change.to), change.replaced);
      }
    }
  }
}

const noteName = (life: Life, path: string, change: NameChange): void => {
  // The library creates the store beside a lock past this port, so that only the lock could get lost. If it did, a start on a full disk
  // would rightly be refused.
  if (path.endsWith('-lock')) return;
  const folder = dirname(path);
  const changes = life.names.get(folder) ?? [];
  changes.push(change);
  life.names.set(folder, changes);
};

// The port of the stores.

const isDiskFull = ({ faults }: Life): boolean => faults.full !== 'no';

const libraryError = (message: string, code: number): Error => Object.assign(new Error(message), { code });
const mapFull = (): Error => libraryError('MDB_MAP_FULL: Environment mapsize limit reached', -30_792);
const badTransaction = (): Error => libraryError('MDB_BAD_TXN: Transaction must abort', -30_782);
const noSpace = (): Error => libraryError('No space left on device', 28);

/** Rejects a commit as the library does: the real cause is a promise attached to a general error. */
function refusedCommit(cause: Error): Error {
  const commitError = Promise.reject(cause);
  commitError.catch(() => {});
  return Object.assign(new Error('Commit failed (see commitError for details)'), { commitError });
}

interface Write {
  readonly work: () => unknown;
  readonly asChild: boolean;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  outcome: { readonly result: unknown } | { readonly error: unknown } | null;
}

const ABORTED = Symbol('aborted');

/** Returns the file of a store after a commit without a complete flush: any of its new pages, and the header that names the old ones. */
function tear(life: Life, before: Buffer, after: Buffer): Buffer {
  const torn = Buffer.alloc(life.below(2) === 0 ? Math.max(before.length, after.length) : before.length);
  before.copy(torn);
  for (let at = META_PAGES * PAGE_BYTES; at < torn.length; at += PAGE_BYTES) {
    if (life.below(2) === 0) after.copy(torn, at, at, at + PAGE_BYTES);
  }
  return torn;
}

/** Adds the faults of a life to a store. Runs before the program's own guard. */
function attach(opened: Root, path: string, life: Life, isFlushed: boolean, abort: unknown): void {
  const methods = Object.getPrototypeOf(opened) as Record<string, Method>;
  const { transactionSync, put, remove } = methods as Record<string, Method>;
  const realClose = opened.close.bind(opened);
  const queue: Write[] = [];
  let working: Promise<void> | null = null;
  let isInside = false;
  let hasWritten = false;
  let hasRefused = false;
  life.roots.add(opened);

  /** A transaction that the disk accepts or refuses, or in which the life ends. */
  function commit(work: () => unknown, flags?: number): unknown {
    const isLast = burns(life);
    const phase = isLast ? life.below(3) : null;
    if (phase === 0) {
      kill(life);
      throw new Killed();
    }
    const before = phase === 1 && isFlushed ? fs.readFileSync(path) : null;
    const isFull = isDiskFull(life);
    isInside = true;
    hasWritten = false;
    hasRefused = false;
    let result: unknown;
    try {
      const inside = (): unknown => {
        result = work();
        // A transaction that changes nothing needs no room.
        if (!isFull || !hasWritten) return result;
        result = ABORTED;
        return abort;
      };
      (transactionSync as (this: unknown, work: () => unknown, flags?: number) => unknown).call(
        opened,
        inside,
        isFull ? 3 : flags,
      );
    } finally {
      isInside = false;
    }
    if (!isFlushed) life.unflushed.set(path, life.unflushed.get(path) ?? 0);
    if (isLast) {
      if (before !== null) life.torn.set(path, tear(life, before, fs.readFileSync(path)));
      kill(life);
      throw new Killed();
    }
    if (result !== ABORTED) return result;
    throw hasRefused ? badTransaction() : noSpace();
  }

  const held = (): Promise<void> | null => {
    const { heldMs } = life.faults;
    if (heldMs === 0) return null;
    return new Promise((resolve) => setTimeout(resolve, life.below(heldMs)));
  };

  function runAll(batch: readonly Write[]): void {
    for (const write of batch) {
      try {
        write.outcome = { result: write.asChild ? opened.childTransaction(write.work) : write.work() };
      } catch (error) {
        // As in the library: the writes of a plain transaction before it threw stay, those of a child transaction do not.
        write.outcome = { error };
      }
    }
  }

  async function drain(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (queue.length > 0) {
      await held();
      const batch = queue.splice(0);
      let failure: Error | null = null;
      try {
        commit(() => runAll(batch));
      } catch (error) {
        if (error instanceof Killed) return never();
        failure = refusedCommit(error as Error);
      }
      await held();
      if (life.isDead) return never();
      for (const { outcome, resolve, reject } of batch) {
        if (failure !== null) reject(failure);
        else if (outcome !== null && 'error' in outcome) reject(outcome.error);
        else resolve(outcome?.result);
      }
      // The callbacks of these writes fill the next batch.
      await new Promise((resolve) => setImmediate(resolve));
    }
    working = null;
  }

  methods.transactionAsync = function transactionAsync(work: () => unknown, asChild = false): unknown {
    if (life.isDead) return never();
    return new Promise((resolve, reject) => {
      queue.push({ work, asChild, resolve, reject, outcome: null });
      working ??= drain();
    });
  } as Method;

  methods.transactionSync = function guardedTransaction(
    this: Root,
    work: () => unknown,
    flags?: number,
  ): unknown {
    // Inside another transaction, it is a part of that one.
    if (isInside)
      return (transactionSync as (this: unknown, work: () => unknown, flags?: number) => unknown).call(
        this,
        work,
        flags,
      );
    return commit(work, flags);
  } as Method;

  const refusing = (write: Method): Method =>
    function refusingWrite(this: unknown, ...parameters: never[]) {
      hasWritten = true;
      if (isInside && life.faults.full === 'pages') {
        hasRefused = true;
        throw mapFull();
      }
      return write.apply(this, parameters);
    };
  methods.put = refusing(put as Method);
  methods.remove = refusing(remove as Method);

  opened.close = async () => {
    if (!life.isDead) await working;
    life.roots.delete(opened);
    // It takes real time, which no seed controls: `closed` waits for it while the virtual clock does not move.
    life.closing.push(realClose());
  };
}

interface Library {
  readonly ABORT: unknown;
  readonly open: (options: { path: string; readOnly?: boolean; noSync?: boolean }) => Root;
}

/** Wraps the library of the stores to use this disk. */
export function libraryOver<T>(real: T): T {
  const library = real as Library;
  return {
    ...real,
    open(options: Parameters<Library['open']>[0]): Root {
      const life = lifeOf(options.path);
      if (life === null) return library.open(options);
      if (options.readOnly) {
        const opened = library.open(options);
        life.roots.add(opened);
        return opened;
      }
      const isNew = !fs.existsSync(options.path);
      if (isNew) {
        step(life);
        if (isDiskFull(life)) throw noSpace();
      } else if (life.isDead) throw new Killed();
      const opened = library.open(options);
      if (isNew && options.noSync === true) {
        life.unflushed.set(options.path, 0);
        noteName(life, options.path, { kind: 'created', path: options.path });
      }
      attach(opened, options.path, life, options.noSync !== true, library.ABORT);
      return opened;
    },
  };
}

// The port of the file system.

interface OpenFile {
  readonly life: Life;
  /** Its current name. */
  path: string;
  readonly isFolder: boolean;
}
const openFiles = new Map<number, OpenFile>();

function fsError(code: 'ENOSPC', call: string, path: string): Error {
  return Object.assign(new Error(`${code}: no space left on device, ${call} '${path}'`), {
    code,
    errno: -28,
    syscall: call,
    path,
  });
}

/** A step that needs room. */
function writeStep(life: Life, call: string, path: string): void {
  step(life);
  if (isDiskFull(life)) throw fsError('ENOSPC', call, path);
}

const isWriting = (flags: unknown): boolean => typeof flags === 'string' && /[wa+]/.test(flags);

function openSync(path: string, flags: string | number = 'r', mode?: number): number {
  const life = lifeOf(path);
  if (life === null) return fs.openSync(path, flags, mode);
  const writes = isWriting(flags);
  const isNew = writes && !fs.existsSync(path);
  const isEmptied = isNew || (writes && String(flags).startsWith('w'));
  // A name and an empty file fit on a full disk; folders and bytes do not.
  if (isEmptied) step(life);
  else if (life.isDead) throw new Killed();
  const file = fs.openSync(path, flags, mode);
  const isFolder = !writes && fs.fstatSync(file).isDirectory();
  openFiles.set(file, { life, path, isFolder });
  if (isNew) noteName(life, path, { kind: 'created', path });
  if (isEmptied) life.unflushed.set(path, 0);
  return file;
}

function closeSync(file: number): void {
  openFiles.delete(file);
  fs.closeSync(file);
}

function writeSync(file: number, ...rest: unknown[]): number {
  const open = openFiles.get(file);
  if (open !== undefined) {
    const { path } = open;
    const flushed = open.life.unflushed.get(path) ?? fs.fstatSync(file).size;
    writeStep(open.life, 'write', path);
    open.life.unflushed.set(path, flushed);
  }
  return (fs.writeSync as (file: number, ...rest: unknown[]) => number)(file, ...rest);
}

function fsyncSync(file: number): void {
  const open = openFiles.get(file);
  if (open === undefined) {
    fs.fsyncSync(file);
    return;
  }
  step(open.life);
  if (open.isFolder) open.life.names.delete(open.path);
  else open.life.unflushed.delete(open.path);
}

/** Moves the recorded state of a path, and of all paths below it, to another path. */
function moveKnown(life: Life, from: string, to: string): void {
  for (const known of [life.unflushed, life.names, life.torn] as Map<string, unknown>[])
    for (const [path, value] of [...known]) {
      if (path === to || path.startsWith(`${to}/`)) known.delete(path);
      if (path !== from && !path.startsWith(`${from}/`)) continue;
      known.delete(path);
      known.set(to + path.slice(from.length), value);
    }
}

function renameSync(from: string, to: string): void {
  const life = lifeOf(from);
  if (life === null) {
    fs.renameSync(from, to);
    return;
  }
  step(life);
  const isFile = fs.statSync(to, { throwIfNoEntry: false })?.isFile() === true;
  const replaced = isFile ? fs.readFileSync(to) : null;
  fs.renameSync(from, to);
  moveKnown(life, from, to);
  for (const open of openFiles.values())
    if (open.path === from || open.path.startsWith(`${from}/`)) open.path = to + open.path.slice(from.length);
  noteName(life, to, { kind: 'renamed', from, to, replaced });
  if (life.renames !== null && --life.renames < 0) life.fuse = 0;
}

function writeFileSync(path: string, data: string | Uint8Array, options?: object): void {
  const life = lifeOf(path);
  if (life === null) {
    fs.writeFileSync(path, data, options);
    return;
  }
  step(life);
  if (!fs.existsSync(path)) noteName(life, path, { kind: 'created', path });
  fs.writeFileSync(path, isDiskFull(life) ? '' : data, options);
  life.unflushed.set(path, 0);
  if (isDiskFull(life)) throw fsError('ENOSPC', 'write', path);
}

function linkSync(from: string, to: string): void {
  const life = lifeOf(from);
  if (life === null) {
    fs.linkSync(from, to);
    return;
  }
  step(life);
  fs.linkSync(from, to);
  noteName(life, to, { kind: 'created', path: to });
}

function mkdirSync(path: string, options?: object): string | undefined {
  const life = lifeOf(path);
  if (life !== null && !fs.existsSync(path)) writeStep(life, 'mkdir', path);
  return fs.mkdirSync(path, options) as string | undefined;
}

function rmSync(path: string, options?: object): void {
  const life = lifeOf(path);
  if (life !== null) {
    for (const known of [life.unflushed, life.names] as Map<string, unknown>[])
      for (const name of [...known.keys()])
        if (name === path || name.startsWith(`${path}/`)) known.delete(name);
    // A removed name has no creation or rename to revert.
    for (const [folder, changes] of life.names)
      life.names.set(
        folder,
        changes.filter((change) => (change.kind === 'created' ? change.path : change.to) !== path),
      );
  }
  fs.rmSync(path, options);
}

/** No other process runs on the machine. */
const readdirSync = ((path: string, ...rest: unknown[]) =>
  path === '/proc'
    ? []
    : (fs.readdirSync as (...all: unknown[]) => unknown)(path, ...rest)) as typeof fs.readdirSync;

const replacedSync = {
  openSync,
  closeSync,
  writeSync,
  fsyncSync,
  fdatasyncSync: fsyncSync,
  renameSync,
  writeFileSync,
  linkSync,
  mkdirSync,
  rmSync,
  readdirSync,
};

/** Runs at once. If the life has ended, it never resolves. */
async function atOnce<T>(work: () => T): Promise<T> {
  try {
    return work();
  } catch (error) {
    if (error instanceof Killed) return never();
    throw error;
  }
}

function handleOf(file: number, path: string): object {
  let isOpen = true;
  const close = (): Promise<void> =>
    atOnce(() => {
      if (isOpen) closeSync(file);
      isOpen = false;
    });
  return {
    fd: file,
    write: (bytes: Uint8Array, offset?: number, length?: number, position?: number) =>
      atOnce(() => ({
        bytesWritten: writeSync(file, bytes, offset ?? 0, length ?? bytes.length, position ?? null),
      })),
    writeFile: (bytes: Uint8Array) => atOnce(() => void writeSync(file, bytes, 0, bytes.length, null)),
    read: (bytes: Uint8Array, offset: number, length: number, position: number | null) =>
      atOnce(() => ({ bytesRead: fs.readSync(file, bytes, offset, length, position), buffer: bytes })),
    stat: () => atOnce(() => fs.fstatSync(file)),
    sync: () => atOnce(() => fsyncSync(file)),
    datasync: () => atOnce(() => fsyncSync(file)),
    close,
    createReadStream() {
      const stream = Readable.from([fs.readFileSync(path)]);
      stream.once('close', () => void close());
      return stream;
    },
  };
}

function flushPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

const { promises } = fs;
const here = <T>(path: unknown, inside: () => T, outside: () => Promise<T>): Promise<T> =>
  lifeOf(path) === null ? outside() : atOnce(inside);

const replacedPromises = {
  open: (path: string, flags?: string, mode?: number) =>
    here<unknown>(
      path,
      () => handleOf(openSync(path, flags, mode), path),
      () => promises.open(path, flags, mode),
    ),
  mkdir: (path: string, options?: object) =>
    here(
      path,
      () => mkdirSync(path, options),
      () => promises.mkdir(path, options) as Promise<string | undefined>,
    ),
  rm: (path: string, options?: object) =>
    here(
      path,
      () => rmSync(path, options),
      () => promises.rm(path, options),
    ),
  rename: (from: string, to: string) =>
    here(
      from,
      () => renameSync(from, to),
      () => promises.rename(from, to),
    ),
  readFile: (path: string, options?: BufferEncoding) =>
    here<string | Buffer>(
      path,
      () => fs.readFileSync(path, options),
      () => promises.readFile(path, options),
    ),
  writeFile: (path: string, data: string | Uint8Array, options?: { readonly flush?: boolean }) =>
    here(
      path,
      () => {
        writeFileSync(path, data);
        if (options?.flush === true) flushPath(path);
      },
      () => promises.writeFile(path, data, options),
    ),
  link: (from: string, to: string) =>
    here(
      from,
      () => linkSync(from, to),
      () => promises.link(from, to),
    ),
  readdir: (path: string) =>
    here(
      path,
      () => fs.readdirSync(path),
      () => promises.readdir(path),
    ),
  stat: (path: string) =>
    here(
      path,
      () => fs.statSync(path),
      () => promises.stat(path),
    ),
};

const onDisk = { ...promises, ...replacedPromises };
/** `node:fs/promises` over this disk. */
export const diskPromises = { ...onDisk, default: onDisk };

const onDiskSync = { ...fs, ...replacedSync, promises: onDisk };
/** `node:fs` over this disk. */
export const diskFs = { ...onDiskSync, default: onDiskSync };

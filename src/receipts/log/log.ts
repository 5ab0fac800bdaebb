/**
 * The transparency log of receipts: entries are appended in groups, durably, and covered by a signed checkpoint within a second. It
 * serves the tiles of the published checkpoint alone: the last one, or with witnesses the last one that they were asked to sign.
 */
import { type Clock, isoTime } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { inclusionParts, type MerkleFrontier } from '../../base/merkle.ts';
import type { Random } from '../../base/random.ts';
import { sleep } from '../../base/retry.ts';
import type { Encryption } from '../../state/encryption.ts';
import { decrypts } from '../../state/key-trial.ts';
import { auditCheckpoints, type Finding } from './audit.ts';
import { type Checkpoint, checkpointText, parseCheckpoint } from './checkpoint.ts';
import { restoreNewer, tilesOf } from './continuity.ts';
import { LOG_LIMITS } from './limits.ts';
import {
  formatNote,
  isKeyName,
  type NoteSigner,
  type NoteVerifier,
  newNoteKey,
  noteSigner,
  parseVkey,
} from './note.ts';
import { formatProof } from './proof.ts';
import type { LogEntry, LogIdentity, LogStore } from './store.ts';
import { type TileName, TileTree, widthAt } from './tiles.ts';

/** An entry that is durable in the log. */
export interface LoggedEntry {
  readonly id: string;
  /** Position in the log, from 0. It never changes. */
  readonly index: number;
}

/** Why a log appends and signs nothing. */
export interface LogProblem {
  /** One sentence, for operators. */
  readonly reason: string;
  /** ISO 8601 time at which it was found. */
  readonly since: string;
}

/** The transparency log, as issuers of receipts and the HTTP server use it. */
export interface ReceiptLog {
  /** Key with which its checkpoints are verified; its name is the origin of the log. */
  readonly verifier: NoteVerifier;
  /**
   * Appends the hashes of receipts. A receipt that is in the log already is not appended again.
   *
   * @returns once the entries are durable; a checkpoint covers them within a second
   * @throws STORAGE_FULL, NOT_READY, OVERLOADED, and INVALID_REQUEST if an id was appended with another hash
   */
  append(entries: readonly LogEntry[]): Promise<readonly LoggedEntry[]>;
  /** Returns the published checkpoint as text. */
  checkpoint(): string;
  /** Returns a tile or an entry bundle of the published checkpoint; null if it has none of this name. */
  tile(name: TileName): Buffer | null;
  /**
   * Returns the proof of a receipt as the text of a `.tlog-proof`; null if the log does not have the receipt.
   *
   * @throws NOT_FOUND if the published checkpoint does not cover the receipt yet
   */
  proof(id: string): Promise<string | null>;
  /** Returns why the log appends and signs nothing; null if it does. */
  problem(): LogProblem | null;
  /** Whether entries that Redis lost are being restored: the last checkpoint may then be an earlier one than others know. */
  isRestoring(): boolean;
  /**
   * Compares an older checkpoint with the last one that was signed, which may be newer than the published one.
   *
   * @throws INVALID_FILE if it is of another log, NOT_READY while entries that Redis lost are being restored
   */
  audit(older: Checkpoint): Promise<Finding>;
  /**
   * Stops the log until the next start, because others know a later state of it: every entry and checkpoint from here on would be a fork.
   *
   * @param reason one sentence, for operators: `append`, `checkpoint` and `proof` then fail with it and NOT_READY
   */
  halt(reason: string): void;
  close(): Promise<void>;
}

export interface ReceiptLogOptions {
  /** Origin of a log that is created; of an existing one, checked if it is not null. */
  readonly origin: string | null;
  /** Origin of a log that is created while `origin` is null. */
  readonly fallbackOrigin: string;
  /** Whether witnesses sign checkpoints: only those they were asked for are published. */
  readonly isWitnessed: boolean;
  /** Milliseconds after which an appended entry is covered by a checkpoint at the latest. Default: LOG_LIMITS.checkpointMs. */
  readonly checkpointMs?: number;
  /** Milliseconds that other nodes get to append entries that Redis lost. Default: LOG_LIMITS.othersRestoreMs. */
  readonly othersRestoreMs?: number;
}

export interface ReceiptLogDeps {
  readonly store: LogStore;
  /** Opened when the log is. */
  readonly encryption: () => Encryption;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Purpose of the encrypted key. */
const KEY_CONTEXT = 'key of the transparency log';

/** A damaged text looks like one of another key. */
const FOREIGN_KEY =
  'The installation.key of this node differs from the one with which the key of the transparency log is encrypted. Copy it from another node or a backup, and restart.';

/** Entries of one caller that wait for a transaction. */
interface Waiting {
  readonly entries: readonly LogEntry[];
  readonly resolve: (logged: readonly LoggedEntry[]) => void;
  readonly reject: (error: unknown) => void;
}

function signedCheckpoint(signer: NoteSigner, frontier: MerkleFrontier): string {
  const text = checkpointText(signer.name, { size: frontier.size, root: frontier.root() });
  return formatNote({ text, signatures: [signer.sign(text)] });
}

/**
 * Opens the log, and creates its identity and its key at the first use. If the key cannot be decrypted on this node, the log serves what it
 * has, and appends and signs nothing.
 *
 * @throws INVALID_CONFIG if the log has another origin than `origin`; STORAGE_FULL, NOT_READY
 */
export async function openReceiptLog(options: ReceiptLogOptions, deps: ReceiptLogDeps): Promise<ReceiptLog> {
  const known = deps.store.identity() ?? (await create(options, deps));
  if (options.origin !== null && options.origin !== known.origin)
    throw new AssayError(
      'INVALID_CONFIG',
      `ASSAY_LOG_ORIGIN: the log of this installation has the origin ${known.origin}, which cannot change (got '${options.origin}').`,
      { field: 'ASSAY_LOG_ORIGIN' },
    );
  const opened = new StoredLog(options, deps, known, signerOf(known, deps.encryption));
  await Promise.race([opened.restored(), sleep(LOG_LIMITS.auditStartMs, undefined, { unref: true })]);
  return opened;
}

/** Returns the signer of a log, or why this node has none. */
function signerOf({ origin, encryptedKey }: LogIdentity, encryption: () => Encryption): NoteSigner | string {
  let opened: Encryption;
  try {
    opened = encryption();
  } catch (error) {
    // The file of the key is damaged.
    return messageOf(error);
  }
  if (!decrypts(opened, encryptedKey, KEY_CONTEXT)) return FOREIGN_KEY;
  return noteSigner(origin, opened.decrypt(encryptedKey, KEY_CONTEXT));
}

async function create(
  { origin, fallbackOrigin }: ReceiptLogOptions,
  { store, encryption, clock, random }: ReceiptLogDeps,
) {
  const lost = lostIdentity(store);
  if (lost !== null) {
    const own = signerOf(lost, encryption);
    if (typeof own === 'string') throw new AssayError('NOT_READY', own);
    return store.found(lost, (frontier) => signedCheckpoint(own, frontier));
  }
  const name = origin ?? fallbackOrigin;
  if (!isKeyName(name)) throw new Error(`'${name}' cannot be the origin of a log.`);
  const key = newNoteKey(random);
  const signer = noteSigner(name, key);
  const identity = {
    origin: name,
    vkey: signer.verifier.vkey,
    encryptedKey: encryption().encrypt(key, KEY_CONTEXT),
    createdAtMs: clock.now(),
  };
  return store.found(identity, (frontier) => signedCheckpoint(signer, frontier));
}

/** Returns the identity of a log that Redis has lost as a whole; null if there was none. */
function lostIdentity(store: LogStore): LogIdentity | null {
  let lost: LogIdentity | null = null;
  for (const newer of store.newer()) {
    lost = newer.identity() ?? lost;
    void newer.close();
  }
  return lost;
}

class StoredLog implements ReceiptLog {
  readonly verifier: NoteVerifier;
  readonly #identity: LogIdentity;
  readonly #store: LogStore;
  /** Null on a node that does not have the key. */
  readonly #signer: NoteSigner | null;
  #problem: LogProblem | null = null;
  #isHalted = false;
  readonly #isWitnessed: boolean;
  readonly #checkpointMs: number;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #waiting: Waiting[] = [];
  #waitingEntries = 0;
  /** Commits the waiting entries, group after group; null while none wait. */
  #running: Promise<void> | null = null;
  /** When this node last signed a checkpoint, by the monotonic clock. */
  #signedAtMs: number;
  readonly #othersRestoreMs: number;
  readonly #closed = new AbortController();
  /** Compares the log with its states that Redis has lost; null if that is done. Nothing is appended, signed or served meanwhile. */
  #restoring: Promise<void> | null = null;
  /** Number of copies that replaced the log. */
  #copies = 0;
  /** True if other nodes may have more entries that Redis lost. */
  #mustWait = false;
  #restoreProblem: string | null = null;
  /** The last checkpoint of the log that this node has seen. */
  #seen: string | null = null;
  readonly #timer: NodeJS.Timeout;
  #signing: Promise<void> | null = null;
  #isClosed = false;
  /** The published checkpoint as it was parsed last. */
  #parsed: { readonly text: string; readonly checkpoint: Checkpoint } | null = null;

  constructor(
    {
      isWitnessed,
      checkpointMs = LOG_LIMITS.checkpointMs,
      othersRestoreMs = LOG_LIMITS.othersRestoreMs,
    }: ReceiptLogOptions,
    { store, clock, log }: ReceiptLogDeps,
    identity: LogIdentity,
    signer: NoteSigner | string,
  ) {
    this.verifier = parseVkey(identity.vkey, 'vkey', 'log');
    this.#identity = identity;
    this.#store = store;
    this.#othersRestoreMs = othersRestoreMs;
    this.#signer = typeof signer === 'string' ? null : signer;
    this.#isWitnessed = isWitnessed;
    this.#checkpointMs = checkpointMs;
    this.#clock = clock;
    this.#log = log;
    this.#signedAtMs = clock.monotonic();
    this.#timer = setInterval(
      () => {
        this.#signing ??= this.#signRest().finally(() => {
          this.#signing = null;
        });
      },
      Math.max(1, checkpointMs),
    );
    this.#timer.unref();
    if (typeof signer === 'string') this.#stop(signer);
    store.onCopied((hasLost) => {
      this.#copies += 1;
      this.#mustWait ||= hasLost;
      this.#restore();
    });
    this.#restore();
  }

  problem(): LogProblem | null {
    return this.#problem;
  }

  isRestoring(): boolean {
    return this.#restoring !== null;
  }

  async audit(older: Checkpoint): Promise<Finding> {
    if (this.isRestoring()) throw restoring();
    this.#store.refresh();
    const text = this.#store.checkpoint();
    if (text === null) throw noCheckpoint();
    return auditCheckpoints(older, parseCheckpoint(text), tilesOf(this.#store));
  }

  halt(reason: string): void {
    if (this.#isHalted) return;
    this.#isHalted = true;
    this.#stop(reason);
  }

  #requireNotHalted(): void {
    if (this.#isHalted || this.#restoring !== null) this.#requireSigner();
  }

  /** Begins to compare the log with its states that Redis has lost, unless that is running: it then compares again. */
  #restore(): void {
    this.#restoring ??= this.#restoreUntilDone().finally(() => {
      this.#restoring = null;
    });
  }

  /** Resolves when the log was compared with its states that Redis has lost. Never rejects. */
  async restored(): Promise<void> {
    await this.#restoring;
  }

  async #restoreUntilDone(): Promise<void> {
    const { signal } = this.#closed;
    while (!this.#isHalted && !signal.aborted) {
      const copies = this.#copies;
      try {
        if ((await this.#restoreOnce()) > 0) this.#mustWait = true;
        this.#restoreProblem = null;
        if (copies !== this.#copies) continue;
        if (!this.#mustWait) return await this.#signRestored();
        this.#mustWait = false;
        await sleep(this.#othersRestoreMs, signal);
      } catch (error) {
        const problem = messageOf(error);
        if (problem !== this.#restoreProblem)
          this.#log.warn({ error: problem }, 'transparency log not compared with its states that Redis lost');
        this.#restoreProblem = problem;
        await sleep(LOG_LIMITS.restoreAgainMs, signal);
      }
    }
  }

  /** Signs before anything is served: a reader that saw a later checkpoint would find that the log has fewer entries than before. */
  async #signRestored(): Promise<void> {
    const signer = this.#signer;
    if (signer === null || this.#isHalted || this.#store.unsigned() === 0) return;
    await this.#store.sign((frontier) => signedCheckpoint(signer, frontier));
  }

  /** Returns the number of entries that were appended. */
  async #restoreOnce(): Promise<number> {
    const store = this.#store;
    store.refresh();
    if (this.#signer !== null && store.identity() === null)
      await store.found(this.#identity, (frontier) => signedCheckpoint(this.#signer as NoteSigner, frontier));
    const { vkey } = this.#identity;
    if (store.identity()?.vkey !== vkey) {
      this.halt('Redis has another transparency log than this node served before. Restart this node.');
      return 0;
    }
    const { restored, fork } = await restoreNewer(store, { vkey, seen: this.#seen });
    if (restored > 0)
      this.#log.warn(
        { entries: restored, size: store.size() },
        'entries that Redis lost are in the transparency log again',
      );
    if (fork !== null)
      this.halt(
        `Redis went back to an earlier state of the transparency log, and other entries were appended since: ${fork}.`,
      );
    return restored;
  }

  #stop(reason: string): void {
    this.#problem = { reason, since: isoTime(this.#clock.now()) };
    this.#log.error({ reason }, 'the transparency log appends and signs nothing');
  }

  /** Returns the signer. Throws NOT_READY if the log signs nothing. */
  #requireSigner(): NoteSigner {
    if (this.#restoring !== null && !this.#isHalted) throw restoring();
    if (this.#signer === null || this.#problem !== null)
      throw new AssayError('NOT_READY', this.#problem?.reason ?? FOREIGN_KEY);
    return this.#signer;
  }

  #sign(frontier: MerkleFrontier): string {
    return signedCheckpoint(this.#requireSigner(), frontier);
  }

  append(entries: readonly LogEntry[]): Promise<readonly LoggedEntry[]> {
    if (this.#isClosed) throw new AssayError('NOT_READY', 'The transparency log is closed.');
    if (this.#waitingEntries + entries.length > LOG_LIMITS.waitingEntriesMax)
      throw new AssayError('OVERLOADED', 'Too many receipts wait for the transparency log.', {
        retryAfterSeconds: 1,
      });
    this.#waitingEntries += entries.length;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entries, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    // Callers of the same turn of the event loop share a transaction.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#commit(this.#nextGroup());
    this.#running = null;
  }

  #nextGroup(): readonly Waiting[] {
    let count = 0;
    let end = 0;
    for (const { entries } of this.#waiting) {
      if (end > 0 && count + entries.length > LOG_LIMITS.batchEntries) break;
      count += entries.length;
      end += 1;
    }
    return this.#waiting.splice(0, end);
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const entries = group.flatMap((one) => one.entries);
    let hasSigned = false;
    const sign = (frontier: MerkleFrontier): string => {
      hasSigned = true;
      return this.#sign(frontier);
    };
    const isLate = this.#clock.monotonic() - this.#signedAtMs >= this.#checkpointMs;
    const isDue = (signed: number, size: number): boolean => {
      // The log may have gone back since this group was formed.
      this.#requireSigner();
      return size > signed && (isLate || size - signed >= LOG_LIMITS.checkpointEntries);
    };
    try {
      this.#requireSigner();
      const indexes = await this.#store.append(entries, sign, isDue);
      if (hasSigned) {
        this.#signedAtMs = this.#clock.monotonic();
        this.#seen = this.#store.checkpoint() ?? this.#seen;
      }
      let at = 0;
      for (const { entries: own, resolve, reject } of group) {
        const places = indexes.slice(at, at + own.length);
        at += own.length;
        const wrong = own.find((_, position) => places[position] === null);
        if (wrong === undefined)
          resolve(own.map(({ id }, position) => ({ id, index: places[position] as number })));
        else reject(otherHash(wrong.id));
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    } finally {
      this.#waitingEntries -= entries.length;
    }
  }

  /** Signs what no checkpoint covers: also entries of a node or process that ended before it signed them. */
  async #signRest(): Promise<void> {
    if (this.#problem !== null || this.#restoring !== null) return;
    try {
      this.#store.refresh();
      this.#seen = this.#store.checkpoint() ?? this.#seen;
      if (this.#store.unsigned() === 0) return;
      this.#signedAtMs = this.#clock.monotonic();
      await this.#store.sign((frontier) => this.#sign(frontier));
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'checkpoint of the transparency log not signed');
    }
  }

  #published(): { readonly text: string; readonly checkpoint: Checkpoint } {
    const store = this.#store;
    const text = (this.#isWitnessed ? store.witnessed() : null) ?? store.checkpoint();
    if (text === null) throw noCheckpoint();
    if (this.#parsed?.text !== text) this.#parsed = { text, checkpoint: parseCheckpoint(text) };
    return this.#parsed;
  }

  checkpoint(): string {
    this.#requireNotHalted();
    this.#store.refresh();
    return this.#published().text;
  }

  tile(name: TileName): Buffer | null {
    this.#store.refresh();
    const { level, index, width } = name;
    const { size } = this.#published().checkpoint;
    return width > widthAt(level, index, size) ? null : this.#store.tile(name);
  }

  async proof(id: string): Promise<string | null> {
    this.#requireNotHalted();
    this.#store.refresh();
    const index = this.#store.indexOf(id);
    if (index === null) return null;
    const { text, checkpoint } = this.#published();
    if (index >= checkpoint.size)
      throw new AssayError(
        'NOT_FOUND',
        'id: the receipt is in the log, and no published checkpoint covers it yet. Repeat the request in a second.',
        { field: 'id' },
      );
    const tree = new TileTree(checkpoint.size, tilesOf(this.#store));
    const hashes = await tree.hashes(inclusionParts(index, checkpoint.size));
    return formatProof({ index, hashes, checkpoint: text, extra: null });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#closed.abort();
    await this.#restoring;
    await this.#running;
    await this.#signing;
    // A reader should not have to wait for the next start.
    await this.#signRest();
  }
}

const restoring = (): AssayError =>
  new AssayError(
    'NOT_READY',
    'Redis went back to an earlier state of the transparency log; its later entries are being restored. Try again.',
    { retryAfterSeconds: 1 },
  );

const noCheckpoint = (): AssayError =>
  new AssayError('STORE_CORRUPT', 'The transparency log has no checkpoint.');

const otherHash = (id: string): AssayError =>
  new AssayError('INVALID_REQUEST', `id: the receipt ${id} is in the log with another hash.`, {
    field: 'id',
  });

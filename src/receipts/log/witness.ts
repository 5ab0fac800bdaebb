/** The client of witnesses (C2SP tlog-witness): sends checkpoints with their consistency proofs, and stores the cosignatures. */
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { consistencyParts } from '../../base/merkle.ts';
import { checkOutboundUrl, createOutboundAgent, type OutboundPolicy } from '../../base/outbound.ts';
import { undici } from '../../base/undici.ts';
import { bodyUpTo } from '../../replication/http/source.ts';
import { type Checkpoint, parseCheckpoint } from './checkpoint.ts';
import { tilesOf } from './continuity.ts';
import { LOG_LIMITS } from './limits.ts';
import { formatNote, fromDecimal, type NoteSignature, type NoteVerifier, parseSignatures } from './note.ts';
import type { LogStore } from './store.ts';
import { TileTree } from './tiles.ts';

/** A witness of the settings. */
export interface WitnessPlace {
  /** Submission prefix. */
  readonly url: string;
  readonly verifier: NoteVerifier;
}

const isOf =
  ({ name, keyId }: NoteVerifier) =>
  (signature: NoteSignature): boolean =>
    signature.name === name && signature.keyId.equals(keyId);

const refused = (name: string, message: string): AssayError =>
  new AssayError('SOURCE_UNAVAILABLE', `witness ${name}: ${message}`);

/** Asks one witness. It remembers the size that the witness signed last. */
class Witness {
  readonly verifier: NoteVerifier;
  readonly #url: URL;
  readonly #policy: OutboundPolicy;
  readonly #agent: ReturnType<typeof createOutboundAgent>;
  readonly #halt: (reason: string) => void;
  #signedSize: number;
  /** Whether it had signed more entries than this log has when it was last asked. */
  #isAhead = false;

  constructor({ url, verifier }: WitnessPlace, signedSize: number, halt: (reason: string) => void) {
    this.#halt = halt;
    this.verifier = verifier;
    this.#url = new URL('add-checkpoint', url.replace(/\/*$/, '/'));
    this.#policy = { trustedHosts: new Set([this.#url.hostname]) };
    const timeout = LOG_LIMITS.witnessMs;
    this.#agent = createOutboundAgent({
      policy: this.#policy,
      timeouts: { connectMs: timeout, headersMs: timeout, stallMs: timeout },
    });
    this.#signedSize = signedSize;
  }

  /**
   * Returns the cosignature of a checkpoint.
   *
   * @throws SOURCE_UNAVAILABLE if the witness does not give one
   */
  async sign(text: string, checkpoint: Checkpoint, tree: TileTree): Promise<NoteSignature> {
    const first = await this.#send(text, checkpoint, tree);
    if (first.status !== 409) return this.#cosignature(first, checkpoint);
    const size = fromDecimal(first.body.trim(), `witness ${this.verifier.name}: size`);
    const wasAhead = this.#isAhead;
    this.#isAhead = size > checkpoint.size;
    if (this.#isAhead || size === this.#signedSize) {
      const refusal = refused(
        this.verifier.name,
        `it has signed ${size} entries of this log, of which this installation has ${checkpoint.size}, or another root of the same size.`,
      );
      // The first time, the replica of this node may be behind the node that asked before.
      if (this.#isAhead && wasAhead)
        this.#halt(
          `${refusal.message} The log was restored from an older backup, or the folder of state was copied. Copy the newer log back or begin a new one, and restart.`,
        );
      throw refusal;
    }
    this.#signedSize = size;
    return this.#cosignature(await this.#send(text, checkpoint, tree), checkpoint);
  }

  async #send(text: string, { size }: Checkpoint, tree: TileTree): Promise<{ status: number; body: string }> {
    const old = Math.min(this.#signedSize, size);
    const proof = await tree.hashes(consistencyParts(old, size));
    const lines = [`old ${old}`, ...proof.map((hash) => hash.toString('base64')), '', text];
    checkOutboundUrl(this.#url, this.#policy);
    try {
      const { statusCode, body } = await undici().request(this.#url, {
        dispatcher: this.#agent,
        method: 'POST',
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        body: lines.join('\n'),
      });
      return {
        status: statusCode,
        body: (await bodyUpTo(body, LOG_LIMITS.witnessBytesMax)).toString('utf8'),
      };
    } catch (cause) {
      throw refused(this.verifier.name, `does not respond: ${messageOf(cause)}.`);
    }
  }

  #cosignature(
    { status, body }: { status: number; body: string },
    { size, note }: Checkpoint,
  ): NoteSignature {
    if (status !== 200) throw refused(this.verifier.name, `HTTP ${status}.`);
    const found = parseSignatures(body).find(isOf(this.verifier));
    if (found === undefined || this.verifier.verify(note.text, found.signature) === null)
      throw refused(this.verifier.name, 'its response has no valid cosignature of its key.');
    this.#signedSize = size;
    this.#isAhead = false;
    return found;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

/** Gets the cosignatures of all witnesses of a log. `ask` is not called again before it has settled. */
export class Witnesses {
  readonly #witnesses: readonly Witness[];
  readonly #store: LogStore;
  readonly #log: Logger;
  /** The problem of each witness that was logged last, so that it is logged once. */
  readonly #problems = new Map<string, string>();

  constructor(
    places: readonly WitnessPlace[],
    {
      store,
      log,
      halt,
    }: {
      readonly store: LogStore;
      readonly log: Logger;
      /** Called if a witness has signed more entries than the log has. */
      readonly halt: (reason: string) => void;
    },
  ) {
    this.#store = store;
    this.#log = log;
    const text = store.witnessed();
    const last = text === null ? null : parseCheckpoint(text);
    this.#witnesses = places.map(
      (place) => new Witness(place, last?.note.signatures.some(isOf(place.verifier)) ? last.size : 0, halt),
    );
  }

  /**
   * Asks the witnesses that have not signed the last checkpoint, and stores it with the cosignatures. A witness that does not sign is
   * left out: the checkpoint is published without it.
   *
   * @returns whether all witnesses have signed it
   */
  async ask(): Promise<boolean> {
    this.#store.refresh();
    const text = this.#store.checkpoint();
    if (text === null) return true;
    const checkpoint = parseCheckpoint(text);
    const witnessed = this.#store.witnessed();
    const before = witnessed === null ? null : parseCheckpoint(witnessed).note;
    const signatures =
      before?.text === checkpoint.note.text ? [...before.signatures] : [...checkpoint.note.signatures];
    const missing = this.#witnesses.filter(({ verifier }) => !signatures.some(isOf(verifier)));
    if (missing.length === 0 && before?.text === checkpoint.note.text) return true;
    const tree = new TileTree(checkpoint.size, tilesOf(this.#store));
    const results = await Promise.all(missing.map((witness) => this.#try(witness, text, checkpoint, tree)));
    const added = results.filter((result) => result !== null);
    if (added.length > 0 || before?.text !== checkpoint.note.text)
      await this.#store.putWitnessed(
        formatNote({ text: checkpoint.note.text, signatures: [...signatures, ...added] }),
      );
    return added.length === missing.length;
  }

  async #try(
    witness: Witness,
    text: string,
    checkpoint: Checkpoint,
    tree: TileTree,
  ): Promise<NoteSignature | null> {
    const { name } = witness.verifier;
    try {
      const signature = await witness.sign(text, checkpoint, tree);
      if (this.#problems.delete(name)) this.#log.info({ witness: name }, 'witness signs again');
      return signature;
    } catch (error) {
      const problem = messageOf(error);
      if (this.#problems.get(name) !== problem)
        this.#log.warn({ witness: name, error: problem }, 'witness did not sign the checkpoint');
      this.#problems.set(name, problem);
      return null;
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#witnesses.map((witness) => witness.close()));
  }
}

/**
 * Bounds the memory of bodies that are read as a whole and have no response yet. One key may open thousands of connections and send a body of the
 * largest size on each: without a bound, they take as much memory as they like, and the system kills the process.
 */
import { HTTP_LIMITS } from '../limits.ts';

/** What one body holds of the budget. */
export interface BodyShare {
  /**
   * Counts a chunk that is kept.
   *
   * @returns false if there is no room for it; the body is then to be dropped
   */
  take(bytes: number): boolean;
  /** Records that there was no room for the body elsewhere. */
  refuse(): void;
  /** Gives all back: the request was answered, or its client has gone. Further calls have no effect. */
  release(): void;
  /** Whether there was no room for a chunk. */
  readonly isRefused: boolean;
}

/** The bodies of one thread. */
export class BodyBudget {
  readonly #bytesMax: number;
  readonly #bytes = new Map<string, number>();
  #total = 0;

  /** @param bytesMax - of all bodies together */
  constructor(bytesMax: number = HTTP_LIMITS.heldBodyBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#total;
  }

  /**
   * Begins a body.
   *
   * @param subject - account or client that sends it
   * @param subjectBytesMax - of all its bodies
   */
  share(subject: string, subjectBytesMax: number): BodyShare {
    return new Share(this, subject, subjectBytesMax);
  }

  /** Holds more bytes for a subject. Returns false if there is no room for them. */
  hold(subject: string, bytes: number, subjectBytesMax: number): boolean {
    const ofSubject = (this.#bytes.get(subject) ?? 0) + bytes;
    if (ofSubject > subjectBytesMax || this.#total + bytes > this.#bytesMax) return false;
    this.#bytes.set(subject, ofSubject);
    this.#total += bytes;
    return true;
  }

  /** Gives bytes of a subject back. */
  free(subject: string, bytes: number): void {
    const left = (this.#bytes.get(subject) ?? 0) - bytes;
    if (left > 0) this.#bytes.set(subject, left);
    else this.#bytes.delete(subject);
    this.#total -= bytes;
  }
}

/** A class, because an object with functions of its own takes six times the memory, at each request. */
class Share implements BodyShare {
  readonly #budget: BodyBudget;
  readonly #subject: string;
  readonly #subjectBytesMax: number;
  #held = 0;
  isRefused = false;

  constructor(budget: BodyBudget, subject: string, subjectBytesMax: number) {
    this.#budget = budget;
    this.#subject = subject;
    this.#subjectBytesMax = subjectBytesMax;
  }

  take(bytes: number): boolean {
    const size = bytes + HTTP_LIMITS.heldChunkBytes;
    if (this.isRefused || !this.#budget.hold(this.#subject, size, this.#subjectBytesMax)) {
      this.isRefused = true;
      return false;
    }
    this.#held += size;
    return true;
  }

  refuse(): void {
    this.isRefused = true;
  }

  release(): void {
    if (this.#held === 0) return;
    this.#budget.free(this.#subject, this.#held);
    this.#held = 0;
  }
}

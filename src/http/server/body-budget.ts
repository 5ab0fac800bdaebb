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
    let held = 0;
    let isRefused = false;
    return {
      take: (bytes) => {
        const size = bytes + HTTP_LIMITS.heldChunkBytes;
        const ofSubject = (this.#bytes.get(subject) ?? 0) + size;
        if (isRefused || ofSubject > subjectBytesMax || this.#total + size > this.#bytesMax) {
          isRefused = true;
          return false;
        }
        this.#bytes.set(subject, ofSubject);
        this.#total += size;
        held += size;
        return true;
      },
      refuse: () => {
        isRefused = true;
      },
      release: () => {
        if (held === 0) return;
        const left = (this.#bytes.get(subject) ?? 0) - held;
        if (left > 0) this.#bytes.set(subject, left);
        else this.#bytes.delete(subject);
        this.#total -= held;
        held = 0;
      },
      get isRefused() {
        return isRefused;
      },
    };
  }
}

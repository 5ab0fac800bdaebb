/** Follows the snapshots of labels and the registers that this or another process publishes, while a server runs. */
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { LabelServices } from './label-services.ts';
import type { NodeConnection } from './node-services.ts';

/** Interval at which a server checks for a snapshot that another process published. One `stat` per check. */
const SNAPSHOT_CHECK_MS = 1_000;
/**
 * When a server loads the registers that ship, in slices between requests, if no request needed them before: after the requests that wait for
 * the start. The load takes a seventh of the processor time of a start.
 */
const REGISTERS_AFTER_MS = 30_000;
/** Broadcast message after this node has loaded labels that it, or a process beside it, published. */
const LABELS_CHANGED = 'labels';

export interface SnapshotFollowerDeps {
  readonly labels: Pick<LabelServices, 'snapshots' | 'exchanges'>;
  readonly broadcast: NodeConnection['broadcast'];
  readonly log: Logger;
  /** Called after new labels are in force. */
  readonly onLabels: () => void;
}

export class SnapshotFollower {
  readonly #deps: SnapshotFollowerDeps;
  #check: NodeJS.Timeout | null = null;
  #registersLater: NodeJS.Timeout | null = null;

  constructor(deps: SnapshotFollowerDeps) {
    this.#deps = deps;
  }

  /** Begins to check. */
  start(): void {
    const { broadcast, labels } = this.#deps;
    this.#check = setInterval(() => this.#checkAll(), SNAPSHOT_CHECK_MS);
    this.#check.unref();
    this.#registersLater = setTimeout(
      () => this.#noteUnread(labels.exchanges().refresh()),
      REGISTERS_AFTER_MS,
    );
    this.#registersLater.unref();
    broadcast?.subscribe((word) => {
      if (word === LABELS_CHANGED) this.#loadLabels();
    });
  }

  /** Checks now. If the checks have not begun, the first of them finds what there is. */
  checkNow(): void {
    if (this.#check !== null) this.#checkAll();
  }

  stop(): void {
    if (this.#check !== null) clearInterval(this.#check);
    if (this.#registersLater !== null) clearTimeout(this.#registersLater);
  }

  #checkAll(): void {
    const { broadcast, labels } = this.#deps;
    if (this.#loadLabels()) void broadcast?.publish(LABELS_CHANGED);
    this.#noteUnread(labels.exchanges().refreshImported());
  }

  /** Loads labels that this or another node has published; returns true if there were new ones. */
  #loadLabels(): boolean {
    const isNew = this.#deps.labels.snapshots().refresh();
    if (isNew) this.#deps.onLabels();
    return isNew;
  }

  #noteUnread(loading: Promise<void>): void {
    loading.catch((error: unknown) =>
      this.#deps.log.error({ reason: messageOf(error) }, 'registers could not be read'),
    );
  }
}

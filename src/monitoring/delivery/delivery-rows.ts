/**
 * Deliveries as they are stored: the message is in a row of its own, because it never changes, so that an attempt writes a few hundred bytes
 * instead of the whole message. Rows of earlier versions include the message. They are read as they are, and divided when they change.
 */
import { AssayError } from '../../base/errors.ts';
import type { LiveDatabase, LiveRange, LiveRoot } from '../../state/live-store.ts';
import type { ChannelKind, Delivery, OutgoingDelivery } from '../records.ts';

/**
 * The row of a delivery with its message in another row. The channel has another name than in rows of earlier versions: an earlier version of the
 * program, which would send an empty message, finds no channel and leaves the delivery in the queue.
 */
interface DividedDelivery extends Omit<Delivery, 'channel'> {
  readonly via: ChannelKind;
}

/** A row of the table of deliveries. */
type StoredDelivery = DividedDelivery | OutgoingDelivery;

const isDivided = (stored: StoredDelivery): stored is DividedDelivery => 'via' in stored;

/** Returns the key of a delivery and of its message. */
export const deliveryKey = (accountId: string, id: string): string => `${accountId}/${id}`;

/** Returns what is stored for a delivery, except its message. */
const storedDelivery = (delivery: Delivery): DividedDelivery => ({
  id: delivery.id,
  accountId: delivery.accountId,
  walletId: delivery.walletId,
  alertId: delivery.alertId,
  via: delivery.channel,
  event: delivery.event,
  target: delivery.target,
  status: delivery.status,
  attempts: delivery.attempts,
  attemptsBefore: delivery.attemptsBefore,
  createdAtMs: delivery.createdAtMs,
  nextAttemptAtMs: delivery.nextAttemptAtMs,
});

/** Returns the delivery of a row. That of an earlier version has its message, too. */
const deliveryOf = (stored: StoredDelivery): Delivery & { readonly body?: string } =>
  isDivided(stored)
    ? {
        id: stored.id,
        accountId: stored.accountId,
        walletId: stored.walletId,
        alertId: stored.alertId,
        channel: stored.via,
        event: stored.event,
        target: stored.target,
        status: stored.status,
        attempts: stored.attempts,
        attemptsBefore: stored.attemptsBefore,
        createdAtMs: stored.createdAtMs,
        nextAttemptAtMs: stored.nextAttemptAtMs,
      }
    : stored;

/** Deliveries and their messages, in two databases of the environment of monitoring. */
export class DeliveryRows {
  readonly #rows: LiveDatabase<StoredDelivery, string>;
  readonly #messages: LiveDatabase<string, string>;

  constructor(root: LiveRoot) {
    this.#rows = root.openDB({ name: 'deliveries', encoding: 'json' });
    this.#messages = root.openDB({ name: 'deliveryMessages', encoding: 'string' });
  }

  /** Returns a delivery, perhaps with its message; null if there is none. */
  read(accountId: string, id: string): Delivery | null {
    const stored = this.#rows.get(deliveryKey(accountId, id));
    return stored === undefined ? null : deliveryOf(stored);
  }

  /**
   * Adds the message to a delivery that was read.
   *
   * @throws STORE_CORRUPT if it is missing
   */
  withMessage(delivery: Delivery & { readonly body?: string }): OutgoingDelivery {
    const { accountId, id } = delivery;
    const body = delivery.body ?? this.#messages.get(deliveryKey(accountId, id));
    if (body === undefined)
      throw new AssayError('STORE_CORRUPT', `The message of the delivery ${id} is missing.`);
    return Object.assign(delivery, { body });
  }

  /** Stores a delivery, and its message if it has one here. Call it inside a transaction. */
  put(delivery: Delivery & { readonly body?: string }): void {
    const key = deliveryKey(delivery.accountId, delivery.id);
    this.#rows.putSync(key, storedDelivery(delivery));
    if (delivery.body !== undefined) this.#messages.putSync(key, delivery.body);
  }

  /** Removes a delivery and its message. Call it inside a transaction. */
  remove({ accountId, id }: Delivery): void {
    const key = deliveryKey(accountId, id);
    this.#rows.removeSync(key);
    this.#messages.removeSync(key);
  }

  /** Returns the account of the first delivery from a key on; undefined if none follows. */
  accountFrom(key: string): string | undefined {
    const [found] = [...this.#rows.getKeys({ start: key, limit: 1 })];
    return found?.slice(0, found.lastIndexOf('/'));
  }

  /** Returns the deliveries in a range of keys. */
  *range(range: LiveRange<string>): Iterable<Delivery> {
    for (const { value } of this.#rows.getRange(range)) yield deliveryOf(value);
  }
}

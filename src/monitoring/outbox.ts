/**
 * The port between what raises alerts and what sends them. `enqueue` runs inside the write transaction that stores the alert: both
 * are there after a crash, or neither.
 */
import type { Alert, Delivery, DeliveryEvent, MonitoredWallet } from './records.ts';

export interface Outbox {
  /**
   * Stores one delivery for each receiver that the wallet and its account have for this event, and says how many. Synchronous, and
   * called inside the transaction of the environment both live in. Threshold and frequency of the wallet are respected here.
   */
  enqueue(event: Exclude<DeliveryEvent, 'digest' | 'test'>, alert: Alert, wallet: MonitoredWallet): number;
  /** Called after the transaction is on disk: there may be something to send. */
  wake(): void;
  /** Stops what waits for a wallet that was deleted or paused. Inside the transaction that says so. */
  cancelWallet(walletId: string): void;
  delivery(accountId: string, id: string): Delivery | null;
}

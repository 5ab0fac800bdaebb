/**
 * The port between raising alerts and sending them. `enqueue` runs in the write transaction that stores the alert, so that after a
 * crash either both exist or neither.
 */
import type { Alert, Delivery, DeliveryEvent, MonitoredWallet } from './records.ts';

export interface Outbox {
  /**
   * Stores one delivery for each receiver of the wallet and its account for this event. Applies the wallet's threshold and
   * frequency. Synchronous; call it inside a transaction of the shared environment.
   *
   * @returns the number of stored deliveries
   */
  enqueue(
    event: Exclude<DeliveryEvent, 'digest' | 'test' | 'billing'>,
    alert: Alert,
    wallet: MonitoredWallet,
  ): number;
  /** Called after the transaction is durable: there may be deliveries to send. */
  wake(): void;
  /**
   * Cancels the waiting deliveries of a deleted or paused wallet, and returns their number. Call it inside the transaction that changes the
   * wallet, or before it with a limit.
   */
  cancelWallet(walletId: string, limit?: number): number;
  delivery(accountId: string, id: string): Delivery | null;
}

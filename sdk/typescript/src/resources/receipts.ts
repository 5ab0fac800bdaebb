/** Signed receipts of answers. `verifyReceipt` verifies one without the server. */
import type { ApiPromise } from '../core/api-promise.ts';
import type { CallOptions } from '../core/connection.ts';
import { Resource, segment } from '../core/resource.ts';
import type { Data } from '../types.ts';

export class Receipts extends Resource {
  /** Gets a receipt with its evidence and its policy. */
  get(id: string, options?: CallOptions): ApiPromise<Data<'oneReceipt'>> {
    return this.connection.json({ method: 'GET', path: `/receipts/${segment(id)}`, options });
  }

  /**
   * Gets the proof that a receipt is in the transparency log, as the text of a `.tlog-proof`: it is verified offline.
   *
   * @throws NotFoundError if the log has no receipt of this id, or if no published checkpoint covers it yet: repeat it a second later
   * @example
   * await writeFile('receipt.tlog-proof', await assay.receipts.proof(id));
   */
  proof(id: string, options?: CallOptions): ApiPromise<string> {
    return this.connection.text({ method: 'GET', path: `/receipts/${segment(id)}/proof`, options });
  }

  /**
   * Gets the proof of an answer of the oracle that was requested with `receipt: 'batch'`. `verifyLine` verifies it.
   *
   * @param id - `batch.id` of the answer
   * @param line - `batch.line` of the answer
   * @throws NotFoundError if the batch is not signed yet: repeat it a second later
   */
  line(id: string, line: number, options?: CallOptions): ApiPromise<Data<'receiptLine'>> {
    return this.connection.json({ method: 'GET', path: `/receipts/${segment(id)}/lines/${line}`, options });
  }

  /** Returns the keys that verify receipts, retired ones included. */
  jwks(options?: CallOptions): ApiPromise<Data<'jwks'>> {
    return this.connection.object({
      method: 'GET',
      path: '/.well-known/jwks.json',
      isRoot: true,
      options,
      auth: 'none',
    });
  }
}

/** Frees large buffers at a known time: garbage collection may leave hundreds of megabytes until long after their last use. */
import { MessageChannel } from 'node:worker_threads';

/** Smaller buffers may share their memory with others, and are not worth a call. */
const FREED_FROM_BYTES = 1 << 20;

/**
 * Frees the memory of buffers in the next turn of the event loop. They have no bytes any more when the call returns. It moves them to a port
 * that nothing reads. Buffers of less than 1 MB are left as they are.
 *
 * @param views - typed arrays that each own their whole buffer
 */
export function freeMemory(views: readonly ArrayBufferView[]): void {
  const buffers = views
    .map(({ buffer }) => buffer)
    .filter(
      (buffer): buffer is ArrayBuffer =>
        buffer instanceof ArrayBuffer && buffer.byteLength >= FREED_FROM_BYTES,
    );
  const { port1, port2 } = new MessageChannel();
  port2.close();
  port1.postMessage(null, [...new Set(buffers)]);
  port1.close();
}

import { describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { receiveUpload, type Upload } from '../../src/http/server/uploads.ts';

/** A receiver over an upload that the test opens, and a log of its calls. */
function receiving() {
  const events: string[] = [];
  let open: (upload: Upload) => void = () => {};
  let refuse: (error: Error) => void = () => {};
  const opened = new Promise<Upload>((resolve, reject) => {
    open = resolve;
    refuse = reject;
  });
  const receiver = receiveUpload(10, opened, {
    done: () => events.push('done'),
    refused: (error) => events.push(`refused ${(error as AssayError).code}`),
    gone: () => events.push('gone'),
    notCleared: (error) => events.push(`not cleared ${(error as Error).message}`),
  });
  const upload = (abort: () => Promise<void>): Upload => ({
    write: () => {},
    end: async () => new Uint8Array(0),
    abort: async () => {
      events.push('aborted');
      await abort();
    },
  });
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { receiver, events, settled, refuse, open: (abort = async () => {}) => open(upload(abort)) };
}

describe('an upload', () => {
  it.each(['too large', 'gone'] as const)(
    'has nothing to discard if it is %s and rejected at the same time',
    async (how) => {
      const { receiver, events, settled, refuse } = receiving();
      receiver.end(how);
      refuse(new AssayError('RATE_LIMITED', 'Not now.'));
      await settled();
      expect(events).toEqual([how === 'gone' ? 'gone' : 'refused BODY_TOO_LARGE']);
    },
  );

  it.each(['too large', 'gone'] as const)(
    'is aborted after it was opened if it is %s, and reports a failed abort',
    async (how) => {
      const { receiver, events, settled, open } = receiving();
      receiver.end(how);
      open(() => Promise.reject(new Error('the disk is away')));
      await settled();
      expect(events.slice(1)).toEqual(['aborted', 'not cleared the disk is away']);
    },
  );
});

import { describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { receiveUpload, type Upload } from '../../src/http/server/uploads.ts';

/** A receiver over an upload that the test opens, and a log of its calls. */
function receiving() {
  const told: string[] = [];
  let open: (upload: Upload) => void = () => {};
  let refuse: (error: Error) => void = () => {};
  const opened = new Promise<Upload>((resolve, reject) => {
    open = resolve;
    refuse = reject;
  });
  const receiver = receiveUpload(10, opened, {
    done: () => told.push('done'),
    refused: (error) => told.push(`refused ${(error as AssayError).code}`),
    gone: () => told.push('gone'),
    notCleared: (error) => told.push(`not cleared ${(error as Error).message}`),
  });
  const upload = (abort: () => Promise<void>): Upload => ({
    write: () => {},
    end: async () => new Uint8Array(0),
    abort: async () => {
      told.push('aborted');
      await abort();
    },
  });
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { receiver, told, settled, refuse, open: (abort = async () => {}) => open(upload(abort)) };
}

describe('an upload', () => {
  it.each(['too large', 'gone'] as const)(
    'has nothing to discard if it is %s and rejected at the same time',
    async (how) => {
      const { receiver, told, settled, refuse } = receiving();
      receiver.end(how);
      refuse(new AssayError('RATE_LIMITED', 'Not now.'));
      await settled();
      expect(told).toEqual([how === 'gone' ? 'gone' : 'refused BODY_TOO_LARGE']);
    },
  );

  it.each(['too large', 'gone'] as const)(
    'is aborted after it was opened if it is %s, and reports a failed abort',
    async (how) => {
      const { receiver, told, settled, open } = receiving();
      receiver.end(how);
      open(() => Promise.reject(new Error('the disk is away')));
      await settled();
      expect(told.slice(1)).toEqual(['aborted', 'not cleared the disk is away']);
    },
  );
});

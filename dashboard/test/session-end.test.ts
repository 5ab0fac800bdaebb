/** A response that says that the session has ended, to requests that are not sent by `call`. */
import { afterEach, expect, it, vi } from 'vitest';
import { call, whenSessionEnds } from '../src/api/client.ts';
import { uploadCaseFile } from '../src/api/upload.ts';

afterEach(() => vi.unstubAllGlobals());

it('an upload ends the session at 401 and at no other status, and a login never does', async () => {
  const ended = vi.fn();
  whenSessionEnds(ended);
  const answer = (status: number): void =>
    vi.stubGlobal('fetch', () => Promise.resolve(new Response('{}', { status })));
  const upload = () => uploadCaseFile('c1', new File(['x'], 'x.txt'), 'text/plain', 'k1');
  answer(413);
  await expect(upload()).rejects.toMatchObject({ status: 413 });
  answer(401);
  await expect(call('get', '/auth/session')).rejects.toMatchObject({ status: 401 });
  expect(ended).not.toHaveBeenCalled();
  await expect(upload()).rejects.toMatchObject({ status: 401 });
  expect(ended).toHaveBeenCalledOnce();
});

/** A person with an account from the operator changes the password over HTTP. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newWorld, type RunningServer, type World } from './program.ts';

const EMAIL = 'ada@example.org';
const FIRST = 'correct horse battery';
const SECOND = 'another horse battery';

let world: World;
let server: RunningServer;
beforeAll(async () => {
  world = newWorld();
  server = await world.serve();
  const made = await world.run(['accounts', 'create', '--email', EMAIL], { input: `${FIRST}\n` });
  expect(made).toMatchObject({ code: 0, err: '' });
});
afterAll(() => world.end());

async function post(path: string, body: object, cookie = ''): Promise<{ status: number; cookie: string }> {
  const response = await fetch(`${server.url}/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(cookie === '' ? {} : { cookie, origin: server.url }) },
    body: JSON.stringify(body),
  });
  await response.arrayBuffer();
  return {
    status: response.status,
    cookie: (response.headers.get('set-cookie') ?? '').split(';')[0] as string,
  };
}

const session = async (cookie: string): Promise<number> =>
  (await fetch(`${server.url}/api/v1/auth/session`, { headers: { cookie } })).status;

it('ends every session but its own when the password is changed', async () => {
  const here = await post('/auth/login', { email: EMAIL, password: FIRST });
  const elsewhere = await post('/auth/login', { email: EMAIL, password: FIRST });
  expect([here.status, elsewhere.status]).toEqual([200, 200]);

  const wrong = { currentPassword: 'a wrong horse battery', newPassword: SECOND };
  const refused = await post('/auth/password', wrong, here.cookie);
  expect(refused.status).toBeGreaterThanOrEqual(400);
  expect(await session(elsewhere.cookie)).toBe(200);

  const changed = await post('/auth/password', { currentPassword: FIRST, newPassword: SECOND }, here.cookie);
  expect(changed.status).toBe(200);
  expect(await session(elsewhere.cookie)).toBe(401);
  expect(await session(here.cookie)).toBe(401);
  expect(await session(changed.cookie)).toBe(200);
  expect((await post('/auth/login', { email: EMAIL, password: FIRST })).status).toBe(401);
  expect((await post('/auth/login', { email: EMAIL, password: SECOND })).status).toBe(200);
});

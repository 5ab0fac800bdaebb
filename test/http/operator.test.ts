/** The operations for operators over HTTP: who may call them, and from when on they may not. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_BASE } from '../../src/http/routes.ts';
import { openWorld, type World } from './world.ts';
import { operatorImports, operatorStatus } from './world-operator.ts';

const PASSWORD = 'correct horse battery';
const PATHS = ['/operator/status', '/operator/imports', '/operator/label-reports'] as const;

describe.each(['uws', 'node'] as const)('operators over HTTP on %s', (backend) => {
  let world: World;
  let staff = '';

  async function ask(path: string, headers: Record<string, string>) {
    const response = await fetch(`${world.url}${API_BASE}${path}`, { headers });
    const { data, error } = (await response.json()) as { data?: unknown; error?: string };
    return { status: response.status, data, error, cache: response.headers.get('cache-control') };
  }
  const login = async (email: string): Promise<{ cookie: string }> => {
    const { token } = await world.access.people().login(email, PASSWORD, '127.0.0.1');
    return { cookie: `assay_session=${token}` };
  };

  beforeAll(async () => {
    world = await openWorld({ backend });
    const people = world.access.people();
    await people.create('customer@example.org', PASSWORD, 'ENTERPRISE');
    staff = (await people.create('staff@example.org', PASSWORD, 'FREE')).id;
    for (const role of ['analyst', 'auditor'] as const)
      await people.members.add(
        { who: staff, from: '127.0.0.1' },
        staff,
        `${role}@example.org`,
        role,
        PASSWORD,
      );
    await world.access.keys.setOperator(staff, true);
  });
  afterAll(() => world.close());

  it('answers owners and analysts of an operator account, and no cache may store it', async () => {
    for (const email of ['staff@example.org', 'analyst@example.org']) {
      const session = await login(email);
      expect(await ask('/operator/status', session)).toMatchObject({ status: 200, data: operatorStatus });
      expect(await ask('/operator/imports', session)).toMatchObject({
        ...{ status: 200, data: operatorImports, cache: 'no-store' },
      });
      expect((await ask('/auth/session', session)).data).toMatchObject({ operator: true });
    }
  });

  it('rejects the owner of a customer account with a reason that names no account and no command', async () => {
    const session = await login('customer@example.org');
    for (const path of PATHS)
      expect(await ask(path, session)).toMatchObject({
        status: 403,
        data: undefined,
        error:
          'account: this operation is for the operators of the service, and your account is not one of theirs.',
      });
    expect((await ask('/auth/session', session)).data).toMatchObject({ operator: false });
  });

  it('rejects auditors of an operator account, keys of any account, and clients without a session', async () => {
    const auditor = await login('auditor@example.org');
    const key = await world.key({ accountId: staff });
    for (const path of PATHS) {
      expect(await ask(path, auditor)).toMatchObject({
        status: 403,
        error: expect.stringContaining("needs the role 'analyst'"),
      });
      expect((await ask(path, { authorization: `Bearer ${key}` })).status).toBe(401);
      expect((await ask(path, {})).status).toBe(401);
    }
    expect((await ask('/auth/session', auditor)).data).toMatchObject({ operator: false });
  });

  it('rejects a session of another page, and every session from the moment the account is no operator', async () => {
    const session = await login('staff@example.org');
    const foreign = { ...session, origin: 'https://evil.example' };
    expect((await ask('/operator/status', foreign)).status).toBe(403);
    await world.access.keys.setOperator(staff, false);
    expect((await ask('/operator/status', session)).status).toBe(403);
    await world.access.keys.setOperator(staff, true);
    expect((await ask('/operator/status', session)).status).toBe(200);
  });
});

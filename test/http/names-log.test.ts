/** The log of a server carries no identifier and no name of a screening request, valid or not. */
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorld, type World } from './world.ts';
import { worldNames } from './world-names.ts';

/** One of each kind that a request may have. */
const IDENTIFIERS = {
  passport: 'K9923471X',
  nationalId: '71122998834',
  imo: '9312341',
  tailNumber: 'EPXQZ71',
  lei: '5493001KJTIIGC8Y1R12',
  registrationNumber: 'HRB778812Z',
} as const;
const NAME = 'Zebulon Quillfeather';

describe.each(['uws', 'node'] as const)('the log of name screening on %s', (backend) => {
  const lines: string[] = [];
  let world: World;
  let key: string;
  let isBroken = false;
  beforeAll(async () => {
    const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
    const names = worldNames();
    const screen: typeof names.screen = (requests) => {
      if (isBroken) throw new Error('The index cannot be read.');
      return names.screen(requests);
    };
    world = await openWorld({ backend, log, useCases: { names: { ...names, screen } } });
    key = await world.key({ rateLimits: { names: 1_000 } });
  });
  afterAll(() => world.close());

  const ask = async (path: string, body: unknown, method = 'POST') => {
    const response = await fetch(`${world.url}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(method === 'GET' ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    await response.text();
    return response.status;
  };

  it('has none of them, whether the request succeeds, is invalid, or fails in the server', async () => {
    const statuses = [
      await ask('/namescreen/bulk', { names: [{ name: NAME, identifiers: IDENTIFIERS }] }),
      // Invalid: a field is of another kind, or the text is no JSON.
      await ask('/namescreen/bulk', {
        names: [{ name: NAME, identifiers: { ...IDENTIFIERS, imo: '9312347' } }],
      }),
      await ask('/namescreen/bulk', { names: [{ name: NAME, identifiers: IDENTIFIERS, birthDate: 7 }] }),
      await ask(
        '/namescreen/bulk',
        `{"names":[{"name":"${NAME}","identifiers":${JSON.stringify(IDENTIFIERS)}}`,
      ),
    ];
    isBroken = true;
    statuses.push(await ask('/namescreen/bulk', { names: [{ name: NAME, identifiers: IDENTIFIERS }] }));
    expect(statuses).toEqual([200, 400, 400, 400, 500]);
    const log = lines.join('');
    // The failure was logged, so the log is the one of these requests.
    expect(log).toContain('The index cannot be read.');
    for (const secret of [NAME, 'Quillfeather', ...Object.values(IDENTIFIERS), '9312347'])
      expect(log, secret).not.toContain(secret);
  });
});

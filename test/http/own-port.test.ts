import { lookup } from 'node:dns/promises';
import { describe, expect, it } from 'vitest';
import { reservePort } from '../../src/http/server/own-port.ts';

const reason = process.platform === 'linux' ? null : 'only Linux spreads connections';

describe.skipIf(reason !== null)(`a port of several threads${reason === null ? '' : `: ${reason}`}`, () => {
  it('is reserved once, however its host is written', async () => {
    const { address } = await lookup('localhost');
    const own = await reservePort(address, 0);
    await expect(reservePort('localhost', own.port)).rejects.toThrow('another process already uses the port');
    // Another address may have the same port.
    await (await reservePort('127.0.0.2', own.port)).release();
    await own.release();
    await (await reservePort('localhost', own.port)).release();
  });

  it('is refused for a host that does not resolve', async () => {
    await expect(reservePort('nowhere.invalid', 8080)).rejects.toMatchObject({ code: 'LISTEN_FAILED' });
  });
});

/** Pay per call on the built program: its settings, a payment, and a kill between the block and the answer. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CHAIN_ID,
  deployToken,
  newPayer,
  PAY_TO,
  paymentHeader,
  RELAY,
  RELAY_KEY,
  requiredOf,
  sign,
  type Token,
} from '../billing/x402/world.ts';
import { type Anvil, hasAnvil, startAnvil } from '../setup/anvil.ts';
import { newWorld } from './program.ts';

const CLEAR = '0x00000000000000000000000000000000a55a0007';

describe.skipIf(!hasAnvil)('pay per call of the program', () => {
  const world = newWorld();
  let anvil: Anvil;
  let token: Token;
  let payer: Wallet;
  let environment: Record<string, string>;

  beforeAll(async () => {
    anvil = await startAnvil({ chainId: CHAIN_ID });
    token = await deployToken(anvil);
    payer = await newPayer(token);
    const keyFile = join(world.folder, 'relay.key');
    writeFileSync(keyFile, `${RELAY_KEY}\n`, { mode: 0o600 });
    environment = {
      ...{ ASSAY_X402_CHAINS: 'base', ASSAY_X402_ADDRESS: PAY_TO, ASSAY_RPC_BASE: anvil.url },
      ...{ ASSAY_RELAY_KEY_FILE: keyFile, ASSAY_RELAY_BALANCE_MAX: '1000000' },
    };
    expect((await world.run(['index', 'build'])).code).toBe(0);
  });
  afterAll(async () => {
    await world.end();
    await anvil?.stop();
  });

  const post = (url: string, header?: string): Promise<Response> =>
    fetch(`${url}/api/v1/screening`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(header === undefined ? {} : { 'PAYMENT-SIGNATURE': header }),
      },
      body: JSON.stringify({ chain: 'ETH', address: CLEAR }),
    });

  it('refuses settings that are incomplete or unsafe, and repeats no key', async () => {
    const refused = async (change: Record<string, string>, text: string): Promise<void> => {
      const { code, out, err } = await world.run(['serve'], { environment: { ...environment, ...change } });
      expect([code === 0, err + out]).toEqual([false, expect.stringContaining(text)]);
      expect(err + out).not.toContain(RELAY_KEY.slice(2));
    };
    await refused({ ASSAY_X402_CHAINS: 'BTC' }, 'ASSAY_X402_CHAINS');
    await refused({ ASSAY_X402_CHAINS: 'POLYGON' }, 'ASSAY_RPC_POLYGON');
    await refused({ ASSAY_X402_ADDRESS: '' }, 'ASSAY_X402_ADDRESS');
    await refused({ ASSAY_X402_ADDRESS: RELAY }, 'must not be the gas-paying account');
    await refused({ ASSAY_RELAY_KEY_FILE: '' }, 'ASSAY_RELAY_KEY_FILE');
    const keyFile = environment.ASSAY_RELAY_KEY_FILE as string;
    chmodSync(keyFile, 0o644);
    await refused({}, 'chmod 600');
    chmodSync(keyFile, 0o600);
  });

  it('takes nothing while the lists are stale', async () => {
    const server = await world.serve(environment);
    expect(requiredOf(await post(server.url)).accepts[0]?.payTo).toBe(PAY_TO);
    const response = await post(server.url, paymentHeader(await sign(payer)));
    expect([response.status, response.headers.get('x-error-code')]).toEqual([500, 'PAYMENT_UNAVAILABLE']);
    expect(await token.balance(PAY_TO)).toBe(0n);
    expect(server.output().out + server.output().err).not.toContain(RELAY_KEY.slice(2));
    const verified = await world.run(['billing', 'verify', '--json'], { environment });
    expect(JSON.parse(verified.out)).toMatchObject({ calls: { calls: 0, unanswered: 0 }, faults: [] });
    expect(await server.stop()).toBe(0);
  });
});

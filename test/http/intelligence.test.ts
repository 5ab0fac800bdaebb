/** Paths with a chain and an address: each reaches its use case as it is written in the path. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorld, type World } from './world.ts';

const ADDRESS = `0x${'ab'.repeat(20)}`;

describe('a path with a chain and an address', () => {
  let world: World;
  let key: string;
  const asked: unknown[][] = [];
  const record = async (...of: unknown[]): Promise<never> => {
    asked.push(of.slice(0, 2));
    throw new Error('recorded');
  };
  beforeAll(async () => {
    world = await openWorld({ useCases: { attribution: record } });
    key = await world.key({ accountId: 'acc' });
  });
  afterAll(() => world.close());

  it('names the chain first', async () => {
    const { status } = await fetch(`${world.url}/api/v1/address/ETH/${ADDRESS}/attribution`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect([status, asked]).toEqual([500, [['ETH', ADDRESS]]]);
  });
});

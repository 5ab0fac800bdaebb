import { describe, expect, it } from 'vitest';
import { poolsReader } from '../../../src/sources/pools/read.ts';
import { readSource, temporaryFiles } from '../../setup/read-source.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';

const file = temporaryFiles();

describe('the list of mining pools', () => {
  it('returns one record an address, and rejects a pool without a name', async () => {
    const pools = [
      { id: 1, name: 'One', addresses: ['1a', '3b'], tags: ['/one/'], link: 'https://one.example' },
      { id: 2, name: '', addresses: [] },
      { id: 3, name: 'Three', addresses: [7, '1c'] },
      { id: 4, name: 'Four' },
      null,
    ];
    const { addresses, rejects } = await readSource(poolsReader, file('pools.json', JSON.stringify(pools)));
    expect(addresses.map(({ address, actorName, tags, url }) => [address, actorName, tags, url])).toEqual([
      ['1a', 'One', ['/one/'], 'https://one.example'],
      ['3b', 'One', ['/one/'], 'https://one.example'],
      ['1c', 'Three', [], null],
    ]);
    expect(rejects.map(({ provenance }) => provenance.line)).toEqual([2, 3, 4, 5]);
  });

  it.each(['{', '{}', ''])('that reads %j is an error that names the file', async (text) => {
    await expect(readSource(poolsReader, file('pools.json', text))).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringMatching(/^pools\.json: /),
    });
  });
});

describeWithSharedData('the published list of mining pools', () => {
  it('has 217 addresses of 168 pools', async () => {
    const { addresses, rejects } = await readSource(
      poolsReader,
      sharedData('exchanges', 'mining_pools_2026-02.json'),
    );
    expect(addresses).toHaveLength(217);
    expect(rejects).toEqual([]);
    expect(Math.max(...addresses.map(({ provenance }) => provenance.line))).toBeLessThanOrEqual(168);
    expect(addresses.every(({ currency }) => currency === 'BTC')).toBe(true);
  });
});

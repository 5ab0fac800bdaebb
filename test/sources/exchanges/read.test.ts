import { describe, expect, it } from 'vitest';
import { exchangesReader } from '../../../src/sources/exchanges/read.ts';
import { readSource, temporaryFiles } from '../../setup/read-source.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';

const file = temporaryFiles();

describe('the list of exchange wallets', () => {
  it('returns one address a row, and the reason why others are rejected', async () => {
    const path = file(
      'x.csv',
      'exchange,chain,address\nbinance-cex,ethereum,0xabc\n,ethereum,0xdef\nokx,tron\n"open,1,2\nokx,tron,Txyz\n',
    );
    const { addresses, rejects, headers } = await readSource(exchangesReader, path);
    expect(headers).toHaveLength(1);
    expect(addresses[0]).toMatchObject({
      address: '0xabc',
      currency: 'ethereum',
      actorId: 'binance-cex',
      concepts: ['exchange'],
      provenance: { file: 'x.csv', line: 2 },
    });
    expect(addresses.map(({ address }) => address)).toEqual(['0xabc', 'Txyz']);
    expect(rejects.map(({ provenance, reason }) => [provenance.line, reason])).toEqual([
      [3, 'Exchange, chain or address is empty.'],
      [4, 'The row has 2 cells; expected 3.'],
      [5, 'A quote is opened and never closed.'],
    ]);
  });

  it('with another header is rejected with the expected one', async () => {
    await expect(readSource(exchangesReader, file('x.csv', 'a,b\n1,2\n'))).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: "x.csv: line 1 must be the header 'exchange,chain,address'.",
    });
    await expect(readSource(exchangesReader, file('x.csv', '\n'))).rejects.toMatchObject({
      code: 'INVALID_FILE',
    });
  });
});

describeWithSharedData('the published list of exchange wallets', () => {
  it('has 2,986 addresses of 65 exchanges on 124 chains', async () => {
    const path = sharedData('exchanges', 'defillama_cex_owners_2025-06-30.csv');
    const { addresses, rejects } = await readSource(exchangesReader, path);
    expect(addresses).toHaveLength(2_986);
    expect(rejects).toEqual([]);
    expect(new Set(addresses.map(({ actorId }) => actorId)).size).toBe(65);
    expect(addresses.filter(({ currency }) => currency === 'tron')).toHaveLength(258);
  });
});

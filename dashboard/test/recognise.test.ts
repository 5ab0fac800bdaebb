/** What the search box recognises, with the parser of the server. */
import { describe, expect, it } from 'vitest';
import { detectChains } from '../../src/chains/address/parse.ts';
import { recognise } from '../src/search/recognise.ts';
import { entryOf } from '../src/search/table.ts';

const found = (text: string) => recognise(text, detectChains);

describe('the search box', () => {
  it.each([
    ['0x28C6c06298d514Db089934071355E5743bf21d60', 'ETH', 18],
    ['bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh', 'BTC', 1],
    ['TJRabPrwbZy45sbavfcjinPJC18kjpRTv8', 'TRON', 1],
    ['rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh', 'XRP', 1],
  ])('recognises %s as an address of %s', (address, first, count) => {
    const result = found(`  ${address} `);
    expect(result).toMatchObject({ kind: 'address', address });
    const chains = result.kind === 'address' ? result.chains : [];
    expect([chains[0], chains.length]).toEqual([first, count]);
  });

  it('recognises an EVM address with a wrong checksum as mistyped', () => {
    expect(found('0x28c6c06298d514Db089934071355E5743bf21d60').kind).toBe('mistyped');
  });

  it('recognises transaction hashes by their form', () => {
    const hash = `0x${'ab'.repeat(32)}`;
    expect(found(hash)).toEqual({ kind: 'hash', hash });
    expect(found('ab'.repeat(32)).kind).toBe('hash');
    expect(found('5'.repeat(88)).kind).toBe('hash');
    expect(found('Q'.repeat(52)).kind).toBe('hash');
    expect(found(`o${'o'.repeat(50)}`).kind).toBe('hash');
    expect(found(`${'T/'.repeat(21)}T=`).kind).toBe('hash');
  });

  it('recognises .eth names in any letter case', () => {
    expect(found('Vitalik.ETH')).toEqual({ kind: 'ens', name: 'vitalik.eth' });
  });

  it('recognises a list if one of its entries is an address, and each entry once', () => {
    const address = '0x28C6c06298d514Db089934071355E5743bf21d60';
    const btc = 'bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh';
    expect(found(`${address}\n${btc}, ${btc} nonsense`)).toEqual({
      kind: 'list',
      texts: [address, btc, `${btc} nonsense`],
    });
  });

  it('reads the addresses of a table, with their chains, and leaves the other columns out', () => {
    const address = '0x28C6c06298d514Db089934071355E5743bf21d60';
    const btc = 'bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh';
    const rows = [`Name;Chain;Address`, `"Binance; hot";base;${address}`, `Desk;BTC;${btc}`, `Desk;BTC;typo`];
    expect(found(rows.join('\r\n'))).toEqual({
      kind: 'list',
      texts: [`BASE:${address}`, `BTC:${btc}`, 'typo'],
    });
    // Without a header, and without a column of chains.
    expect(found(`${address}\tBinance\n${btc}\tDesk`)).toEqual({ kind: 'list', texts: [address, btc] });
    expect(found(`address,name\n${address},"Binance"`)).toEqual({ kind: 'list', texts: [address] });
    expect(entryOf(`BASE:${address}`, detectChains)).toEqual({ text: address, chain: 'BASE' });
    expect(entryOf(`BTC:${address}`, detectChains)).toEqual({ text: `BTC:${address}`, chain: null });
  });

  it('takes everything else for a name, with a comma as well', () => {
    expect(found('  Smith,   John ')).toEqual({ kind: 'name', name: 'Smith, John' });
    expect(found('   ')).toEqual({ kind: 'nothing' });
  });
});

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shippedData } from '../../src/base/paths.ts';
import { UTXO_CHAINS } from '../../src/chains/families/utxo/chains.ts';
import { CHAINS } from '../../src/chains/registry.ts';
import { loadCurrencies } from '../../src/labels/currencies.ts';

describe('the words of data/currencies.json', () => {
  it('name every chain by its id', () => {
    const { hintOf } = loadCurrencies();
    for (const { id } of CHAINS) expect(hintOf(id)).toEqual({ kind: 'chain', chain: id });
  });

  it('prefer a chain for an address form that several UTXO chains share', () => {
    const { preferred } = loadCurrencies();
    expect(UTXO_CHAINS.filter(({ id }) => preferred([id]) !== id)).toEqual([]);
  });

  it('are refused without an entry for a chain, by name', () => {
    const folder = mkdtempSync(join(tmpdir(), 'assay-currencies-'));
    const file = JSON.parse(readFileSync(shippedData('currencies.json'), 'utf8')) as {
      readonly chains: Readonly<Record<string, unknown>>;
    };
    const path = join(folder, 'currencies.json');
    writeFileSync(path, JSON.stringify({ ...file, chains: { ...file.chains, XTZ: undefined } }));
    expect(() => loadCurrencies(path)).toThrow('chains.XTZ must be an array of words.');
    rmSync(folder, { recursive: true });
  });
});

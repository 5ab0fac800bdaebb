import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { shippedData } from '../../src/base/paths.ts';
import { CHAINS, type ChainId } from '../../src/chains/registry.ts';
import { assetInFile, canonicalAsset, loadTokenList } from '../../src/chains/tokens.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';

const shipped = loadTokenList();
const FAKE = '0x7700000000000000000000000000000000009999';

describe('the curated list of tokens', () => {
  it('contains every native coin and the tokens of its sources, by chain', () => {
    for (const { id, symbol } of CHAINS) expect(shipped.isKnown(id, symbol), id).toBe(true);
    expect(shipped.isKnown('ETH', '0xdAC17F958D2ee523a2206206994597C13D831ec7')).toBe(true);
    expect(shipped.isKnown('TRON', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t')).toBe(true);
    expect(shipped.isKnown('SOL', 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v')).toBe(true);
    expect(shipped.isKnown('ETH', FAKE)).toBe(false);
  });

  it('recognises no token by its symbol, and no contract of another chain', () => {
    expect(shipped.isKnown('ETH', 'USDT')).toBe(false);
    expect(shipped.isKnown('BTC', 'ETH')).toBe(false);
    expect(shipped.isKnown('BASE', '0xdAC17F958D2ee523a2206206994597C13D831ec7')).toBe(false);
  });

  it('contains every pegged token of the prices: run scripts/tokens-generate.ts after a peg is added', () => {
    const { pegs } = JSON.parse(readFileSync(shippedData('prices.json'), 'utf8')) as {
      pegs: { chain: ChainId; asset: string }[];
    };
    expect(pegs.length).toBeGreaterThan(10);
    for (const { chain, asset } of pegs)
      expect(shipped.isKnown(chain, canonicalAsset(chain, asset)), `${chain} ${asset}`).toBe(true);
  });

  it.each([
    ['XRP', 'RLUSD.rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De'],
    ['XRP', '524c555344000000000000000000000000000000.rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De'],
    ['TON', 'EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs'],
  ] as const)(
    'recognises a token of %s in another form of its name, %s, if a file uses it',
    (chain, text) => {
      expect(shipped.isKnown(chain, assetInFile(chain, text))).toBe(true);
    },
  );

  it('leaves text of a file unchanged if it names no token of the chain', () => {
    expect(assetInFile('SOL', 'not a mint')).toBe('not a mint');
    expect(assetInFile('XRP', 'USD.rvYAfWj5gh67oV6fW32ZzP3Aw4Eubs59B')).toBe(
      'USD.rvYAfWj5gh67oV6fW32ZzP3Aw4Eubs59B',
    );
    expect(assetInFile('ATOM', 'atom')).toBe('atom');
  });

  it('lists each token once, in the text that transfers use, with a source and a date', () => {
    const seen = new Set<string>();
    for (const { chain, asset, sourceUrl, date, symbol } of shipped.tokens) {
      expect(canonicalAsset(chain, asset)).toBe(asset);
      expect(sourceUrl).toMatch(/^https:\/\//);
      expect(date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
      expect(symbol).not.toBe('');
      seen.add(`${chain} ${asset}`);
    }
    expect(seen.size).toBe(shipped.tokens.length);
    expect(seen.size).toBeGreaterThan(1_500);
  });
});

describe("the operator's own list", () => {
  let folder: TempFolder;
  beforeEach(() => {
    folder = tempFolder();
  });
  afterEach(() => {
    folder.remove();
  });
  const write = (text: string): string => {
    const path = join(folder.path, 'tokens.csv');
    writeFileSync(path, text);
    return path;
  };

  it('adds tokens, in any form of their address', () => {
    const ownFile = write(
      `chain,asset,symbol,decimals\nETH,${FAKE.toLowerCase()},HOUSE,18\nALGO,31566704,USDC,6\n`,
    );
    const list = loadTokenList({ ownFile });
    expect(list.isKnown('ETH', FAKE)).toBe(true);
    expect(list.isKnown('ALGO', '31566704')).toBe(true);
    expect(list.isKnown('BSC', FAKE)).toBe(false);
    expect(list.isKnown('ETH', '0xdAC17F958D2ee523a2206206994597C13D831ec7')).toBe(true);
  });

  it.each([
    ['chain,symbol\nETH,X\n', /line 1: the column 'asset' is missing/],
    ['chain,asset,price\n', /line 1: the column 'price' must be one of/],
    ['chain,asset\nETH,0x12\n', /line 2: .*asset/],
    ['chain,asset\nNOCHAIN,0x12\n', /line 2: .*chain/],
    [`chain,asset\nETH,${FAKE},x\n`, /line 2: the row has 3 cells, and the header 2/],
    ['chain,asset\nETH,eth\n', /line 2: .*own coin/],
    [`chain,asset,decimals\nETH,${FAKE},99\n`, /line 2: decimals/],
    [`chain,asset,symbol\nETH,${FAKE},${'X'.repeat(65)}\n`, /line 2: symbol: must have at most 64 .* has 65/],
    [`chain,asset,symbol\nETH,${FAKE},US\u0007D\n`, /line 2: symbol: must not have control/],
    [`chain,asset,symbol\nETH,${FAKE},\u202eDSU\n`, /line 2: symbol: must not have control/],
    ['chain,asset\nALGO,31\u000066\n', /line 2: asset: must not have control/],
  ])('rejects a file that is not fully valid: %j', (text, message) => {
    expect(() => loadTokenList({ ownFile: write(text) })).toThrow(message);
  });

  it('rejects a missing file', () => {
    expect(() => loadTokenList({ ownFile: join(folder.path, 'none.csv') })).toThrow(/not a file/);
  });
});

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { formatAddressKey, isCanonicalAsGiven, parseAddress } from '../../../src/chains/address/parse.ts';
import { type ChainId, chainOf } from '../../../src/chains/registry.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';

const asGiven = (chain: ChainId, text: string): boolean =>
  isCanonicalAsGiven(chain, text.charCodeAt(0), text.charCodeAt(1));

it('is reported as canonical only if it equals the text of its key', () => {
  const chains = fc.constantFrom<ChainId>('BTC', 'LTC', 'DOGE', 'DASH', 'TRON');
  let skipped = 0;
  fc.assert(
    fc.property(
      chains,
      fc.constantFrom(1, 2),
      fc.uint8Array({ minLength: 20, maxLength: 20 }),
      (chain, kind, hash) => {
        const text = formatAddressKey(
          Uint8Array.of(chainOf(chain).keyByte, chain === 'TRON' ? 1 : kind, ...hash),
          chain,
        );
        if (!asGiven(chain, text) && !text.startsWith('LT')) skipped++;
        // Not `canonical`, which is the text itself then.
        expect(formatAddressKey(parseAddress(chain, text).key, chain)).toBe(text);
      },
    ),
  );
  // If the table were empty, the shortcut would never apply.
  expect(skipped).toBe(0);
});

it.each([
  ['LTC', '3NJZLcZEEYBpxYEUGewU4knsQRn1WM5Fkt'],
  ['LTC', 'LTC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KGMN4N9'],
  ['BTC', 'BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ'],
  ['BCH', '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu'],
  ['ETH', '0x52908400098527886E0F7030069857D2E4169EE7'],
] as const)('%s %s is not canonical as written', (chain, text) => {
  expect(asGiven(chain, text)).toBe(false);
});

describeWithSharedData('every vector', () => {
  it('is reported as canonical if it is', () => {
    const rows = JSON.parse(readFileSync(sharedData('addresses', 'vectors.json'), 'utf8')) as {
      chain: ChainId;
      address: string;
      valid: boolean;
      canonical: string;
    }[];
    const called = rows.filter((row) => row.valid && asGiven(row.chain, row.address));
    expect(called.length).toBeGreaterThan(7);
    for (const row of called) {
      expect(row.canonical).toBe(row.address);
      expect(formatAddressKey(parseAddress(row.chain, row.address).key, row.chain)).toBe(row.address);
    }
  });
});

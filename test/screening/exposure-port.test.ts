import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { EXPOSURE, NO_EXPOSURE, unreadExposures } from '../../src/screening/exposure-port.ts';

describe('exposures of a thread without indexes', () => {
  it('are reported as unread if transfers of the chain are stored, and as absent otherwise', () => {
    const reader = unreadExposures((chain) => (chain === 'ETH' ? 1 : 0));
    const { key } = parseAddress('ETH', `0x${'1'.repeat(40)}`);
    expect(reader.find('ETH', key, key.length)).toBe(EXPOSURE.NOT_READ);
    expect(reader.status()).toMatchObject({ state: 'NOT_READ', asOf: null });
    expect(reader.find('BSC', key, key.length)).toBe(EXPOSURE.NO_GRAPH);
    expect(reader.status()).toMatchObject({ state: 'NO_GRAPH', asOf: null });
    expect(reader.verdict()).toBe(NO_EXPOSURE);
    expect(reader.waitsSinceMs()).toBe(0);
  });
});

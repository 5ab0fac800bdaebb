import { describe, expect, it } from 'vitest';
import { AssayError } from '../../../src/base/errors.ts';
import { createAssetDecimals, orUnknown } from '../../../src/chains/families/asset-decimals.ts';
import type { Call } from '../../../src/chains/families/port.ts';
import type { Transfer } from '../../../src/chains/transfer.ts';
import { within } from '../../conformance/adapter.ts';

const transfer = (asset: string, decimals: number | null = null): Transfer => ({
  chain: 'ALGO',
  txHash: 'T',
  position: 'value',
  blockNumber: 1,
  timestampMs: 0,
  from: null,
  to: null,
  asset,
  amount: 1n,
  decimals,
  valueUsd: null,
});

describe('asset decimals', () => {
  it('are requested once each, and only for assets without them', async () => {
    const requested: string[] = [];
    const decimals = createAssetDecimals('ALGO', async (asset) => {
      requested.push(asset);
      return asset === '7' ? null : 6;
    });
    const rows = [transfer('5'), transfer('ALGO', 6), transfer('7'), transfer('5'), transfer('9', 2)];
    for (let n = 0; n < 2; n++)
      expect((await decimals.fill(rows, within(1_000))).map((row) => row.decimals)).toEqual([
        6,
        6,
        null,
        6,
        2,
      ]);
    expect(requested).toEqual(['5', '7']);
  });

  it('are unknown if the request fails, use part of the budget, and are requested again', async () => {
    let isDown = true;
    const budgets: number[] = [];
    const decimals = createAssetDecimals('ALGO', async (_, call: Call) => {
      budgets.push(call.budgetMs);
      if (isDown) throw new AssayError('CHAIN_UNREACHABLE', 'down');
      return 3;
    });
    const decimalsNow = async () => (await decimals.fill([transfer('5')], within(1_000)))[0]?.decimals;
    expect(await decimalsNow()).toBeNull();
    isDown = false;
    expect(await decimalsNow()).toBe(3);
    expect(budgets).toEqual([250, 250]);
  });

  it('end with the call, and do not hide programming errors', async () => {
    const reason = new Error('the caller left');
    const left = createAssetDecimals('ALGO', () => Promise.reject(new AssayError('CHAIN_TIMEOUT', 'late')));
    await expect(left.fill([transfer('5')], within(1_000, AbortSignal.abort(reason)))).rejects.toBe(reason);
    const broken = createAssetDecimals('ALGO', () => Promise.reject(new TypeError('broken')));
    await expect(broken.fill([transfer('5')], within(1_000))).rejects.toThrow('broken');
    expect(() => orUnknown(() => JSON.parse('{') as number)('x')).toThrow(SyntaxError);
  });

  it('are not requested a thousand times for a thousand unknown tokens', async () => {
    let requested = 0;
    const decimals = createAssetDecimals('ALGO', async () => {
      requested++;
      return 0;
    });
    await decimals.fill(
      Array.from({ length: 1_000 }, (_, n) => transfer(String(n))),
      within(1_000),
    );
    expect(requested).toBe(32);
  });
});

import { describe, expect, it } from 'vitest';
import { blockTransfers } from '../../src/chains/families/evm/transfers.ts';
import { asCalldata, readBlock, readReceipt } from '../../src/chains/families/evm/wire.ts';
import { initiationOf } from '../../src/chains/initiation.ts';

const HOLDER = '0xae2Fc483527B8EF99EB5D9B44875F005ba1FaE13';
const OTHER = '0x6b75d8AF000000e20B7a7DDf000Ba900b4009A80';
const ATTACKER = '0x00000000219ab540356cBB839Cbe05303d7705Fa';
const TOKEN = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const word = (value: bigint | string): string =>
  (typeof value === 'bigint' ? value.toString(16) : value.slice(2).toLowerCase()).padStart(64, '0');

const moved = { from: HOLDER, to: OTHER, asset: TOKEN, amount: 7n, decimals: 6 };
const transfer = `a9059cbb${word(OTHER)}${word(7n)}`;
const transferFrom = `23b872dd${word(HOLDER)}${word(OTHER)}${word(7n)}`;

describe('the initiation of a transfer', () => {
  it.each([
    ['a call of transfer by the sender', HOLDER, TOKEN, transfer, true, true],
    ['a call of transfer by another account', ATTACKER, TOKEN, transfer, true, false],
    ['a call of transferFrom', ATTACKER, TOKEN, transferFrom, true, true],
    ['another amount', HOLDER, TOKEN, `a9059cbb${word(OTHER)}${word(8n)}`, true, false],
    ['another receiver', HOLDER, TOKEN, `a9059cbb${word(ATTACKER)}${word(7n)}`, true, false],
    ['calldata that ends early', HOLDER, TOKEN, transfer.slice(0, -2), true, false],
    ['another method', HOLDER, TOKEN, `12345678${word(OTHER)}${word(7n)}`, true, false],
    ['a call of another contract', HOLDER, ATTACKER, transfer, false, false],
    ['a creation', HOLDER, null, transfer, false, false],
    ['a source without calldata', HOLDER, TOKEN, undefined, true, null],
    ['a source that names the sender alone', HOLDER, undefined, undefined, null, null],
  ] as const)('reads %s', (_, sender, called, input, callsAsset, decodes) => {
    expect(initiationOf(moved, { sender, called, input }, 'ETH')).toEqual({ sender, callsAsset, decodes });
  });

  it('compares no amount of an NFT, and the fourth word of an ERC-1155', () => {
    const piece = { ...moved, amount: 1n, decimals: 0 };
    const call = (input: string) => ({ sender: HOLDER, called: TOKEN, input });
    const safe = `42842e0e${word(HOLDER)}${word(OTHER)}${word(9_999n)}`;
    expect(initiationOf(piece, call(safe), 'ETH').decodes).toBe(true);
    expect(initiationOf(moved, call(safe), 'ETH').decodes).toBe(false);
    const kinds = `f242432a${word(HOLDER)}${word(OTHER)}${word(9_999n)}${word(7n)}`;
    expect(initiationOf({ ...moved, decimals: 0 }, call(kinds), 'ETH').decodes).toBe(true);
  });

  it('is unknown for the contract of a native coin', () => {
    const native = { ...moved, asset: 'ETH' };
    expect(initiationOf(native, { sender: HOLDER, called: OTHER, input: '' }, 'ETH')).toEqual({
      sender: HOLDER,
      callsAsset: null,
      decodes: null,
    });
  });

  it('accepts only hex as calldata', () => {
    expect(asCalldata(`0x${transfer.toUpperCase()}`)).toBe(transfer);
    for (const value of [undefined, null, 7, 'a9059cbb', '0xzz', { a: 1 }])
      expect(asCalldata(value as string)).toBeUndefined();
  });
});

describe('a block of an EVM node', () => {
  const topic = (name: string): string =>
    name === 'Transfer'
      ? '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
      : // keccak-256 of Approval(address,address,uint256)
        '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925';
  const hash = `0x${'1'.repeat(64)}`;
  const block = (status: string, logs: readonly object[], to = TOKEN) => {
    const read = readBlock(
      {
        number: '0x1',
        hash,
        parentHash: hash,
        timestamp: '0x6450ffff',
        transactions: [{ hash, from: HOLDER, to, value: '0x5', input: `0x${transfer}` }],
      },
      'whole',
    );
    const receipt = readReceipt({ transactionHash: hash, blockHash: hash, status, logs } as never);
    if (read === null) throw new Error('no block');
    const inner = [{ transactionIndex: 0, path: '0', from: TOKEN, to: OTHER, value: 3n }];
    return blockTransfers('ETH', read, [receipt], inner, () => 6);
  };
  const log = (event: string, from: string, to: string) => ({
    address: TOKEN,
    topics: [topic(event), `0x${word(from)}`, `0x${word(to)}`],
    data: `0x${word(7n)}`,
    logIndex: '0x0',
  });

  it('shows the sender, that it calls the token, and that the call is the transfer', () => {
    const transfers = block('0x1', [log('Transfer', HOLDER, OTHER)]);
    expect(transfers.map(({ position, initiation }) => [position, initiation])).toEqual([
      ['value', { sender: HOLDER, callsAsset: null, decodes: null }],
      ['log:0', { sender: HOLDER, callsAsset: true, decodes: true }],
      ['trace:0', { sender: HOLDER, callsAsset: null, decodes: null }],
    ]);
  });

  it('shows that a forged event differs from the call', () => {
    const [, forged] = block('0x1', [log('Transfer', OTHER, ATTACKER)]);
    expect(forged?.initiation).toEqual({ sender: HOLDER, callsAsset: true, decodes: false });
  });

  it('distinguishes an approval from a transfer, and includes internal value', () => {
    const transfers = block('0x1', [log('Approval', HOLDER, OTHER)]);
    expect(transfers.map(({ position, asset, amount }) => [position, asset, amount])).toEqual([
      ['value', 'ETH', 5n],
      ['trace:0', 'ETH', 3n],
    ]);
  });

  it('has no transfers for a failed transaction, and no counterparty of a mint', () => {
    expect(block('0x0', []).map(({ position, amount }) => [position, amount])).toEqual([['value', 0n]]);
    const zero = `0x${'0'.repeat(40)}`;
    expect(block('0x1', [log('Transfer', zero, OTHER)])[1]).toMatchObject({ from: null, to: OTHER });
    expect(block('0x1', [log('Transfer', HOLDER, zero)])[1]).toMatchObject({ from: HOLDER, to: null });
  });
});

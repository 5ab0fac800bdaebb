import { expect, test } from 'vitest';
import type { TransferGraph } from '../../src/graph/graph.ts';
import { shownNode } from '../../src/screening/subject.ts';

const graphOf = (chain: 'BTC' | 'ETH', key: Uint8Array): TransferGraph =>
  ({ chain, addressOf: () => 'the canonical text', keyOf: () => key }) as unknown as TransferGraph;

test('a node is shown as its canonical text, and one of an EVM chain in lower case', () => {
  const key = Buffer.from(`0101${'ab'.repeat(20)}`, 'hex');
  expect(shownNode(graphOf('BTC', key), 0 as never)).toBe('the canonical text');
  expect(shownNode(graphOf('ETH', key), 0 as never)).toBe(`0x${'ab'.repeat(20)}`);
});

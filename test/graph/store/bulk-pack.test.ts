import { expect, it } from 'vitest';
import { GRAPH_LIMITS } from '../../../src/graph/limits.ts';
import {
  NEW_FOR_RECEIVER,
  NEW_FOR_SENDER,
  NodeGroup,
  packGroup,
} from '../../../src/graph/store/bulk-pack.ts';
import { counterpartiesIn } from '../../../src/graph/store/node-record.ts';
import {
  HALF_AMOUNT,
  HALF_COUNTERPARTY,
  HALF_INDEX,
  HALF_NODE,
  HALF_TIME,
  HALF_WORDS,
} from '../../../src/graph/store/runs.ts';

const NODE = 7;
const COUNTERPARTIES = 1_000;
const FIRST = 10;
/** More than 2^20, so that no transfer may be taken for one of the next counterparty, and no more than are packed at once. */
const TRANSFERS = 1_100_000;

it('packs the transfers of a hub, each with its own counterparty', () => {
  expect(TRANSFERS).toBeLessThan(GRAPH_LIMITS.bulkPackedTransfers);
  const group = new NodeGroup();
  const half = new Uint32Array(HALF_WORDS);
  half[HALF_NODE] = NODE * 2;
  half[HALF_TIME] = 1;
  half[HALF_AMOUNT] = 5;
  for (let index = 0; index < TRANSFERS; index++) {
    // Even ids only: an odd one would be a transfer in the place of another counterparty.
    half[HALF_COUNTERPARTY] = FIRST + 2 * (index % COUNTERPARTIES);
    half[HALF_INDEX] = index;
    group.add(half, 0);
  }
  const marks = new Uint8Array(TRANSFERS).fill(NEW_FOR_SENDER | NEW_FOR_RECEIVER);
  const firstIds: number[] = [];
  let record = Buffer.alloc(0);
  packGroup({ firstOrdinal: 0, marks, largeAmount: () => 0n }, NODE, group, {
    chunk: (_node, direction, firstId) => {
      expect(direction).toBe(0);
      firstIds.push(firstId);
    },
    node: (node, bytes) => {
      expect(node).toBe(NODE);
      record = Buffer.from(bytes);
    },
  });
  expect(counterpartiesIn(record, 0)).toBe(COUNTERPARTIES);
  expect(counterpartiesIn(record, 1)).toBe(0);
  expect(firstIds.every((id) => id % 2 === 0)).toBe(true);
  expect(firstIds).toEqual(firstIds.toSorted((a, b) => a - b));
});

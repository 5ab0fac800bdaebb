import { expect, it } from 'vitest';
import { BufferPool, type PooledJson, takeJson } from '../../src/base/buffer-pool.ts';
import { LIMITS } from '../../src/base/limits.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (result: unknown): string => Buffer.from((result as PooledJson).json).toString();

it('returns every result unchanged while all slots are in use', () => {
  const memory = BufferPool.allocate();
  const workers = [new BufferPool(memory), new BufferPool(memory)] as const;
  const main = new BufferPool(memory);
  const packed = Array.from({ length: LIMITS.poolSlots }, (_, index) =>
    workers[index % 2 === 0 ? 0 : 1].pack({ json: bytesOf(`answer ${index}`), answered: index }),
  );
  const results = packed.map((one) => main.unpack(one));
  results.forEach((result, index) => {
    expect(textOf(result)).toBe(`answer ${index}`);
    expect(result).toMatchObject({ answered: index });
  });
  expect(new Set(packed.map(({ buffer }) => buffer?.slot)).size).toBe(LIMITS.poolSlots);
});

it('leaves a result its own bytes if no slot is free or it does not fit', () => {
  const memory = BufferPool.allocate();
  const [worker, main] = [new BufferPool(memory), new BufferPool(memory)];
  const long = worker.pack({ json: new Uint8Array(LIMITS.poolSlotBytes + 1) });
  expect(long.buffer).toBeUndefined();
  const unpacked = Array.from({ length: LIMITS.poolSlots }, () =>
    main.unpack(worker.pack({ json: bytesOf('x') })),
  );
  const full = worker.pack({ json: bytesOf('own') });
  expect(full.buffer).toBeUndefined();
  expect(textOf(main.unpack(full))).toBe('own');
  (unpacked[7] as PooledJson).release?.();
  expect(worker.pack({ json: bytesOf('again') }).buffer?.slot).toBe(7);
});

it('passes a result without JSON text through', () => {
  const pool = new BufferPool(BufferPool.allocate());
  for (const result of [null, 'text', 7, new Uint8Array(3), { json: 'text' }]) {
    expect(pool.unpack(pool.pack(result))).toBe(result);
  }
});

it('copies a view of longer memory if no slot is free, so that its owner may reuse the memory', () => {
  const pool = new BufferPool(BufferPool.allocate());
  for (let slot = 0; slot < LIMITS.poolSlots; slot++) pool.pack({ json: bytesOf('x') });
  const memory = bytesOf('answer and more');
  const { result } = pool.pack({ json: memory.subarray(0, 6) });
  memory.fill(0);
  expect(textOf(result)).toBe('answer');
  expect((result as PooledJson).json.buffer.byteLength).toBe(6);
});

it('gives a text bytes of its own, and releases its slot once', () => {
  const memory = BufferPool.allocate();
  const [worker, main] = [new BufferPool(memory), new BufferPool(memory)];
  const first = main.unpack(worker.pack({ json: bytesOf('first') })) as PooledJson;
  const taken = takeJson(first);
  expect(taken.buffer).not.toBeInstanceOf(SharedArrayBuffer);
  for (let slot = 1; slot < LIMITS.poolSlots; slot++) worker.pack({ json: bytesOf('other') });
  const second = main.unpack(worker.pack({ json: bytesOf('second') })) as PooledJson;
  // The slot is that of another result now.
  first.release?.();
  expect(worker.pack({ json: bytesOf('third') }).buffer).toBeUndefined();
  expect([Buffer.from(taken).toString(), textOf(second)]).toEqual(['first', 'second']);
  const owned = { json: bytesOf('owned') };
  expect(takeJson(owned)).toBe(owned.json);
});

/**
 * The behaviour that every kind of lease shares: it has one holder at a time, reports its loss, and can be taken again after its release.
 */
import { expect, it } from 'vitest';
import type { Leases } from '../../src/state/leases.ts';

export function leasesConform(make: () => { readonly one: Leases; readonly other: Leases }): void {
  let names = 0;
  const fresh = (): string => `work${++names}:${process.pid}`;

  it('has one holder at a time', async () => {
    const { one, other } = make();
    const name = fresh();
    const held = await one.take('store', name);
    expect(held).toMatchObject({ name });
    expect(held?.isHeld()).toBe(true);
    expect(held?.lost.aborted).toBe(false);
    expect(await one.take('store', name)).toBeNull();
    expect(await other.take('store', name)).toBeNull();
    await held?.release();
  });
  it('protects one store and one name', async () => {
    const { one, other } = make();
    const name = fresh();
    const held = [
      await one.take('store', name),
      await other.take('store', `${name}2`),
      await other.take('store2', name),
    ];
    expect(held.every((lease) => lease !== null)).toBe(true);
    for (const lease of held) await lease?.release();
  });
  it('is available at once after a release, and a second release has no effect on the next holder', async () => {
    const { one, other } = make();
    const name = fresh();
    const held = await one.take('store', name);
    await held?.release();
    expect(held?.isHeld()).toBe(false);
    const next = await other.take('store', name);
    expect(next).not.toBeNull();
    await held?.release();
    expect(await one.take('store', name)).toBeNull();
    await next?.release();
  });
  it('is acquired by one of many concurrent callers', async () => {
    const { one, other } = make();
    const name = fresh();
    const held = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 ? one : other).take('store', name)),
    );
    const [holder, ...more] = held.filter((lease) => lease !== null);
    expect(more).toEqual([]);
    await holder?.release();
  });
}

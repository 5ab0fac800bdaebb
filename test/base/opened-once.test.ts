import { expect, it } from 'vitest';
import { createOpenedOnce } from '../../src/base/opened-once.ts';

it('closes each opened service once, in reverse order, even if one fails', async () => {
  const { once, closeAll } = createOpenedOnce();
  const told: string[] = [];
  const part = (name: string, fails = false) =>
    once(
      () => name,
      () => {
        told.push(name);
        if (fails) throw new Error(`${name} does not close`);
      },
    );
  const [first, second, third, never] = [part('first'), part('second', true), part('third'), part('never')];
  expect([first(), second(), third(), first(), typeof never]).toEqual([
    'first',
    'second',
    'third',
    'first',
    'function',
  ]);
  await expect(closeAll()).rejects.toThrow('second does not close');
  await closeAll();
  expect(told).toEqual(['third', 'second', 'first']);
});

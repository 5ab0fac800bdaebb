import { expect, test } from 'vitest';
import { orderOf } from '../../src/billing/packages.ts';

const agreement = { credits: 1_000_000, amount: 500_000 } as Parameters<typeof orderOf>[1];

test('an agreement is bought once, because it is about one amount of credits', () => {
  expect(orderOf([], agreement, { package: 'custom' })).toMatchObject({ credits: 1_000_000, quantity: 1 });
  expect(() => orderOf([], agreement, { package: 'custom', quantity: 2 })).toThrow('quantity: must be 1');
});

test('an account without an agreement cannot buy a custom package', () => {
  expect(() => orderOf([], null, { package: 'custom' })).toThrow('bought by agreement');
});

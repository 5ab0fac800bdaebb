import { expect, test } from 'vitest';
import { orderOf } from '../../src/billing/packages.ts';
import { priceOfCredits } from '../../src/billing/x402/prices.ts';

const agreement = { credits: 1_000_000, amount: 500_000 } as Parameters<typeof orderOf>[1];

test('an agreement is bought once, because it is about one amount of credits', () => {
  expect(orderOf([], agreement, { package: 'custom' })).toMatchObject({ credits: 1_000_000, quantity: 1 });
  expect(() => orderOf([], agreement, { package: 'custom', quantity: 2 })).toThrow('quantity: must be 1');
});

test('an account without an agreement cannot buy a custom package', () => {
  expect(() => orderOf([], null, { package: 'custom' })).toThrow('bought by agreement');
});

test('a call has the price of the smallest package, rounded up to the smallest unit of USDC', () => {
  const packages = [
    { name: 'Large', credits: 30, priceUsd: 5 },
    { name: 'Small', credits: 3, priceUsd: 1 },
  ] as unknown as Parameters<typeof priceOfCredits>[0];
  expect([1, 2, 3].map((credits) => priceOfCredits(packages, credits))).toEqual([
    333_334n,
    666_667n,
    1_000_000n,
  ]);
});

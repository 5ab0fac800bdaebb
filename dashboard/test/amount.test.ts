import { expect, it } from 'vitest';
import { amountText } from '../src/ui/amount.ts';

it.each([
  ['1.500000000000000000', '1.5'],
  ['0.000000000000000001', '<0.000001'],
  ['123456789012345678901234567890.123456789', '123456789012345678901234567890.123456'],
  ['12', '12'],
  ['0', '0'],
  ['0.0', '0'],
])('writes %s as %s', (amount, text) => {
  expect(amountText(amount)).toBe(text);
});

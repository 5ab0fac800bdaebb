/** Amounts as answers show them (docs/decisions/amounts.md): decimal text in native units, with `decimals` beside it. */

/**
 * Returns an amount of the smallest unit in native units, without trailing zeros.
 *
 * @param decimals - of the asset; if null, the amount stays in the smallest unit
 */
export function nativeUnits(amount: bigint, decimals: number | null): string {
  if (decimals === null || decimals === 0) return amount.toString();
  if (amount < 0n) return `-${nativeUnits(-amount, decimals)}`;
  const digits = amount.toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  const whole = digits.slice(0, -decimals);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

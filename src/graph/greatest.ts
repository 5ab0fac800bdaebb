/** Selects the greatest of many numbers without sorting them. */

/** Rounds after which the rest is sorted: orders that make partitions uneven do not make a selection slow. */
const ROUNDS_MAX = 48;

/**
 * Returns the `nth` greatest of the first `count` numbers, and moves them (quickselect: Hoare, 1961).
 *
 * @param nth from 1 to `count`
 * @example
 * nthGreatest(Float64Array.of(3, 9, 5), 3, 2); // 5
 */
export function nthGreatest(numbers: Float64Array, count: number, nth: number): number {
  const place = nth - 1;
  let low = 0;
  let high = count - 1;
  for (let round = 0; low < high; round++) {
    if (round === ROUNDS_MAX) {
      numbers.subarray(low, high + 1).sort();
      return numbers[high - (place - low)] as number;
    }
    const pivot = medianOf(numbers[low], numbers[(low + high) >>> 1], numbers[high]);
    let left = low;
    let right = high;
    while (left <= right) {
      while ((numbers[left] as number) > pivot) left++;
      while ((numbers[right] as number) < pivot) right--;
      if (left > right) break;
      const moved = numbers[left] as number;
      numbers[left++] = numbers[right] as number;
      numbers[right--] = moved;
    }
    if (place <= right) high = right;
    else if (place >= left) low = left;
    else break;
  }
  return numbers[place] as number;
}

const medianOf = (a = 0, b = 0, c = 0): number => Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));

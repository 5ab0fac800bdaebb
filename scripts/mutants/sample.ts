/** Selects the mutants of a run: the same for the same seed, spread over files and operators. */
import { seededUint32 } from '../../src/base/random.ts';
import type { Mutant } from './operators.ts';

/**
 * Draws all mutants in a random order. Each round takes one mutant from every file in turn. Within a file it first picks an operator, then
 * one of its mutants. So neither a long file nor a frequent operator dominates a sample taken from the front.
 *
 * @param mutants all mutants of the room
 * @param seed uint32
 */
export function* drawMutants(mutants: readonly Mutant[], seed: number): Generator<Mutant> {
  const next = seededUint32(seed);
  const below = (limit: number): number => next() % limit;
  const byFile = new Map<string, Mutant[]>();
  for (const mutant of mutants) byFile.set(mutant.file, [...(byFile.get(mutant.file) ?? []), mutant]);
  const files = shuffled([...byFile.keys()].sort(), below);
  while (byFile.size > 0) {
    for (const file of files) {
      const left = byFile.get(file);
      if (left === undefined) continue;
      const operators = [...new Set(left.map((mutant) => mutant.operator))].sort();
      const operator = operators[below(operators.length)];
      const candidates = left.filter((mutant) => mutant.operator === operator);
      const mutant = candidates[below(candidates.length)] as Mutant;
      if (left.length === 1) byFile.delete(file);
      else left.splice(left.indexOf(mutant), 1);
      yield mutant;
    }
  }
}

function shuffled<Value>(values: readonly Value[], below: (limit: number) => number): Value[] {
  const mixed = [...values];
  for (let last = mixed.length - 1; last > 0; last--) {
    const other = below(last + 1);
    [mixed[last], mixed[other]] = [mixed[other] as Value, mixed[last] as Value];
  }
  return mixed;
}

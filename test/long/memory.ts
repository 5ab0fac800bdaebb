/** The memory of a server, measured from outside. */
import { type ProcessMemory, processMemory } from '../../src/base/process-memory.ts';

/** Reads the memory of a process. @param pid of a process of this machine, which must be Linux */
export function memoryOf(pid: number): ProcessMemory {
  const memory = processMemory(pid);
  if (memory === null) throw new Error(`The memory of process ${pid} cannot be read.`);
  return memory;
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

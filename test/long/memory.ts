/** The memory of a process, split into what is its own and what it maps from files. */
import { readFileSync } from 'node:fs';

export interface Memory {
  /** Pages that belong to the process alone: heaps, stacks, buffers, what the allocator keeps. */
  readonly ownBytes: number;
  /** Pages of mapped files that are in memory: stores, programs. The system takes them back when others need the room. */
  readonly mappedBytes: number;
}

/** Reads the memory of a process. @param pid of a process of this machine (Linux) */
export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) * 1024;
  // Files on a memory file system count as shared memory.
  return { ownBytes: bytes('RssAnon'), mappedBytes: bytes('RssFile') + bytes('RssShmem') };
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

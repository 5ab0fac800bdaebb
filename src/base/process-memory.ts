/** The memory of a process, split into its own memory and mapped files. */
import { readFileSync } from 'node:fs';

export interface ProcessMemory {
  /** Pages that belong to the process alone: heaps, stacks, buffers, and memory held by the allocator. */
  readonly ownBytes: number;
  /** Pages of mapped files that are in memory: stores and programs. The system reclaims them when other processes need memory. */
  readonly mappedBytes: number;
}

/**
 * Reads the memory of a process from the kernel.
 *
 * @param process - process id; default: the caller's process
 * @returns the resident memory in bytes; null if the system does not report the two apart, as outside Linux
 */
export function processMemory(process: number | 'self' = 'self'): ProcessMemory | null {
  let status: string;
  try {
    status = readFileSync(`/proc/${process}/status`, 'latin1');
  } catch {
    return null;
  }
  const bytesOf = (name: string): number => {
    const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
    return kilobytes === undefined ? Number.NaN : Number(kilobytes) * 1_024;
  };
  const ownBytes = bytesOf('RssAnon');
  // Files on a memory file system count as shared memory.
  const mappedBytes = bytesOf('RssFile') + bytesOf('RssShmem');
  return Number.isNaN(ownBytes + mappedBytes) ? null : { ownBytes, mappedBytes };
}

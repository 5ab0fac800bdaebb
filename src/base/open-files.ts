/** The limit of open files of a process. */
import { readFileSync } from 'node:fs';

/** Returns the soft limit of open files of a process (Linux); null if the system does not report it. */
export function openFilesLimit(pid: number | 'self'): number | null {
  try {
    const [, soft] = /^Max open files\s+(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1')) ?? [];
    if (soft === undefined) return null;
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return null;
  }
}

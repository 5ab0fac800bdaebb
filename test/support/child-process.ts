/** Programs that a test waits for with its thread blocked. The runner cannot end such a wait, so it has a limit of its own. */
import * as processes from 'node:child_process';

/** Far more than any of them takes on a busy machine: it only ends programs that hang. */
const TIMEOUT_MS = 240_000;
const BOUNDED = { timeout: TIMEOUT_MS, killSignal: 'SIGKILL' } as const;

/** `spawnSync` of Node with a limit: a program that hangs is killed, and its outcome has an `error`. */
export const spawnSync = ((
  command: string,
  args: readonly string[],
  options: processes.SpawnSyncOptions = {},
) => processes.spawnSync(command, args, { ...BOUNDED, ...options })) as typeof processes.spawnSync;

/** `execFileSync` of Node with a limit: throws if the program hangs. */
export const execFileSync = ((
  file: string,
  args: readonly string[],
  options: processes.ExecFileSyncOptions = {},
) => processes.execFileSync(file, args, { ...BOUNDED, ...options })) as typeof processes.execFileSync;

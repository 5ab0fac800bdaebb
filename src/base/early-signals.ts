/**
 * Signals while the program is being loaded, which takes up to a second. This module imports nothing, so that its listeners are in
 * place before that.
 */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** As in the table of exit codes (src/cli/exit-codes.ts). */
const INTERRUPTED = 130;

function end(): void {
  process.stderr.write('assay: Interrupted. Nothing was done.\n');
  process.exit(INTERRUPTED);
}

/** Ends the process at a signal, with one sentence, until `leaveSignals` is called. */
export function takeEarlySignals(): void {
  // Not `once`: a second signal, before the process has ended, would end it without a sentence.
  for (const signal of SIGNALS) process.on(signal, end);
}

/** Ends the handling of signals by this module. The caller already has listeners of its own. */
export function leaveSignals(): void {
  for (const signal of SIGNALS) process.removeListener(signal, end);
}

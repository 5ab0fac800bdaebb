#!/usr/bin/env node
/** The `assay` command: listens for signals, then loads the program. */
import { takeEarlySignals } from './base/early-signals.ts';

takeEarlySignals();
// Scripts look up one address per process. A look-up needs a tenth of the program.
if (process.argv[2] === 'lookup') await (await import('./app/lookup.ts')).runLookup();
await import('./program.ts');

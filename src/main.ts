#!/usr/bin/env node
/** The `assay` command: listens for signals, then loads the program. */
import { takeEarlySignals } from './base/early-signals.ts';

takeEarlySignals();
await import('./program.ts');

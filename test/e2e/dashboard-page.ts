/** What tests of the dashboard run in its pages. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/paths.ts';

/** A browser on a busy machine takes seconds to start and to render. */
export const PATIENCE_MS = 60_000;

/** The source of axe-core. */
export const AXE = readFileSync(
  join(projectRoot, 'dashboard', 'node_modules', 'axe-core', 'axe.min.js'),
  'utf8',
);

/** Runs before the scripts of a page. */
export const COLLECT_VIOLATIONS = `globalThis.violations = [];
addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
  violations.push(effectiveDirective + ' ' + blockedURI));`;

/**
 * Makes the files that tests need beside the built program: the program joined to one file (scripts/joined) and, in dist/bundled, programs of tests and typebox
 * joined in the same way, and the labels and names that a first start builds.
 */
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import {
  isMade,
  joinEntries,
  joinedState,
  joinProgram,
  KEEP,
  markMade,
  runOnce,
  startOnce,
} from '../../scripts/joined/join.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { BUILT_AT_FIRST_START, isKeptInCopies, PREPARED } from './prepared-folder.ts';
import { PROGRAM } from './program-path.ts';

const FOLDER = 'bundled';
const out = join(projectRoot, 'dist', FOLDER);
/** Programs of tests that are started often. */
const PROBES = { 'store-probe': 'test/state/store-probe' } as const;
/** Entries of typebox, whose 340 modules most test files load: they load it joined as well (`vitest.config.ts`). */
const TYPEBOX = { index: 'typebox', compile: 'typebox/compile', value: 'typebox/value' } as const;

/** Joins the program and what tests need, if the program was built again since. */
export async function bundleForTests(): Promise<void> {
  // Not for the one run of a mutant.
  const isCompiled = process.env.ASSAY_TEST_COMPILED !== 'no';
  await joinProgram(projectRoot, { isCompiled });
  const modules = Object.values(PROBES).map((name) => join(projectRoot, 'dist', `${name}.js`));
  const state = joinedState(projectRoot, [fileURLToPath(import.meta.url), ...modules]);
  if (isMade(projectRoot, FOLDER, state)) return;
  await joinEntries({ root: projectRoot, name: FOLDER, entries: PROBES });
  await joinTypebox();
  if (isCompiled) await prepare();
  markMade(projectRoot, FOLDER, state);
}

/**
 * Keeps what a first start builds from the shipped data, if it did, for the folders of tests (`prepared-folder.ts`): 1.4 s of processor time for each
 * first start less. Secrets, and files that differ between folders, such as accounts, are not kept. Keeps the compiled code of the probes as well.
 */
const prepare = (): Promise<void> =>
  startOnce(PROGRAM, {}, (store, env) => {
    const keys = join(store, 'accounts', 'keys.mdb');
    for (const name of Object.keys(PROBES))
      runOnce([join(out, `${name}.cjs`), 'keys', keys], { ...env, [KEEP]: out });
    if (!BUILT_AT_FIRST_START.every((name) => existsSync(join(store, name)))) return;
    for (const name of new Set(BUILT_AT_FIRST_START.map((path) => path.split('/')[0] as string)))
      cpSync(join(store, name), join(PREPARED, name), {
        recursive: true,
        filter: isKeptInCopies,
      });
  });

/** Joins typebox for the processes of the tests. */
async function joinTypebox(): Promise<void> {
  await build({
    entryPoints: TYPEBOX,
    outdir: join(out, 'typebox'),
    outExtension: { '.js': '.mjs' },
    absWorkingDir: projectRoot,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    keepNames: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
}

/**
 * Which test files need a process of their own. All others take turns in a few processes, in which a module is loaded once for all of them:
 * modules of the program have no state (docs/ARCHITECTURE.md), and a test closes what it opens.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** A file with one of these replaces what other files use, or measures the process that it runs in. Another file says so in a comment. */
const ALONE = new RegExp(
  [
    String.raw`\bvi\s*\.\s*(?:mock|doMock|hoisted|stubGlobal|stubEnv|useFakeTimers|setSystemTime|spyOn|resetModules)\b`,
    String.raw`\bprocess\s*\.\s*(?:memoryUsage|cpuUsage|getActiveResourcesInfo|chdir|umask|on|once)\b`,
    String.raw`\bglobalThis\s*\.\s*\w+\s*=[^=]|\bprocess\s*\.\s*env\s*\.\s*\w+\s*=[^=]|delete process\.env`,
    'needs a process of its own',
    String.raw`\bmonitorEventLoopDelay\b|/proc/self/fd|\bcollectGarbage\b`,
  ].join('|'),
);

/**
 * Finds the test files below some folders that need a process of their own.
 *
 * @param root - the folder of the project
 * @param folders - folders of tests below it
 * @returns their paths relative to `root`, with slashes
 */
export const filesAlone = (root: string, folders: readonly string[]): string[] =>
  folders
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => ALONE.test(readFileSync(path, 'utf8')))
    .map((path) => relative(root, path).replaceAll('\\', '/'))
    .sort();

/** Reads and writes the list of mutants that no test detects: a Markdown table of place, mutation and reason. */
import type { Diff } from './operators.ts';

export interface Survivor {
  readonly file: string;
  /** 1-based, at the time the row was written; a row is found by its file and mutation. */
  readonly line: number;
  /** `before → after`, on one line. */
  readonly mutation: string;
  readonly reason: string;
}

/** Prefix of a reason: no test can detect the mutant. Such a mutant is left out of the share. */
export const EQUIVALENT = 'equivalent: ';

const oneLine = (code: string): string => code.replace(/\s+/g, ' ').trim();

/** @returns `before → after` of a diff, on one line. */
export const mutationText = (diff: Diff): string => `${oneLine(diff.before)} → ${oneLine(diff.after)}`;

/** @returns one row of the table. */
export function survivorRow({ file, line, mutation, reason }: Survivor): string {
  // Two backticks, because the code may be a template string.
  return `| ${file}:${line} | \`\` ${mutation.replaceAll('|', '\\|')} \`\` | ${reason} |`;
}

/**
 * Reads the rows of the table; other lines are prose.
 *
 * @throws if a line that begins with `| src/` or `| workers/` is not a row
 */
export function readSurvivors(markdown: string): Survivor[] {
  return markdown
    .split('\n')
    .filter((text) => /^\| (?:src|workers)\//.test(text))
    .map((text) => {
      const row = /^\| (\S+):(\d+) \| `` (.+) `` \| (.*) \|$/.exec(text);
      const [, file, line, mutation, reason] = row ?? [];
      if (file === undefined || line === undefined || mutation === undefined || reason === undefined)
        throw new Error(
          `survivors.md: not a row "| file:line | \`\` before → after \`\` | reason |": ${text}`,
        );
      return { file, line: Number(line), mutation: mutation.replaceAll('\\|', '|'), reason: reason.trim() };
    });
}

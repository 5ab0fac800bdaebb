/** Decides which files of OFAC belong together: the legacy tables form one list, and each XML file is a list of its own. */
import { listParts, readTextHead } from '../open.ts';

/** Sufficient for the first character of an XML file, after white space. */
const HEAD_CHARS = 64;

/**
 * Splits files into groups that are read, and counted as published, together.
 *
 * @throws INVALID_FILE if a file cannot be opened.
 */
export async function groupFiles(files: readonly string[]): Promise<string[][]> {
  const tables: string[] = [];
  const groups: string[][] = [];
  for (const file of files) {
    const [part] = await listParts(file);
    const head = part ? await readTextHead(part, HEAD_CHARS, { legacyEncoding: 'windows-1252' }) : '';
    if (head.trimStart().startsWith('<')) groups.push([file]);
    else tables.push(file);
  }
  return tables.length > 0 ? [...groups, tables] : groups;
}

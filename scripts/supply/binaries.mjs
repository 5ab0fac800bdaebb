/** The recorded hashes of native binaries, and the check of installed files against them. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const TABLE = join(root, 'data', 'native-binaries.json');

export const readTable = (folder) =>
  JSON.parse(readFileSync(join(folder, 'data', 'native-binaries.json'), 'utf8'));

/** SHA-256 of a file, in hexadecimal. */
export const hashOf = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');

/** Lists the binaries of uWebSockets.js below `folder` that are not the recorded files, each with a sentence. */
export function changedBinaries(folder) {
  const installed = join(folder, 'node_modules', 'uWebSockets.js');
  if (!existsSync(installed)) return [];
  const { files } = readTable(folder);
  return readdirSync(installed)
    .filter((name) => name.endsWith('.node') && hashOf(join(installed, name)) !== files[name])
    .map((name) =>
      files[name] === undefined
        ? `${name} of uWebSockets.js has no hash in data/native-binaries.json.`
        : `${name} of uWebSockets.js is not the recorded file: its SHA-256 differs from the one in data/native-binaries.json.`,
    );
}

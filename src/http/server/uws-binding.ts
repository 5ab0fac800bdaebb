/** uWebSockets.js: its types, and its binary for this platform, which is loaded after checking that it is the recorded file. No other module imports it. */

import type Library from 'uWebSockets.js';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { shippedData } from '../../base/paths.ts';

export type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  us_socket_context_t,
  WebSocketBehavior,
} from 'uWebSockets.js';

const require = createRequire(import.meta.url);

/** Name of the binary for this platform and version of Node, as the package names it. */
export const uwsBinaryName = (): string =>
  `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;

const packageFolder = (): string => dirname(require.resolve('uWebSockets.js/package.json'));

/**
 * Returns the path of the binary for this platform, after comparing its SHA-256 with data/native-binaries.json.
 *
 * @param folder - folder of the package; the installed one by default
 * @throws BINARY_MISMATCH if the file is not the recorded one
 * @throws Error if the package has no binary for this platform and version of Node
 */
export function checkedUwsBinary(folder: string = packageFolder()): string {
  const name = uwsBinaryName();
  const path = join(folder, name);
  if (!existsSync(path)) {
    throw new Error(
      `There is no ${name}: the package has no binary for this platform and Node ${process.versions.node}, or the packages were installed by another version of Node. In the second case, npm ci adds it.`,
    );
  }
  const { files } = JSON.parse(readFileSync(shippedData('native-binaries.json'), 'utf8')) as {
    readonly files: Readonly<Record<string, string>>;
  };
  const hash = createHash('sha256').update(readFileSync(path)).digest('hex');
  if (files[name] !== hash) {
    throw new AssayError(
      'BINARY_MISMATCH',
      `${path} is not the recorded file: its SHA-256 is ${hash}, data/native-binaries.json has ${files[name] ?? 'none'}. It was not loaded. Delete node_modules and run npm ci.`,
    );
  }
  return path;
}

/**
 * Loads uWebSockets.js. Only the checked file is loaded, and no JavaScript of the package.
 *
 * @throws BINARY_MISMATCH if the file is not the recorded one
 */
export const loadUws = (): typeof Library => require(checkedUwsBinary());

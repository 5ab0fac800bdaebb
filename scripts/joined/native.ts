/**
 * Joins the JavaScript of packages whose native part is a file that `node-gyp-build-optional-packages` finds: lmdb and msgpackr. Finding the
 * file and reading their JavaScript from packages takes a third of the time of a look-up.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import type { Plugin } from 'esbuild';

/** Packages that are joined from their CommonJS copy, where they find their native part. */
const COMMONJS =
  /^(?:lmdb|msgpackr|msgpackr-extract|ordered-binary|weak-lru-cache|@harperfast\/extended-iterable)$/;
/** Files of those packages that ask for their own path. */
const ASKING = /[\\/]node_modules[\\/](?:lmdb|msgpackr|msgpackr-extract)[\\/](?:dist[\\/])?[a-z]+\.c?js$/;
const FINDER = 'node-gyp-build-optional-packages';
const NATIVE = 'native-part';

const slashed = (path: string): string => path.replaceAll('\\', '/');

interface Finder {
  /** Path of the native part of the package in a folder. */
  path(folder: string): string;
}

/** Text of an expression: the path of a file at run time, if the joined file is in `out`. */
const pathFrom = (out: string, path: string): string =>
  `require('node:path').join(require('node:url').fileURLToPath(joinedUrl), '..', ${JSON.stringify(slashed(relative(out, path)))})`;

/**
 * Returns the text of a module in place of the finder, which returns a function that loads the native part of a package. It loads the file
 * that was found when the program was joined. For another version of Node or another system, it asks the finder.
 */
function finderText(folder: string, out: string): string {
  const require = createRequire(join(folder, 'package.json'));
  const finder = require(FINDER) as Finder;
  const system = [process.platform, process.arch, process.versions.modules].join(' ');
  return `
    const { existsSync } = require('node:fs');
    const file = ${pathFrom(out, finder.path(folder))};
    const system = [process.platform, process.arch, process.versions.modules].join(' ');
    const isSame = system === ${JSON.stringify(system)} && existsSync(file);
    module.exports = (folder) => isSame ? require(file) : require(${JSON.stringify(FINDER)})(folder);`;
}

/**
 * @param out - folder of the joined file
 */
export const joinNative = (out: string): Plugin => ({
  name: 'join-native',
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: COMMONJS }, async ({ path, kind, importer, resolveDir }) => {
      if (kind === 'require-call') return undefined;
      return resolve(path, { kind: 'require-call', importer, resolveDir });
    });
    onLoad({ filter: ASKING }, ({ path }) => ({
      contents: [
        `const __filename = ${pathFrom(out, path)};`,
        "const __dirname = require('node:path').dirname(__filename);",
        readFileSync(path, 'utf8'),
      ].join('\n'),
      resolveDir: dirname(path),
    }));
    onResolve({ filter: new RegExp(`^${FINDER}$`) }, ({ path, importer, namespace }) =>
      namespace === NATIVE ? { path, external: true } : { path: dirname(importer), namespace: NATIVE },
    );
    onLoad({ filter: /.*/, namespace: NATIVE }, ({ path }) => ({
      contents: finderText(packageFolder(path), out),
      resolveDir: path,
    }));
  },
});

/** Folder of the package to which a folder of modules belongs. */
const packageFolder = (folder: string): string => folder.replace(/[\\/]dist$/, '');

/**
 * Builds the dashboard into `dist/dashboard` of the project: every file in two codings, and `manifest.json`, which lists the files and the
 * patterns of the pages. The server sends nothing that the manifest does not list.
 *
 * Usage: node dashboard/build.mjs [folder]
 */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, runnerImport } from 'vite';

// Otherwise `runnerImport` sets it to development, and the build takes the development files of every package.
process.env.NODE_ENV = 'production';

const root = dirname(fileURLToPath(import.meta.url));
const folder = resolve(process.argv[2] ?? join(root, '..', 'dist', 'dashboard'));
const configFile = join(root, 'vite.config.mjs');

const CONTENT_TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

const compress = (bytes) => ({
  br: brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  }),
  gz: gzipSync(bytes, { level: 9 }),
});

const { module: paths } = await runnerImport(join(root, 'src', 'paths.ts'), { configFile });
// `/screening/$chain` of the router is `/screening/{chain}` of the server.
const pages = Object.values(paths.PATHS).map((path) => path.replace(/\$(\w+)/g, '{$1}'));

const { output } = await build({ configFile, logLevel: 'warn', build: { write: false } });

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const files = output.map((part, index) => {
  const bytes = Buffer.from(part.type === 'chunk' ? part.code : part.source);
  const contentType = CONTENT_TYPES[extname(part.fileName)];
  if (contentType === undefined) throw new Error(`${part.fileName}: no content type for this kind of file.`);
  const file = `${index}${extname(part.fileName)}`;
  for (const [suffix, body] of Object.entries(compress(bytes)))
    writeFileSync(join(folder, `${file}.${suffix}`), body);
  // Names with a hash change with the content.
  const isImmutable = /-[\w-]{8}\.\w+$/.test(part.fileName);
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 16);
  return { path: `/${part.fileName}`, file, contentType, hash, isImmutable };
});
writeFileSync(
  join(folder, 'manifest.json'),
  `${JSON.stringify({ files, document: '/index.html', pages }, null, 1)}\n`,
);

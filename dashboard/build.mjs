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

/** Bytes of a script or style that can be written into a document: nothing in it ends its element. */
const inlined = (text) => text.replaceAll(/<(?=\/(?:script|style)|!--)/gi, '\\x3C');

/** Returns the source of a policy that permits exactly this text. */
const sourceOf = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/**
 * Returns `/verify` as one document with everything in it. Its policy permits its own script and styles and no connection: whoever keeps the
 * file can see that it sends nothing.
 */
async function savedPage() {
  const { output: parts } = await build({
    configFile,
    logLevel: 'warn',
    build: {
      write: false,
      cssCodeSplit: false,
      modulePreload: false,
      rolldownOptions: {
        input: join(root, 'src', 'pages', 'verify', 'saved.tsx'),
        output: { codeSplitting: false },
      },
    },
  });
  const textOf = (suffix) => {
    const found = parts.filter(({ fileName }) => fileName.endsWith(suffix));
    if (found.length !== 1) throw new Error(`The saved page has ${found.length} files *${suffix}.`);
    return String(found[0].code ?? found[0].source);
  };
  const [script, style] = [inlined(textOf('.js')), inlined(textOf('.css'))];
  // A comment ends with two hyphens and an angle bracket.
  const licences = textOf('.txt').replaceAll('--', '- -');
  const policy = `default-src 'none'; script-src ${sourceOf(script)}; style-src ${sourceOf(style)}; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Verify a receipt · Assay</title>
<style>${style}</style>
</head>
<body>
<div id="root"><p>Save this file, and open it from your disk in a browser with scripts.</p></div>
<script type="module">${script}</script>
<!--
${licences}
-->
</body>
</html>
`;
}

const saved = { type: 'asset', fileName: 'verify-saved.html', source: await savedPage() };

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const files = [...output, saved].map((part, index) => {
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

/** Builds the guide: every file that the server sends below `/docs/guide`, and `/llms.txt`. The same sources give the same bytes. */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { buildSync } from 'esbuild';
import type { GuideManifest } from '../../src/http/guide.ts';
import { pageDocument, type Section, type Site, startDocument } from './layout.ts';
import { llmsText } from './llms.ts';
import { imagesOf, Links, type ParsedPage, pageHtml, parsePage, twinOf } from './markdown.ts';
import { GUIDE, guideSections } from './pages.ts';
import { searchIndex } from './search-index.ts';

/** One file of the guide. */
export interface BuiltFile {
  /** Path at which the server sends it. */
  readonly path: string;
  readonly contentType: string;
  /** The path contains a hash of the content. */
  readonly isImmutable: boolean;
  /** Empty for a picture. */
  readonly content: string;
  readonly bytes?: Uint8Array;
}

const HTML = 'text/html; charset=utf-8';
const MARKDOWN = 'text/markdown; charset=utf-8';

/** Sources for the browser, relative to the project: esbuild compiles and minifies them. */
const BROWSER = 'scripts/guide/browser';

function bundled(root: string, name: string): string {
  const { outputFiles } = buildSync({
    absWorkingDir: root,
    entryPoints: [`${BROWSER}/${name}`],
    bundle: true,
    minify: true,
    write: false,
    charset: 'utf8',
    format: 'iife',
    legalComments: 'none',
    target: 'es2020',
    // Not the project's own: it compiles for Node.
    tsconfigRaw: '{}',
  });
  return outputFiles[0]?.text ?? '';
}

const hashOf = (content: string | Uint8Array): string =>
  createHash('sha256').update(content).digest('base64url').slice(0, 16);

/** A file whose name has a hash of its content, so that caches may keep it forever. */
const hashed = (name: string, extension: string, contentType: string, content: string): BuiltFile => ({
  path: `${GUIDE}/${name}-${hashOf(content)}.${extension}`,
  contentType,
  isImmutable: true,
  content,
});

const page = (path: string, contentType: string, content: string): BuiltFile => ({
  path,
  contentType,
  isImmutable: false,
  content,
});

/** Reads the pictures of the pages: a file for each, by its path relative to the project. */
function picturesOf(root: string, pages: readonly ParsedPage[]): ReadonlyMap<string, BuiltFile> {
  const files = new Set(pages.flatMap(imagesOf));
  return new Map(
    [...files].map((file): [string, BuiltFile] => {
      const bytes = readFileSync(join(root, file));
      const path = `${GUIDE}/${basename(file, '.webp')}-${hashOf(bytes)}.webp`;
      return [file, { path, contentType: 'image/webp', isImmutable: true, content: '', bytes }];
    }),
  );
}

/**
 * Renders the guide.
 *
 * @param root - folder of the project
 * @throws if a page has no title or links to a heading that is missing
 */
export function buildGuide(root: string): readonly BuiltFile[] {
  const sections: readonly Section[] = guideSections(root).map(({ title, pages }) => ({
    title,
    pages: pages.map((source) => parsePage(source, readFileSync(join(root, source.file), 'utf8'))),
  }));
  const pages = sections.flatMap((section) => section.pages);
  const pictures = picturesOf(root, pages);
  const links = new Links(pages, new Map([...pictures].map(([file, { path }]) => [file, path])));
  const css = hashed('guide', 'css', 'text/css; charset=utf-8', bundled(root, 'guide.css'));
  const script = hashed('search', 'js', 'text/javascript; charset=utf-8', bundled(root, 'search.ts'));
  const index = hashed('search', 'json', 'application/json', searchIndex(pages));
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const site: Site = { sections, css: css.path, script: script.path, index: index.path, version };
  return [
    page(GUIDE, HTML, startDocument(site)),
    page('/llms.txt', 'text/plain; charset=utf-8', llmsText(sections)),
    css,
    script,
    index,
    ...pictures.values(),
    ...pages.flatMap((one) => [
      page(`${GUIDE}/${one.slug}`, HTML, pageDocument(site, one, pageHtml(one, links))),
      page(`${GUIDE}/${one.slug}.md`, MARKDOWN, twinOf(one, links)),
    ]),
  ];
}

/** Name of a file in the output folder. */
const nameOf = ({ path, contentType }: BuiltFile): string => {
  const name = path === GUIDE ? 'index' : path.slice(path.lastIndexOf('/') + 1);
  return contentType === HTML ? `${name}.html` : name;
};

/**
 * Writes the files, compressed in both codings of the server, and `manifest.json` with their paths and types.
 *
 * @param folder - is deleted first
 * @param brotliQuality - from 0 to 11. The highest, which is shipped, takes 15 s of processor time; the lowest a twentieth of it
 */
export async function writeGuide(
  files: readonly BuiltFile[],
  folder: string,
  brotliQuality: number = constants.BROTLI_MAX_QUALITY,
): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // On the threads of Node's pool, so that all cores take part.
  await Promise.all(
    files.map(async (file) => {
      const bytes = file.bytes ?? Buffer.from(file.content);
      const params = {
        [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      };
      const [br, gz] = await Promise.all([
        promisify(brotliCompress)(bytes, { params }),
        promisify(gzip)(bytes, { level: 9 }),
      ]);
      writeFileSync(join(folder, `${nameOf(file)}.br`), br);
      writeFileSync(join(folder, `${nameOf(file)}.gz`), gz);
    }),
  );
  const manifest: GuideManifest = files.map((file) => ({
    path: file.path,
    file: nameOf(file),
    contentType: file.contentType,
    hash: hashOf(file.bytes ?? file.content),
    isImmutable: file.isImmutable,
  }));
  writeFileSync(join(folder, 'manifest.json'), `${JSON.stringify(manifest, null, 1)}\n`);
}

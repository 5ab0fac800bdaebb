/** The built guide: the files of `dist/guide`, sent from memory. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Awaitable } from '../base/awaitable.ts';
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Page } from './pipeline/work.ts';
import { type BuiltFile, StaticFiles } from './static-files.ts';

/** `manifest.json` of the built guide. */
export type GuideManifest = readonly BuiltFile[];

/** Seconds for which a page may be used without a question, as for /docs. Afterwards its ETag makes the question cheap. */
const PAGE_SECONDS = 300;

/** Allows the page's own script, style and search index, and nothing of another host. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const SECURITY_LINES = `\r\nContent-Security-Policy: ${POLICY}\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff`;

/** Answers requests for the files of the guide. */
export class Guide {
  readonly #files: StaticFiles;

  constructor(files: StaticFiles) {
    this.#files = files;
  }

  /**
   * Returns the response for a path.
   *
   * @param acceptEncoding - the header; empty if it is absent
   * @param ifNoneMatch - the header; undefined if it is absent
   * @throws NOT_FOUND if the guide has no such file
   */
  page(path: string, acceptEncoding: string, ifNoneMatch: string | undefined): Awaitable<Page> {
    const page = this.#files.page(path, acceptEncoding, ifNoneMatch);
    if (page === null)
      throw new AssayError('NOT_FOUND', 'page: the guide has no such page. /docs/guide lists all pages.', {
        field: 'page',
      });
    return page;
  }
}

/**
 * Reads the built guide. If the folder has none, a warning is logged, and every path is NOT_FOUND.
 *
 * @param folder - output of scripts/guide
 */
export function openGuide(folder: string, log: Logger): Guide {
  const list = join(folder, 'manifest.json');
  if (!existsSync(list)) {
    log.warn({ folder }, 'guide was not built');
    return new Guide(StaticFiles.none);
  }
  const manifest = JSON.parse(readFileSync(list, 'utf8')) as GuideManifest;
  const options = { securityLines: SECURITY_LINES, cacheControl: `max-age=${PAGE_SECONDS}` };
  return new Guide(StaticFiles.read(folder, manifest, options));
}

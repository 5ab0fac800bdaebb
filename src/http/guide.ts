/**
 * The built guide: the files of `dist/guide`, read once and held in memory in both codings. A request selects one of a fixed table by
 * its whole path, so no path of a request ever reaches the file system.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Awaitable } from '../base/awaitable.ts';
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { type Coding, codingFor } from './pipeline/negotiation.ts';
import type { Page } from './pipeline/work.ts';
import { namesTag } from './server/ranges.ts';

/** `manifest.json` of the built guide. */
export type GuideManifest = readonly {
  /** Path of the request. */
  readonly path: string;
  /** Name in the folder, without the suffix of the coding. */
  readonly file: string;
  readonly contentType: string;
  readonly hash: string;
  /** The path changes with the content. */
  readonly isImmutable: boolean;
}[];

interface GuideFile {
  readonly contentType: string;
  readonly etag: string;
  /** Header lines of each response, each preceded by its line break. */
  readonly lines: string;
  readonly bodies: Readonly<Record<Coding, Uint8Array>>;
}

const SUFFIXES: Readonly<Record<Coding, string>> = { br: 'br', gzip: 'gz' };

/** Seconds for which a page may be used without a question, as for /docs. Afterwards its ETag makes the question cheap. */
const PAGE_SECONDS = 300;
/** A year, the longest that caches are expected to keep anything. */
const IMMUTABLE_SECONDS = 31_536_000;

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

const gunzipped = promisify(gunzip);

function linesOf(etag: string, isImmutable: boolean): string {
  const age = isImmutable ? `max-age=${IMMUTABLE_SECONDS}, immutable` : `max-age=${PAGE_SECONDS}`;
  return `\r\nETag: ${etag}\r\nCache-Control: ${age}\r\nVary: Accept-Encoding${SECURITY_LINES}`;
}

/** Answers requests for the files of the guide. */
export class Guide {
  readonly #files: ReadonlyMap<string, GuideFile>;

  constructor(files: ReadonlyMap<string, GuideFile>) {
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
    const file = this.#files.get(path);
    if (file === undefined)
      throw new AssayError('NOT_FOUND', 'page: the guide has no such page. /docs/guide lists all pages.', {
        field: 'page',
      });
    const { contentType, etag, lines, bodies } = file;
    // The tag is weak, so it is the same for each coding.
    if (ifNoneMatch !== undefined && namesTag(ifNoneMatch, etag))
      return { status: 304, contentType, lines, body: '', isEncoded: true };
    const coding = codingFor(acceptEncoding);
    if (coding !== null)
      return {
        status: 200,
        contentType,
        lines: `${lines}\r\nContent-Encoding: ${coding}`,
        body: bodies[coding],
        isEncoded: true,
      };
    return gunzipped(bodies.gzip).then((body) => ({
      status: 200,
      contentType,
      lines,
      body,
      isEncoded: true,
    }));
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
    return new Guide(new Map());
  }
  const manifest = JSON.parse(readFileSync(list, 'utf8')) as GuideManifest;
  const read = (file: string, coding: Coding): Uint8Array =>
    readFileSync(join(folder, `${file}.${SUFFIXES[coding]}`));
  return new Guide(
    new Map(
      manifest.map(({ path, file, contentType, hash, isImmutable }) => {
        const etag = `W/"${hash}"`;
        const bodies = { br: read(file, 'br'), gzip: read(file, 'gzip') };
        return [path, { contentType, etag, lines: linesOf(etag, isImmutable), bodies }];
      }),
    ),
  );
}

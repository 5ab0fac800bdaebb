/**
 * Files that were built with the program: read once and held in memory in both codings. A request selects one of a fixed table by its whole
 * path, so no path of a request ever reaches the file system.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Awaitable } from '../base/awaitable.ts';
import { type Coding, codingFor } from './pipeline/negotiation.ts';
import type { Page } from './pipeline/work.ts';
import { namesTag } from './server/ranges.ts';

/** A built file, as the manifest of its folder lists it. */
export interface BuiltFile {
  /** Path of the request. */
  readonly path: string;
  /** Name in the folder, without the suffix of the coding. */
  readonly file: string;
  readonly contentType: string;
  readonly hash: string;
  /** The path changes with the content. */
  readonly isImmutable: boolean;
}

interface StaticFile {
  readonly contentType: string;
  readonly etag: string;
  /** Header lines of each response, each preceded by its line break. */
  readonly lines: string;
  readonly bodies: Readonly<Record<Coding, Uint8Array>>;
}

export interface StaticOptions {
  /** Header lines of every response, each preceded by its line break. */
  readonly securityLines: string;
  /** Cache-Control of files that keep their path if their content changes. */
  readonly cacheControl: string;
}

const SUFFIXES: Readonly<Record<Coding, string>> = { br: 'br', gzip: 'gz' };

/** A year, the longest that caches are expected to keep anything. */
const IMMUTABLE_SECONDS = 31_536_000;

const gunzipped = promisify(gunzip);

/** A fixed table of files in memory. */
export class StaticFiles {
  readonly #files: ReadonlyMap<string, StaticFile>;

  private constructor(files: ReadonlyMap<string, StaticFile>) {
    this.#files = files;
  }

  static readonly none: StaticFiles = new StaticFiles(new Map());

  /**
   * Reads the files of a folder.
   *
   * @param folder - has each file twice, with the suffixes `.br` and `.gz`
   */
  static read(folder: string, files: readonly BuiltFile[], options: StaticOptions): StaticFiles {
    const bodyOf = (file: string, coding: Coding): Uint8Array =>
      readFileSync(join(folder, `${file}.${SUFFIXES[coding]}`));
    return new StaticFiles(
      new Map(
        files.map(({ path, file, contentType, hash, isImmutable }) => {
          const etag = `W/"${hash}"`;
          const cache = isImmutable ? `max-age=${IMMUTABLE_SECONDS}, immutable` : options.cacheControl;
          const lines = `\r\nETag: ${etag}\r\nCache-Control: ${cache}\r\nVary: Accept-Encoding${options.securityLines}`;
          const bodies = { br: bodyOf(file, 'br'), gzip: bodyOf(file, 'gzip') };
          return [path, { contentType, etag, lines, bodies }];
        }),
      ),
    );
  }

  /**
   * Returns the response for a path; null if there is no such file.
   *
   * @param acceptEncoding - the header; empty if it is absent
   * @param ifNoneMatch - the header; empty or undefined if it is absent
   */
  page(path: string, acceptEncoding: string, ifNoneMatch: string | undefined): Awaitable<Page> | null {
    const file = this.#files.get(path);
    if (file === undefined) return null;
    const { contentType, etag, lines, bodies } = file;
    // The tag is weak, so it is the same for each coding.
    if (ifNoneMatch !== undefined && ifNoneMatch !== '' && namesTag(ifNoneMatch, etag))
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

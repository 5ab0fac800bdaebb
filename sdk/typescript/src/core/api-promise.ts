/** Results of calls: a promise of the data, from which the response and further pages can be had. */
import type { PageEnd } from './connection.ts';
import type { ResponseInfo } from './info.ts';

/** Data and response of a call. */
export interface Result<T> {
  readonly data: T;
  readonly response: ResponseInfo;
}

/** The promise of a call. */
export class ApiPromise<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = 'ApiPromise';
  readonly #result: Promise<Result<T>>;

  constructor(result: Promise<Result<T>>) {
    this.#result = result;
  }

  /** Returns the data together with the response: headers, rate limit, quota, credits, request id. */
  withResponse(): Promise<Result<T>> {
    return this.#result;
  }

  // biome-ignore lint/suspicious/noThenProperty: this is a promise.
  then<A = T, B = never>(
    onData?: ((data: T) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#result.then(({ data }) => (onData ? onData(data) : (data as unknown as A)), onError);
  }

  catch<B = never>(onError?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, onError);
  }

  finally(onEnd?: (() => void) | null): Promise<T> {
    return this.then().finally(onEnd) as Promise<T>;
  }
}

/** The promise of a page, and an iterable of the rows of this page and all pages after it. */
export class PagePromise<Page extends PageEnd, Row> extends ApiPromise<Page> implements AsyncIterable<Row> {
  readonly #rows: keyof Page & string;
  readonly #next: (cursor: string) => Promise<Page>;

  constructor(
    result: Promise<Result<Page>>,
    rows: keyof Page & string,
    next: (cursor: string) => Promise<Page>,
  ) {
    super(result);
    this.#rows = rows;
    this.#next = next;
  }

  /** Returns this page and all pages after it. Each is requested when it is needed. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    for (let page: Page = await this; ; page = await this.#next(page.nextCursor as string)) {
      yield page;
      if (!page.hasMore || page.nextCursor === null) return;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    for await (const page of this.pages()) yield* page[this.#rows] as unknown as readonly Row[];
  }
}

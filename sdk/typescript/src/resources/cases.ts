/** Cases: the record of an investigation, with its history and files. */
import type { ApiPromise, PagePromise } from '../core/api-promise.ts';
import type { CallOptions, ChargedOptions } from '../core/connection.ts';
import { Resource, segment } from '../core/resource.ts';
import type { ReplayableBody, TransportResponse } from '../core/transport.ts';
import { RETRIES } from '../generated/retries.ts';
import type { Body, Data, QueryOf } from '../types.ts';

type CaseList = Data<'listCases'>;
type EventList = Data<'caseEvents'>;
type FileList = Data<'caseFiles'>;

/** A file as it is sent. */
export interface CaseFileUpload {
  /** Name without a path. */
  readonly name: string;
  /** Media type of the content, such as `application/pdf`. */
  readonly type: string;
  readonly content: ReplayableBody | AsyncIterable<Uint8Array>;
}

const casePath = (id: string): string => `/cases/${segment(id)}`;

export class Cases extends Resource {
  /** Opens a case, with its first note and links. */
  create(body: Body<'createCase'>, options?: ChargedOptions): ApiPromise<Data<'createCase'>> {
    return this.connection.json({ method: 'POST', path: '/cases', body, options, retry: RETRIES.createCase });
  }

  /** Lists the cases of the account, the newest first. */
  list(
    query: QueryOf<'listCases'> = {},
    options?: CallOptions,
  ): PagePromise<CaseList, CaseList['cases'][number]> {
    return this.connection.list({ method: 'GET', path: '/cases', query, options }, 'cases');
  }

  get(id: string, options?: CallOptions): ApiPromise<Data<'oneCase'>> {
    return this.connection.json({ method: 'GET', path: casePath(id), options });
  }

  /** Changes a case. With a version, a change that is sent again could be rejected although it was made. */
  update(id: string, body: Body<'changeCase'>, options?: CallOptions): ApiPromise<Data<'changeCase'>> {
    const retry = RETRIES.changeCase;
    return this.connection.json({ method: 'PATCH', path: casePath(id), body, options, retry });
  }

  /** Lists the history of a case, the newest event first. */
  events(
    id: string,
    query: QueryOf<'caseEvents'> = {},
    options?: CallOptions,
  ): PagePromise<EventList, EventList['events'][number]> {
    return this.connection.list({ method: 'GET', path: `${casePath(id)}/events`, query, options }, 'events');
  }

  /** Adds a note, a status, an assignee, a link or a step of a decision. */
  addEvent(
    id: string,
    body: Body<'addCaseEvent'>,
    options?: ChargedOptions,
  ): ApiPromise<Data<'addCaseEvent'>> {
    const path = `${casePath(id)}/events`;
    return this.connection.json({ method: 'POST', path, body, options, retry: RETRIES.addCaseEvent });
  }

  /** Lists the files of a case without their content, the newest first. */
  files(
    id: string,
    query: QueryOf<'caseFiles'> = {},
    options?: CallOptions,
  ): PagePromise<FileList, FileList['files'][number]> {
    return this.connection.list({ method: 'GET', path: `${casePath(id)}/files`, query, options }, 'files');
  }

  /** Adds a file. Content that is an async iterable cannot be sent again, so it is not retried. */
  addFile(
    id: string,
    { name, type, content }: CaseFileUpload,
    options?: ChargedOptions,
  ): ApiPromise<Data<'addCaseFile'>> {
    const path = `${casePath(id)}/files`;
    return this.connection.json({
      method: 'POST',
      path,
      query: { name },
      content,
      type,
      options,
      retry: RETRIES.addCaseFile,
    });
  }

  /**
   * Opens the content of a file.
   *
   * @returns the response; `text()` or `body()` of it must be read
   */
  file(id: string, fileId: string, options?: CallOptions): Promise<TransportResponse> {
    return this.#download(`${casePath(id)}/files/${segment(fileId)}`, 'application/octet-stream', options);
  }

  /**
   * Opens the export of a case: a ZIP archive.
   *
   * @returns the response; `body()` of it must be read
   */
  export(id: string, options?: CallOptions): Promise<TransportResponse> {
    return this.#download(`${casePath(id)}/export`, 'application/zip', options);
  }

  #download(path: string, type: string, options?: CallOptions): Promise<TransportResponse> {
    const headers = { accept: `${type}, application/problem+json`, ...options?.headers };
    return this.connection.stream({ method: 'GET', path, options: { ...options, headers } });
  }
}

/** Pages of the API of a register, which an operator stored as files of JSON. */
import { fieldCount, isObject, type JsonObject, objectsIn, readJsonDocuments } from '../json.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import { dateInName, type RegisterHeader } from './registration.ts';

export interface ApiPages {
  readonly header: RegisterHeader;
  readonly rows: readonly JsonObject[];
}

/**
 * Reads the pages in a file.
 *
 * @param options.within - field of a document that contains the page. Default: the document is the page.
 * @param options.list - field of a page with its entries
 * @param options.total - field of a page with the number of all entries: fewer rows are some of the pages, not the whole register
 * @param options.pages - what the file should have, for the error
 * @throws INVALID_FILE for a file of another layout
 */
export async function readApiPages(
  path: string,
  options: {
    readonly register: string;
    readonly layout: string;
    readonly within?: string;
    readonly list: string;
    readonly total: string;
    readonly pages: string;
  },
): Promise<ApiPages> {
  const { register, layout, within, list, total } = options;
  const file = partName(path);
  const documents = await readJsonDocuments(path);
  const pages = documents.map((document): JsonObject => {
    const page = within === undefined ? document : document[within];
    return isObject(page) ? page : {};
  });
  if (pages.length === 0 || pages.some((page) => !Array.isArray(page[list])))
    throw unknownLayout(file, '', options.pages);
  const rows = pages.flatMap((page) => objectsIn(page[list]));
  const announced = Math.max(...pages.map((page) => fieldCount(page, total) ?? 0));
  const whole = announced > 0 && rows.length >= announced ? [register] : [];
  return { header: { type: 'register', whole, publishedAt: dateInName(file), layout, file }, rows };
}

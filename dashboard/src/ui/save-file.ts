/** Files that a page makes. */

/** Saves a text as a file of the person. */
export function saveFile(name: string, type: string, content: BlobPart): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The click has begun the download; the URL would hold the content in memory.
  setTimeout(() => URL.revokeObjectURL(url), 0);
}

/** Characters of the path in a name: an address and its chain. The longest name that file systems take has 255. */
const PATH_CHARS_MAX = 160;

/**
 * Returns the name of the CSV file of a table. It has what the rows are about, which the file does not repeat: the page with its address or id,
 * the day of the answer, and the second of the export.
 *
 * @param page - path and search of the URL of the page
 * @param table - id of the table
 * @example csvName({ pathname: '/screening/ETH/0xab…', search: '?asOf=2026-05-01' }, 'exposure', new Date());
 * // screening-ETH-0xab…-exposure-as-of-2026-05-01-2026-11-30-191821.csv
 */
export function csvName(
  page: { readonly pathname: string; readonly search: string },
  table: string,
  now: Date,
): string {
  const path = page.pathname
    .replace(/%[\dA-F]{2}/gi, '_')
    .split('/')
    .filter(Boolean)
    .join('-')
    .slice(0, PATH_CHARS_MAX);
  const asOf = new URLSearchParams(page.search).get('asOf') ?? '';
  const parts = [
    ...(path === '' || path === table ? [] : [path]),
    table,
    ...(/^\d{4}-\d\d-\d\d$/.test(asOf) ? [`as-of-${asOf}`] : []),
    now.toISOString().slice(0, 19).replace('T', '-').replaceAll(':', ''),
  ];
  return `${parts.join('-').replace(/[^\w.-]/g, '_')}.csv`;
}

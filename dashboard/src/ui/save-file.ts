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

/** Copies of a selection have whole addresses and hashes: on the page, they are shortened. */

/** A shortened text beside the whole one, as `Address` shows them. */
const SHORTENED = '.address-text:has(> .short)';
/** While the document has this class, addresses are shown whole. */
const WHOLE = 'shows-whole-addresses';
/** Elements around a part of a table, without which its rows are none. */
const AROUND: Readonly<Record<string, readonly string[]>> = {
  TABLE: ['table'],
  TBODY: ['tbody', 'table'],
  TR: ['tr', 'tbody', 'table'],
};

const shortenedAt = (node: Node): Element | null =>
  (node instanceof Element ? node : node.parentElement)?.closest(SHORTENED) ?? null;

/** Returns a range as text, as the browser renders it. */
function renderedText(selection: Selection, range: Range): string {
  const { anchorNode, anchorOffset, focusNode, focusOffset } = selection;
  document.documentElement.classList.add(WHOLE);
  selection.setBaseAndExtent(range.startContainer, range.startOffset, range.endContainer, range.endOffset);
  const text = selection.toString();
  document.documentElement.classList.remove(WHOLE);
  if (anchorNode !== null && focusNode !== null)
    selection.setBaseAndExtent(anchorNode, anchorOffset, focusNode, focusOffset);
  return text;
}

/** Returns a range as HTML, from which spreadsheets take rows and columns. */
function htmlOf(range: Range): string {
  let content: Node = range.cloneContents();
  for (const name of AROUND[range.commonAncestorContainer.nodeName] ?? []) {
    const parent = document.createElement(name);
    parent.append(content);
    content = parent;
  }
  const box = document.createElement('div');
  box.append(content);
  const unseen = `${SHORTENED} > .short, .visually-hidden, .spacer, button`;
  for (const element of box.querySelectorAll(unseen)) element.remove();
  return box.innerHTML;
}

/** Puts a selection with whole addresses into the clipboard. */
export function copyWhole(event: ClipboardEvent): void {
  const selection = getSelection();
  const { clipboardData, target } = event;
  if (selection === null || selection.isCollapsed || clipboardData === null) return;
  if (target instanceof Element && target.closest('input, textarea') !== null) return;
  const range = selection.getRangeAt(0).cloneRange();
  const [first, last] = [shortenedAt(range.startContainer), shortenedAt(range.endContainer)];
  // A part of one address is what the person wants.
  if (first !== null && first === last) return;
  if (![...document.querySelectorAll(SHORTENED)].some((element) => range.intersectsNode(element))) return;
  if (first !== null) range.setStartBefore(first);
  if (last !== null) range.setEndAfter(last);
  event.preventDefault();
  clipboardData.setData('text/plain', renderedText(selection, range));
  clipboardData.setData('text/html', htmlOf(range));
}

/**
 * Streams a publisher's XML: yields the requested elements as small trees and skips all others. It reads leniently (no schema, any
 * namespace) but requires a complete, well-formed document. The readers interpret the elements.
 */
import { SaxesParser } from 'saxes';
import { AssayError, messageOf } from '../base/errors.ts';
import { SOURCE_LIMITS } from './limits.ts';
import { openText, partName, type SourcePart } from './open.ts';

/** An element without its namespace prefix. `text` is its own character data, trimmed and without the text of its children. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  readonly text: string;
  /** 1-based line of the start tag. */
  readonly line: number;
}

export interface XmlWanted {
  /** Local names of the root elements that the layout may have; `*` if any is possible. */
  readonly roots: readonly string[];
  /** Local names of the elements to yield; inside one of them, further ones are plain children. */
  readonly elements: ReadonlySet<string>;
  /** Keep white space at the ends of texts: text runs of one cell are joined. Default: it is removed. */
  readonly spaces?: 'keep';
}

interface OpenElement extends XmlElement {
  readonly children: XmlElement[];
  text: string;
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

/**
 * Yields the root (attributes only), then each wanted element in document order. The elements yielded before an error are not a
 * complete list.
 *
 * @throws INVALID_FILE, with file and line, unless the document is complete and has one of the wanted roots: for example if it is
 * truncated, malformed, an HTML page, has a DTD, or exceeds `SOURCE_LIMITS.xmlDepthMax`, `SOURCE_LIMITS.xmlTokenCharsMax` or
 * `SOURCE_LIMITS.xmlElementsMax`.
 */
export async function* readXml(
  part: string | SourcePart,
  wanted: XmlWanted,
): AsyncGenerator<XmlElement, void, undefined> {
  const name = partName(part);
  const parser = new SaxesParser({ xmlns: false, position: true });
  const stack: OpenElement[] = [];
  let ready: XmlElement[] = [];
  let depth = 0;
  let elements = 0;
  let sawRoot = false;
  /** Characters since the last complete tag or text: a token that never ends must not grow without limit. */
  let pendingChars = 0;

  const fail = (what: string, cause?: unknown): never => {
    throw new AssayError('INVALID_FILE', `${name}, line ${parser.line}: ${what}`, {
      field: 'file',
      ...(cause === undefined ? {} : { cause }),
    });
  };
  const roots = wanted.roots.map((root) => `'${root}'`).join(' or ');
  parser.on('error', (error) => {
    const expected = sawRoot ? '' : `; the root element ${roots} was expected`;
    fail(`not well-formed XML (${plainMessage(error)})${expected}.`, error);
  });
  parser.on('doctype', (doctype) =>
    /^\s*html\b/i.test(doctype)
      ? fail('an HTML page, not the list.')
      : fail('a document type declaration is not part of any list, and is refused.'),
  );
  parser.on('opentag', (tag) => {
    pendingChars = 0;
    depth++;
    const local = localName(tag.name);
    if (!sawRoot) {
      sawRoot = true;
      if (!wanted.roots.includes(local) && !wanted.roots.includes('*')) {
        fail(
          local.toLowerCase() === 'html'
            ? 'an HTML page, not the list.'
            : `the root element is '${local.slice(0, 64)}' where ${roots} was expected.`,
        );
      }
      ready.push({ name: local, attributes: tag.attributes, children: [], text: '', line: parser.line });
      return;
    }
    if (depth > SOURCE_LIMITS.xmlDepthMax) fail(`elements nest deeper than ${SOURCE_LIMITS.xmlDepthMax}.`);
    const parent = stack.at(-1);
    if (!parent && !wanted.elements.has(local)) return;
    elements = parent ? elements + 1 : 1;
    if (elements > SOURCE_LIMITS.xmlElementsMax) {
      fail(`one record holds more than ${SOURCE_LIMITS.xmlElementsMax.toLocaleString('en')} elements.`);
    }
    const element: OpenElement = {
      name: local,
      attributes: tag.attributes,
      children: [],
      text: '',
      line: parser.line,
    };
    parent?.children.push(element);
    stack.push(element);
  });
  parser.on('closetag', () => {
    pendingChars = 0;
    depth--;
    const element = stack.pop();
    if (!element) return;
    if (wanted.spaces !== 'keep') element.text = element.text.trim();
    if (stack.length === 0) ready.push(element);
  });
  const addText = (text: string): void => {
    const element = stack.at(-1);
    if (element) element.text += text;
  };
  parser.on('text', addText);
  parser.on('cdata', addText);

  for await (const chunk of withLines(openText(part), name, () => parser.line)) {
    pendingChars += chunk.length;
    parser.write(chunk);
    if (pendingChars > SOURCE_LIMITS.xmlTokenCharsMax) {
      fail(`a text or tag is longer than ${SOURCE_LIMITS.xmlTokenCharsMax.toLocaleString('en')} characters.`);
    }
    if (ready.length === 0) continue;
    const batch = ready;
    ready = [];
    yield* batch;
  }
  parser.close();
  yield* ready;
}

/** Adds the line to errors of the text itself (a truncated archive, invalid bytes), which only the parser knows. */
async function* withLines(
  text: AsyncIterable<string>,
  name: string,
  line: () => number,
): AsyncGenerator<string, void, undefined> {
  try {
    yield* text;
  } catch (error) {
    if (!(error instanceof AssayError) || !error.message.startsWith(`${name}: `)) throw error;
    throw new AssayError(
      error.code,
      `${name}, after line ${line()}: ${error.message.slice(name.length + 2)}`,
      { field: 'file', cause: error },
    );
  }
}

/** Removes the line and column that saxes puts before its messages; Assay's message already has them. */
const plainMessage = (error: unknown): string =>
  messageOf(error)
    .replace(/^\d+:\d+: /, '')
    .replace(/\.$/, '');

/** Returns the first child with this name; undefined if there is no such child. */
export const childOf = (element: XmlElement | undefined, name: string): XmlElement | undefined =>
  element?.children.find((child) => child.name === name);

/** Returns all direct children with this name. */
export const childrenOf = (element: XmlElement | undefined, name: string): readonly XmlElement[] =>
  element?.children.filter((child) => child.name === name) ?? [];

/** Returns the text of the first child with this name; empty if there is no such child. */
export const textOf = (element: XmlElement | undefined, name: string): string =>
  childOf(element, name)?.text ?? '';

/** Returns all elements at the end of a path of names. */
export function descend(element: XmlElement | undefined, ...path: readonly string[]): readonly XmlElement[] {
  let level: readonly XmlElement[] = element ? [element] : [];
  for (const name of path) level = level.flatMap((parent) => childrenOf(parent, name));
  return level;
}

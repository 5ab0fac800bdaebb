/**
 * Streams a publisher's XML: the elements that a reader asks for come out as small trees, the rest is passed over. Reads
 * leniently (no schema, any namespace) but insists on a whole, well-formed document. What elements mean is for the readers.
 */
import { SaxesParser } from 'saxes';
import { AssayError, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { openText, partName, type SourcePart } from './open.ts';

/** An element without its namespace prefix. `text` joins its own character data, trimmed; children's text is theirs. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  readonly text: string;
  /** 1-based line of the start tag. */
  readonly line: number;
}

export interface XmlWanted {
  /** Local names of the root elements that the layout may have. */
  readonly roots: readonly string[];
  /** Local names of the elements to hand out; inside one of them, further ones are plain children. */
  readonly elements: ReadonlySet<string>;
}

interface OpenElement extends XmlElement {
  readonly children: XmlElement[];
  text: string;
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

/**
 * Yields the root (attributes only), then each wanted element in document order. Throws INVALID_FILE, naming file and line,
 * on anything but a complete document of one of the wanted roots: cut, malformed, an HTML page, a DTD, or beyond
 * `LIMITS.xmlDepthMax`, `LIMITS.xmlTokenCharsMax` or `LIMITS.xmlElementsMax`. What was yielded before an error is not a whole list.
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
  /** Characters fed since the last complete tag or text: a token that never ends must not grow for ever. */
  let pendingChars = 0;

  const fail = (what: string, cause?: unknown): never => {
    throw new AssayError('INVALID_FILE', `${name}, line ${parser.line}: ${what}`, {
      field: 'file',
      ...(cause === undefined ? {} : { cause }),
    });
  };
  parser.on('error', (error) => fail(`not well-formed XML (${plainMessage(error)}).`, error));
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
      if (!wanted.roots.includes(local)) {
        fail(
          local.toLowerCase() === 'html'
            ? 'an HTML page, not the list.'
            : `the root element is '${local.slice(0, 64)}' where ${wanted.roots.map((root) => `'${root}'`).join(' or ')} was expected.`,
        );
      }
      ready.push({ name: local, attributes: tag.attributes, children: [], text: '', line: parser.line });
      return;
    }
    if (depth > LIMITS.xmlDepthMax) fail(`elements nest deeper than ${LIMITS.xmlDepthMax}.`);
    const parent = stack.at(-1);
    if (!parent && !wanted.elements.has(local)) return;
    elements = parent ? elements + 1 : 1;
    if (elements > LIMITS.xmlElementsMax) {
      fail(`one record holds more than ${LIMITS.xmlElementsMax.toLocaleString('en')} elements.`);
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
    element.text = element.text.trim();
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
    if (pendingChars > LIMITS.xmlTokenCharsMax) {
      fail(`a text or tag is longer than ${LIMITS.xmlTokenCharsMax.toLocaleString('en')} characters.`);
    }
    if (ready.length === 0) continue;
    const batch = ready;
    ready = [];
    yield* batch;
  }
  parser.close();
  yield* ready;
}

/** Says after which line the text itself broke off (a cut archive, broken bytes), which only the parser knows. */
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

/** saxes prefixes its messages with line and column, which stand in ours already. */
const plainMessage = (error: unknown): string =>
  messageOf(error)
    .replace(/^\d+:\d+: /, '')
    .replace(/\.$/, '');

/** The first child of that name; undefined where there is none. */
export const childOf = (element: XmlElement | undefined, name: string): XmlElement | undefined =>
  element?.children.find((child) => child.name === name);

/** All direct children of that name. */
export const childrenOf = (element: XmlElement | undefined, name: string): readonly XmlElement[] =>
  element?.children.filter((child) => child.name === name) ?? [];

/** Text of the first child of that name; empty where there is none. */
export const textOf = (element: XmlElement | undefined, name: string): string =>
  childOf(element, name)?.text ?? '';

/** The children at the end of a path of names, whichever parents they have. */
export function descend(element: XmlElement | undefined, ...path: readonly string[]): readonly XmlElement[] {
  let level: readonly XmlElement[] = element ? [element] : [];
  for (const name of path) level = level.flatMap((parent) => childrenOf(parent, name));
  return level;
}

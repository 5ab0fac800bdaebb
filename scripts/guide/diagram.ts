/**
 * Mermaid diagrams as HTML. Drawing one needs a browser, so a flow chart becomes a list of its connections, which also reads well on a
 * small screen and in a screen reader. A diagram of another kind is shown as its source.
 */
import { escapeHtml } from './html.ts';

interface Connection {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly isDirected: boolean;
}

const ARROW = /\s*(-->|---|-\.->|==>)(?:\|([^|]*)\|)?\s*/;
/** `id`, `id[text]`, `id(text)`, `id[(text)]` and `id((text))`. */
const NODE = /^(\w+)(?:\[\(([^)]*)\)\]|\(\(([^)]*)\)\)|\[([^\]]*)\]|\(([^)]*)\))?$/;

/**
 * Parses a flow chart.
 *
 * @returns null if it contains a line that is not a connection of the known forms
 */
function connectionsOf(source: string): readonly Connection[] | null {
  const [head = '', ...lines] = source
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (!/^(flowchart|graph)\b/.test(head)) return null;
  const texts = new Map<string, string>();
  const found: Connection[] = [];
  for (const line of lines) {
    // Odd positions: arrow and label of each separator.
    const parts = line.split(ARROW);
    if (parts.length < 4) return null;
    const ids: string[] = [];
    for (let at = 0; at < parts.length; at += 3) {
      const node = NODE.exec(parts[at] ?? '');
      if (node === null) return null;
      const [, id = '', ...shapes] = node;
      const text = shapes.find((shape) => shape !== undefined);
      if (text !== undefined) texts.set(id, text);
      ids.push(id);
    }
    for (let at = 0; at + 1 < ids.length; at++)
      found.push({
        from: ids[at] ?? '',
        to: ids[at + 1] ?? '',
        label: parts[at * 3 + 2] ?? '',
        isDirected: parts[at * 3 + 1] !== '---',
      });
  }
  const textOf = (id: string): string => texts.get(id) ?? id;
  return found.map((one) => ({ ...one, from: textOf(one.from), to: textOf(one.to) }));
}

/** Returns the HTML of a Mermaid diagram. */
export function diagramHtml(source: string): string {
  const connections = connectionsOf(source);
  if (connections === null)
    return `<figure><figcaption>A diagram, as its Mermaid source</figcaption><pre tabindex="0"><code>${escapeHtml(source)}</code></pre></figure>\n`;
  const rows = connections.map(({ from, to, label, isDirected }) => {
    const arrow = isDirected
      ? '<span role="img" aria-label="to">→</span>'
      : '<span role="img" aria-label="and">↔</span>';
    const note = label === '' ? '' : ` <i>${escapeHtml(label)}</i>`;
    return `<li><b>${escapeHtml(from)}</b> ${arrow} <b>${escapeHtml(to)}</b>${note}</li>`;
  });
  return `<figure><figcaption>A diagram, as the list of its connections</figcaption><ul class="flow">${rows.join('')}</ul></figure>\n`;
}

/** Matches a method and a path to a route, segment by segment. It allocates nothing except the parameters. */

interface Node<T> {
  readonly text: string;
  readonly literals: Node<T>[];
  parameter: Node<T> | null;
  readonly ends: { readonly method: string; readonly value: T }[];
}

export interface Router<T> {
  /**
   * Returns the value of the matching route and pushes its parameters to `params`, still percent-encoded; null if no route matches.
   * HEAD matches the routes of GET: the server sends the same headers, without the body (RFC 9110, section 9.3.2).
   */
  match(method: string, path: string, params: string[]): T | null;
}

export interface RouteEntry<T> {
  readonly method: string;
  /**
   * For example `/entity/{address}`: a segment in braces matches any non-empty segment. A literal has priority over a parameter.
   */
  readonly pattern: string;
  readonly value: T;
}

const SLASH = 47;

const emptyNode = <T>(text: string): Node<T> => ({ text, literals: [], parameter: null, ends: [] });

function childFor<T>(node: Node<T>, segment: string): Node<T> {
  if (segment.startsWith('{')) {
    node.parameter ??= emptyNode<T>('');
    return node.parameter;
  }
  const known = node.literals.find((child) => child.text === segment);
  if (known) return known;
  const child = emptyNode<T>(segment);
  node.literals.push(child);
  return child;
}

function literalAt<T>(node: Node<T>, path: string, from: number, to: number): Node<T> | null {
  for (const child of node.literals)
    if (child.text.length === to - from && path.startsWith(child.text, from)) return child;
  return null;
}

/** Creates a router of the entries. */
export function createRouter<T>(entries: readonly RouteEntry<T>[]): Router<T> {
  const root = emptyNode<T>('');
  for (const { method, pattern, value } of entries) {
    const end = pattern.slice(1).split('/').reduce(childFor, root);
    end.ends.push({ method, value });
  }
  /**
   * The literal segments before the first parameter of the last path that had one, with the slash behind them, and their node: clients of a
   * hot operation send many paths that begin alike.
   */
  let prefix = '/';
  let prefixNode = root;
  return {
    match(method, path, params) {
      if (path.charCodeAt(0) !== SLASH) return null;
      const isSame = path.startsWith(prefix);
      let node = isSame ? prefixNode : root;
      for (let from = isSame ? prefix.length : 1; ; ) {
        const slash = path.indexOf('/', from);
        const to = slash < 0 ? path.length : slash;
        const literal = literalAt(node, path, from, to);
        if (literal) node = literal;
        else if (node.parameter && to > from) {
          if (params.length === 0 && (!isSame || from > prefix.length)) {
            prefix = path.slice(0, from);
            prefixNode = node;
          }
          params.push(path.slice(from, to));
          node = node.parameter;
        } else return null;
        if (slash < 0) break;
        from = slash + 1;
      }
      const wanted = method === 'HEAD' ? 'GET' : method;
      for (const end of node.ends) if (end.method === wanted) return end.value;
      return null;
    },
  };
}

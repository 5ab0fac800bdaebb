/** The faults that a mutation run makes: one descriptor per operator. Each proposes edits of one node of the syntax tree. */
import { parseAst } from 'vitest/node';

/** A node of the ESTree syntax tree; `start` and `end` are offsets into the source. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [property: string]: unknown;
}

/** Replaces the text from `start` to `end`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export interface Operator {
  readonly name: string;
  /** @returns the edits of this node only; its children are visited separately */
  edits(node: Node, source: string): Edit[];
}

/** One fault in one file. */
export interface Mutant extends Edit {
  /** If the file passes the type checker with this edit, the fault changes nothing, and the mutant is left out. */
  readonly nothingIf?: Edit;
  /** Path relative to the root of the project. */
  readonly file: string;
  /** 1-based line of `start`. */
  readonly line: number;
  readonly operator: string;
}

const OPPOSITE_BOUNDARY: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
const OPPOSITE_EQUALITY: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '==': '!=',
  '!=': '==',
};

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

const child = (node: Node, property: string): Node => node[property] as Node;
const textOf = (node: Node, source: string): string => source.slice(node.start, node.end);
const replaced = (node: Node, text: string): Edit[] => [{ start: node.start, end: node.end, text }];

/** Replaces the operator between two operands. The text between them may also contain parentheses and comments. */
function withOperator(node: Node, source: string, to: string): Edit[] {
  const from = node.operator as string;
  const start = source.indexOf(from, child(node, 'left').end);
  return [{ start, end: start + from.length, text: to }];
}

/** Returns true for a statement that exits the current call or iteration, as a guard does. */
function isExit(statement: Node): boolean {
  if (statement.type === 'BlockStatement') {
    const body = statement.body as readonly Node[];
    return body.length === 1 && body[0] !== undefined && isExit(body[0]);
  }
  return ['ReturnStatement', 'ThrowStatement', 'ContinueStatement', 'BreakStatement'].includes(
    statement.type,
  );
}

/** Returns true for `HTTP_LIMITS.name`, `NAME_MAX` or a number above 1: a figure that a rule compares with. */
function isLimit(node: Node, source: string): boolean {
  if (node.type === 'MemberExpression') return /^[A-Z_]*LIMITS\b/.test(textOf(node, source));
  if (node.type === 'Identifier') return /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$/.test(node.name as string);
  return node.type === 'Literal' && typeof node.value === 'number' && node.value > 1;
}

/** Arguments that are easily confused: two names or two properties, but not a name and a function. */
const isConfusable = (a: Node, b: Node, source: string): boolean =>
  a.type === b.type &&
  (a.type === 'Identifier' || a.type === 'MemberExpression') &&
  textOf(a, source) !== textOf(b, source);

export const OPERATORS: readonly Operator[] = [
  {
    name: 'invert-condition',
    edits: (node, source) => {
      if (node.type !== 'IfStatement' && node.type !== 'ConditionalExpression') return [];
      const test = child(node, 'test');
      return replaced(test, `!(${textOf(test, source)})`);
    },
  },
  {
    name: 'drop-side',
    edits: (node, source) => {
      if (node.type !== 'LogicalExpression' || node.operator === '??') return [];
      return ['left', 'right'].flatMap((side) => replaced(node, `(${textOf(child(node, side), source)})`));
    },
  },
  {
    name: 'boundary',
    edits: (node, source) => {
      const to = node.type === 'BinaryExpression' ? OPPOSITE_BOUNDARY[node.operator as string] : undefined;
      return to === undefined ? [] : withOperator(node, source, to);
    },
  },
  {
    name: 'equality',
    edits: (node, source) => {
      const to = node.type === 'BinaryExpression' ? OPPOSITE_EQUALITY[node.operator as string] : undefined;
      return to === undefined ? [] : withOperator(node, source, to);
    },
  },
  {
    name: 'remove-await',
    edits: (node, source) =>
      node.type === 'AwaitExpression' ? replaced(node, textOf(child(node, 'argument'), source)) : [],
  },
  {
    name: 'remove-guard',
    edits: (node) => {
      if (node.type !== 'IfStatement' || node.alternate !== null) return [];
      return isExit(child(node, 'consequent')) ? replaced(node, ';') : [];
    },
  },
  {
    name: 'swap-arguments',
    edits: (node, source) => {
      // The order of the arguments of Math.max and Math.min makes no difference.
      const isOrderless = /^Math\.(?:max|min)\(/.test(textOf(node, source));
      if (node.type !== 'CallExpression' || isOrderless) return [];
      const given = node.arguments as readonly Node[];
      return given.slice(1).flatMap((second, index) => {
        const first = given[index] as Node;
        if (!isConfusable(first, second, source)) return [];
        const between = source.slice(first.end, second.start);
        const text = `${textOf(second, source)}${between}${textOf(first, source)}`;
        return [{ start: first.start, end: second.end, text }];
      });
    },
  },
  {
    name: 'limit-step',
    edits: (node, source) => {
      if (node.type !== 'BinaryExpression' || !((node.operator as string) in OPPOSITE_BOUNDARY)) return [];
      return ['left', 'right']
        .map((side) => child(node, side))
        .filter((side) => isLimit(side, source))
        .flatMap((side) =>
          ['+', '-'].flatMap((sign) => replaced(side, `(${textOf(side, source)} ${sign} 1)`)),
        );
    },
  },
  {
    name: 'default-to-or',
    edits: (node, source) => {
      if (node.type !== 'LogicalExpression' || node.operator !== '??') return [];
      // `a ?? 0` and `a || 0` are the same number. A list or an object is never falsy.
      const right = child(node, 'right');
      const isSame =
        ['ArrayExpression', 'ObjectExpression'].includes(right.type) ||
        ['0', '0n', "''", 'false'].includes(textOf(right, source));
      return isSame ? [] : withOperator(node, source, '||');
    },
  },
];

/**
 * `a ?? b` and `a || b` are the same unless `a` can be empty, 0 or false. The type checker rejects this call if the type of `a` includes
 * such a value.
 */
function neverFalsy(node: Node, source: string): Edit {
  const left = child(node, 'left');
  const falsy = ["''", '0', '0n', 'false'].reduceRight(
    (otherwise, value) => `${value} extends T ? never : ${otherwise}`,
    'unknown',
  );
  const check = `(<T,>(value: T & (${falsy})): T => value)`;
  return { start: left.start, end: left.end, text: `${check}(${textOf(left, source)})` };
}

/** A comparison that orders different values, as in `a < b ? -1 : 1`: including equality makes no difference. */
const isOrder = (node: Node, source: string): boolean =>
  node.type === 'ConditionalExpression' &&
  [child(node, 'consequent'), child(node, 'alternate')].every((side) => /^-?1$/.test(textOf(side, source)));

/** Wording and types: a fault in these is not a fault of a guard. */
const SKIPPED = new Set([
  'ThrowStatement',
  'TSTypeAnnotation',
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
]);

/**
 * Lists every mutant of a file, in the order of the source.
 *
 * @param file path relative to the root of the project
 * @param source its TypeScript
 */
export function mutantsOf(file: string, source: string): Mutant[] {
  const found: Mutant[] = [];
  const visit = (node: Node): void => {
    if (SKIPPED.has(node.type) || isOrder(node, source)) return;
    for (const operator of OPERATORS)
      for (const edit of operator.edits(node, source))
        found.push({
          ...edit,
          file,
          line: lineAt(source, edit.start),
          operator: operator.name,
          ...(operator.name === 'default-to-or' ? { nothingIf: neverFalsy(node, source) } : {}),
        });
    for (const value of Object.values(node))
      for (const each of Array.isArray(value) ? value : [value]) if (isNode(each)) visit(each);
  };
  visit(parseAst(source, { lang: 'ts' }, file) as unknown as Node);
  return found.sort((a, b) => a.start - b.start);
}

/** @returns the 1-based line of an offset. */
export const lineAt = (source: string, offset: number): number => source.slice(0, offset).split('\n').length;

/** The changed lines, without and with the fault, each without the common indentation. */
export interface Diff {
  readonly before: string;
  readonly after: string;
}

/** @returns the source with the fault in it. */
export const applied = (source: string, edit: Edit): string =>
  source.slice(0, edit.start) + edit.text + source.slice(edit.end);

/** @returns the lines that an edit changes, as a diff without context. */
export function diffOf(source: string, edit: Edit): Diff {
  const from = source.lastIndexOf('\n', edit.start - 1) + 1;
  const lineEnd = source.indexOf('\n', edit.end);
  const to = lineEnd < 0 ? source.length : lineEnd;
  const after = source.slice(from, edit.start) + edit.text + source.slice(edit.end, to);
  const indentation = /^ */.exec(source.slice(from))?.[0] ?? '';
  const trimmed = (text: string): string => text.replaceAll(`\n${indentation}`, '\n').trim();
  return { before: trimmed(source.slice(from, to)), after: trimmed(after) };
}

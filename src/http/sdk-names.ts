/** Names in the Python SDK. An operation states its name in the SDKs itself (`sdk`), as the TypeScript SDK has it. */

/** Returns a name in snake case, such as `screen_bulk`. */
const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Words that Python does not accept as names, except `False`, `None` and `True`, which are not in snake case. */
const PYTHON_KEYWORDS: ReadonlySet<string> = new Set(
  (
    'and as assert async await break class continue def del elif else except finally for from global if import in is ' +
    'lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

/** Returns the name of a field or parameter in the Python SDK: in snake case, and a keyword with an underscore, such as `from_`. */
export function pythonName(field: string): string {
  const plain = field.replace(/[^A-Za-z0-9]+/g, '_');
  const snake = /^[A-Z_]+$/.test(plain) ? plain.toLowerCase() : snakeCase(plain).replace(/^_/, '');
  const single = snake.replaceAll('__', '_');
  return PYTHON_KEYWORDS.has(single) ? `${single}_` : single;
}

/** Returns `resource.method` in the Python SDK. */
export const pythonMethod = (name: string): string => name.split('.').map(pythonName).join('.');

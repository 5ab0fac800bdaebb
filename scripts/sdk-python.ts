/**
 * Writes `sdk/python/assay.py`, the Python client, from the OpenAPI document and `sdk-python-template.py`, which has the parts that do not
 * depend on operations: `npm run sdk:python`. A test fails if the file is outdated.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../src/base/paths.ts';
import { openApiDocument } from '../src/http/openapi.ts';
import { OPERATIONS } from '../src/http/operations/index.ts';
import { pythonMethod, pythonName } from '../src/http/sdk-names.ts';

export const pythonPath = join(projectRoot, 'sdk', 'python', 'assay.py');

const LINE_CHARS_MAX = 119;

/** Longer lists of words get a name, which keeps signatures readable. */
const INLINE_WORDS_CHARS_MAX = 60;

/** Operations by their ids: the document has neither their names in the SDKs nor whether they may be sent again. */
const DESCRIPTORS = new Map(OPERATIONS.map((one) => [one.id, one]));

/** Operations whose methods are generators, by the method of the client that makes them. */
const STREAMS: Readonly<Record<string, string>> = {
  jobResult: `_parsed_lines(self._client._result_chunks(OPERATION, OPTIONS, {"id": id}))`,
  alertStream: `self._client._stream(OPERATION, OPTIONS, last_event_id, silence)`,
  billingStream: `self._client._stream(OPERATION, OPTIONS, last_event_id, silence)`,
};

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema; readonly examples?: object }>>;

export interface DocumentedOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

export interface ApiDocument {
  readonly info: { readonly version: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Returns the document of this version of the program. */
export function apiDocument(): ApiDocument {
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  return JSON.parse(JSON.stringify(openApiDocument(version, OPERATIONS))) as ApiDocument;
}

/** An operation with its place. */
export interface PlacedOperation extends DocumentedOperation {
  readonly method: string;
  readonly path: string;
  /** Whether the path is below /api/v1. */
  readonly isVersioned: boolean;
}

/** Returns the operations of a document in its order. */
export const operationsOf = ({ paths }: ApiDocument): readonly PlacedOperation[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== 'servers')
      .map(([method, operation]) => ({
        ...operation,
        method: method.toUpperCase(),
        path,
        isVersioned: !('servers' in item),
      })),
  );

const text = (value: string): string => JSON.stringify(value);
const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);
const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
const pascal = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map(capital)
    .join('');

/** Wraps words into lines with a prefix. */
function wrapped(words: string, prefix: string): string {
  const lines: string[] = [];
  let line = prefix;
  for (const word of words.split(/\s+/)) {
    if (line.length + word.length + 1 > LINE_CHARS_MAX && line.trim() !== prefix.trim()) {
      lines.push(line);
      line = prefix;
    }
    line += line === prefix ? word : ` ${word}`;
  }
  return [...lines, line].join('\n');
}

/** Writes a call or a type on one line, or with one argument a line. */
function broken(before: string, items: readonly string[], after: string, indent: string): string {
  const line = `${indent}${before}${items.join(', ')}${after}`;
  if (line.length <= LINE_CHARS_MAX) return line;
  return [`${indent}${before}`, ...items.map((item) => `${indent}    ${item},`), `${indent}${after}`].join(
    '\n',
  );
}

/** Writes words as a type, as many on a line as fit. */
function wordsType(name: string, words: readonly string[]): string {
  const list = words.map((word) => `${text(word)},`).join(' ');
  return `${name} = Literal[\n${wrapped(list, '    ')}\n]`;
}

/** A type in Python, and how the client reads its JSON. */
interface PythonType {
  readonly hint: string;
  /** `None`, or the text of a specification that `_read` of the template takes. */
  readonly spec: string;
}

const plainType = (hint: string): PythonType => ({ hint, spec: 'None' });

const isNullable = ({ anyOf }: Schema): boolean => anyOf?.some(({ type }) => type === 'null') ?? false;

/** Collects the models and aliases that the operations need. */
class Models {
  readonly #schemas: ApiDocument['components']['schemas'];
  readonly #classes = new Map<string, string>();
  readonly #aliases = new Map<string, string>();
  /** Schemas that are named after their place in the document. */
  readonly #inline = new Map<string, Schema>();

  constructor(schemas: ApiDocument['components']['schemas']) {
    this.#schemas = schemas;
  }

  /** Returns the schema behind a reference. */
  resolve(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema;
    const found = this.#schemas[nameOf(schema.$ref)];
    if (found === undefined) throw new Error(`The document has no schema ${schema.$ref}.`);
    return this.resolve(found);
  }

  /**
   * Returns the type of a schema, and collects its models.
   *
   * @param name - name of the model, if the schema is an object without a name
   */
  typeOf(schema: Schema, name: string): PythonType {
    if (schema.$ref !== undefined) return this.#named(nameOf(schema.$ref));
    if (schema.anyOf !== undefined) return this.#union(schema, name);
    if (schema.enum !== undefined) return this.#words(schema.enum, schema, name);
    switch (schema.type) {
      case 'string':
        return plainType('str');
      case 'integer':
        return plainType('int');
      case 'number':
        return plainType('float');
      case 'boolean':
        return plainType('bool');
      case 'array': {
        const item = this.typeOf(schema.items ?? {}, name.replace(/ies$/, 'y').replace(/(?<!s)s$/, ''));
        return { hint: `List[${item.hint}]`, spec: item.spec === 'None' ? 'None' : `[${item.spec}]` };
      }
      case 'object':
        return this.#object(schema, name);
      default:
        return plainType('Any');
    }
  }

  #union(schema: Schema, name: string): PythonType {
    const others = (schema.anyOf ?? []).filter(({ type }) => type !== 'null');
    const types = others.map((other) => this.typeOf(other, name));
    const models = types.filter(({ spec }) => spec !== 'None');
    const hints = types.map(({ hint }) => hint);
    const hint = hints.length === 1 ? (hints[0] ?? 'Any') : `Union[${hints.join(', ')}]`;
    const specs = models.map(({ spec }) => spec);
    const spec = specs.length > 1 ? `(${specs.join(', ')})` : (specs[0] ?? 'None');
    return { hint: isNullable(schema) ? `Optional[${hint}]` : hint, spec };
  }

  #object(schema: Schema, name: string): PythonType {
    const map = Object.values(schema.patternProperties ?? {})[0];
    if (map !== undefined) {
      const item = this.typeOf(map, `${name}Item`);
      return { hint: `Dict[str, ${item.hint}]`, spec: item.spec === 'None' ? 'None' : `{"": ${item.spec}}` };
    }
    if (schema.properties === undefined || Object.keys(schema.properties).length === 0)
      return plainType('Dict[str, Any]');
    if (this.#isNew(name, schema)) this.#define(name, schema);
    return { hint: name, spec: text(name) };
  }

  /**
   * Whether a schema without a name of its own has not been written under this one.
   *
   * @throws if another schema has this name
   */
  #isNew(name: string, schema: Schema): boolean {
    const known = this.#inline.get(name);
    if (known === schema) return false;
    if (known !== undefined || Object.hasOwn(this.#schemas, name))
      throw new Error(`Two schemas of the document would have the Python name ${name}.`);
    this.#inline.set(name, schema);
    return true;
  }

  #words(words: readonly string[], schema: Schema, name: string): PythonType {
    const hint = `Literal[${words.map(text).join(', ')}]`;
    if (hint.length <= INLINE_WORDS_CHARS_MAX) return plainType(hint);
    if (this.#isNew(name, schema)) this.#aliases.set(name, wordsType(name, words));
    return plainType(name);
  }

  #named(name: string): PythonType {
    const schema = this.#schemas[name];
    if (schema === undefined) throw new Error(`The document has no schema ${name}.`);
    if (schema.type === 'object' && schema.properties !== undefined) {
      if (!this.#classes.has(name)) this.#define(name, schema);
      return { hint: name, spec: text(name) };
    }
    if (!this.#aliases.has(name)) {
      const comment = schema.description === undefined ? '' : `${wrapped(schema.description, '#: ')}\n`;
      const words = schema.enum;
      const value =
        words === undefined ? `${name} = ${this.typeOf(schema, name).hint}` : wordsType(name, words);
      this.#aliases.set(name, `${comment}${value}`);
    }
    return plainType(name);
  }

  #define(name: string, schema: Schema): void {
    // Its own text is set below, after those of the models that it contains.
    this.#classes.set(name, '');
    const required = new Set(schema.required ?? []);
    const fields = Object.entries(schema.properties ?? {}).map(([field, value]) => ({
      field,
      attribute: pythonName(field),
      isRequired: required.has(field),
      description:
        value.description ?? (value.$ref === undefined ? '' : this.resolve(value).description) ?? '',
      ...this.typeOf(value, `${name}${pascal(field)}`),
    }));
    const attributes = new Set(fields.map(({ attribute }) => attribute));
    if (attributes.size < fields.length || attributes.has('extra') || attributes.has('response'))
      throw new Error(`${name}: two fields have the same Python name, or one is called extra or response.`);
    const lines = fields
      .toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired))
      .flatMap(({ attribute, hint, isRequired, description }) => {
        const optional = hint.startsWith('Optional[') ? hint : `Optional[${hint}]`;
        const line = `    ${attribute}: ${isRequired ? hint : `${optional} = None`}`;
        return [...(description === '' ? [] : [wrapped(description, '    #: ')]), line];
      });
    const table = fields.map(
      ({ field, attribute, spec, isRequired }) =>
        `        (${text(field)}, ${text(attribute)}, ${spec}, ${isRequired ? 'True' : 'False'}),`,
    );
    const summary = schema.description ?? `${name} of the API.`;
    this.#classes.set(
      name,
      [
        '@dataclass',
        `class ${name}(Model):`,
        docstring([summary], '    '),
        '',
        ...lines,
        '    extra: Dict[str, Any] = _field(default_factory=dict, repr=False)',
        '    _fields: ClassVar[Tuple[Tuple[str, str, _Spec, bool], ...]] = (',
        ...table,
        '    )',
      ].join('\n'),
    );
  }

  /** Returns the text of all models, sorted by name. */
  text(): string {
    const sorted = (all: ReadonlyMap<string, string>): string[] =>
      [...all].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
    return [sorted(this.#aliases).join('\n\n'), ...sorted(this.#classes)].join('\n\n\n');
  }
}

/** Writes paragraphs as a docstring. */
function docstring(paragraphs: readonly string[], indent: string): string {
  const safe = paragraphs.map((paragraph) => paragraph.replaceAll('\\', '\\\\').replaceAll('"""', "'''"));
  const [first = '', ...rest] = safe;
  const opening = wrapped(`"""${first}`, indent);
  const oneLine = `${opening}"""`;
  if (rest.length === 0 && !oneLine.includes('\n') && oneLine.length <= LINE_CHARS_MAX) return oneLine;
  return [opening, ...rest.flatMap((paragraph) => ['', paragraph]), `${indent}"""`].join('\n');
}

/** An argument of a method. */
interface Argument {
  readonly name: string;
  readonly attribute: string;
  readonly place: 'path' | 'query' | 'header' | 'body';
  readonly hint: string;
  readonly isRequired: boolean;
  readonly description: string;
}

function authOf({ security }: DocumentedOperation): string {
  // The document's default: a key or a session.
  if (security === undefined) return 'either';
  const names = security.flatMap((one) => Object.keys(one));
  if (names.length === 0) return 'none';
  if (names.length > 1) return 'either';
  return names[0] === 'session' ? 'session' : 'key';
}

/** Headers that the client sends itself. */
const OWN_HEADERS = new Set(['Idempotency-Key', 'Range', 'If-Range', 'Last-Event-ID']);

/** Arguments that streams take instead of their parameters. */
const STREAM_ARGUMENTS: Readonly<Record<string, string>> = {
  alertStream: 'silence: float = STREAM_SILENCE_SECONDS',
  billingStream: 'silence: float = STREAM_SILENCE_SECONDS',
};

class Methods {
  readonly #models: Models;

  constructor(models: Models) {
    this.#models = models;
  }

  #arguments(operation: PlacedOperation): readonly Argument[] {
    const id = operation.operationId;
    const parameters = operation.parameters
      .filter(({ name, in: place }) => place !== 'header' || !OWN_HEADERS.has(name))
      .map(({ name, in: place, required, description, schema }) => ({
        name,
        attribute: pythonName(name),
        place,
        hint: this.#models.typeOf(schema, pascal(`${id} ${name}`)).hint.replace(/^List\[/, 'Sequence['),
        isRequired: required,
        description,
      }));
    const schema = isUploadOf(operation)
      ? undefined
      : operation.requestBody?.content['application/json']?.schema;
    if (schema === undefined) return parameters;
    const { properties = {}, required = [] } = this.#models.resolve(schema);
    const fields = Object.entries(properties).map(([name, value]) => {
      const { hint, spec } = this.#models.typeOf(value, `${nameOf(schema.$ref ?? id)}${pascal(name)}`);
      // A model can also be given as a dictionary with the names of the API.
      const given = spec === 'None' ? hint : hint.replace(/(\w*Body\w+)/g, 'Union[$1, Mapping[str, Any]]');
      return {
        name,
        attribute: pythonName(name),
        place: 'body' as const,
        hint: given.replace(/^List\[/, 'Sequence['),
        isRequired: required.includes(name),
        description: value.description ?? '',
      };
    });
    const all = [...parameters, ...fields];
    const names = new Set(all.map(({ attribute }) => attribute));
    if (names.size < all.length) throw new Error(`${id}: two parameters have the same Python name.`);
    return all;
  }

  #result(operation: PlacedOperation): { hint: string; fields: string[] } {
    const [type = '', content] = Object.entries(operation.responses[200]?.content ?? {})[0] ?? [];
    const schema = content?.schema ?? {};
    if (type !== 'application/json')
      return type.startsWith('text/')
        ? { hint: 'str', fields: ['result="text"'] }
        : { hint: 'bytes', fields: ['result="bytes"'] };
    const whole = this.#models.resolve(schema);
    const hasEnvelope = whole.properties?.data !== undefined;
    const data = hasEnvelope ? (whole.properties?.data ?? {}) : schema;
    const { hint, spec } = this.#models.typeOf(data, pascal(`${operation.operationId} result`));
    const fields = [
      ...(hasEnvelope ? [] : ['has_envelope=False']),
      ...(spec === 'None' ? [] : [`result=${spec}`]),
    ];
    const { properties = {} } = this.#models.resolve(data);
    if (properties.nextCursor === undefined) return { hint: spec === 'None' ? 'Any' : hint, fields };
    const [name, list] = Object.entries(properties).find(([, { type: kind }]) => kind === 'array') ?? [];
    if (name === undefined || list === undefined)
      throw new Error(`${operation.operationId}: a page without a list.`);
    const item = this.#models.typeOf(list, `${hint}${pascal(name)}`).hint.replace(/^List\[(.*)\]$/, '$1');
    return { hint: `Page[${hint}, ${item}]`, fields: [...fields, `items=${text(pythonName(name))}`] };
  }

  #operationText(operation: PlacedOperation, fields: readonly string[]): string {
    const { operationId: id, method, path, isVersioned } = operation;
    const retry = DESCRIPTORS.get(id)?.retry ?? 'unsafe';
    const values = [id, method, path].map(text);
    const flags = [isVersioned ? 'True' : 'False', text(authOf(operation)), text(retry)];
    return broken(
      `_${pythonName(id).toUpperCase()} = _Operation(`,
      [...values, ...flags, ...fields],
      ')',
      '',
    );
  }

  /**
   * Returns the constant that describes an operation, and its method.
   *
   * @throws if the document has something that this generator does not write
   */
  write(
    operation: PlacedOperation,
    methodName: string,
  ): { readonly constant: string; readonly method: string } {
    const { operationId: id, summary, description, requestBody } = operation;
    const stream = STREAMS[id];
    const all = this.#arguments(operation);
    const types = Object.keys(requestBody?.content ?? {});
    const isUpload = isUploadOf(operation);
    const hasKey = operation.parameters.some(({ name }) => name === 'Idempotency-Key');
    const { hint, fields } = stream === undefined ? this.#result(operation) : { hint: '', fields: [] };
    const result =
      id === 'jobResult'
        ? 'Iterator[Dict[str, Any]]'
        : id in STREAM_ARGUMENTS
          ? 'Iterator[StreamEvent]'
          : hint;

    const positional = all
      .filter(({ place }) => place === 'path')
      .map((one) => `${one.attribute}: ${one.hint}`);
    const keywords = all
      .filter(({ place }) => place !== 'path')
      .toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired))
      .map(({ attribute, hint: type, isRequired, place }) => {
        if (isRequired) return `${attribute}: ${type}`;
        if (type.startsWith('Optional[') && place === 'body')
          return `${attribute}: Union[${type}, _NotGiven] = NOT_GIVEN`;
        return `${attribute}: ${type.startsWith('Optional[') ? type : `Optional[${type}]`} = None`;
      });
    const extra = [
      ...(isUpload ? ['content_type: Optional[str] = None'] : []),
      ...(id in STREAM_ARGUMENTS ? [STREAM_ARGUMENTS[id] ?? ''] : ['timeout: Optional[float] = None']),
      'max_retries: Optional[int] = None',
      ...(hasKey ? ['idempotency_key: Optional[str] = None'] : []),
    ];
    const signature = [
      'self',
      ...positional,
      ...(isUpload ? ['body: UploadBody'] : []),
      '*',
      ...keywords,
      ...extra,
    ];
    const timeout = id in STREAM_ARGUMENTS ? 'None' : 'timeout';
    const options = `_Options(${timeout}, max_retries${hasKey ? ', idempotency_key' : ''})`;
    const constant = `_${pythonName(id).toUpperCase()}`;
    const call =
      stream === undefined
        ? this.#callOf(operation, constant, options, all, isUpload ? types : null)
        : `        return ${stream.replace('OPERATION', constant).replace('OPTIONS', options)}`;
    const described = all.flatMap((one) =>
      one.description === '' ? [] : [wrapped(`:param ${one.attribute}: ${one.description}`, '        ')],
    );
    const doc = docstring(
      [
        `${summary}.`,
        wrapped(description, '        '),
        ...(described.length === 0 ? [] : [described.join('\n')]),
      ],
      '        ',
    );
    const head = broken(`def ${methodName}(`, signature, `) -> ${result}:`, '    ');
    return { constant: this.#operationText(operation, fields), method: [head, doc, call].join('\n') };
  }

  #callOf(
    operation: PlacedOperation,
    constant: string,
    options: string,
    all: readonly Argument[],
    types: readonly string[] | null,
  ): string {
    const table = (place: Argument['place']): readonly string[] => {
      const entries = all.filter((one) => one.place === place);
      return entries.map(({ name, attribute }) => `${text(name)}: ${attribute}`);
    };
    const named = { path: 'path', query: 'query', header: 'headers' } as const;
    const parts = Object.entries(named).flatMap(([place, argument]) =>
      all.some((one) => one.place === place)
        ? [broken(`${argument}={`, table(place as Argument['place']), '}', '            ').trimStart()]
        : [],
    );
    if (types === null && operation.requestBody !== undefined) {
      const fields = all.filter(({ place }) => place === 'body');
      // Of optional fields that cannot be null, None means that they are left out.
      const values = fields.map(({ name, attribute, isRequired, hint }) =>
        isRequired || hint.startsWith('Optional[')
          ? `${text(name)}: ${attribute}`
          : `${text(name)}: NOT_GIVEN if ${attribute} is None else ${attribute}`,
      );
      parts.push(broken('body={', values, '}', '            ').trimStart());
    }
    if (types !== null) {
      const accepted = broken('[', types.map(text), ']', '                ').trimStart();
      const type = all.some(({ attribute }) => attribute === 'format')
        ? `_upload_type(body, ${accepted}, format)`
        : `_file_type(name, ${accepted})`;
      parts.push(`upload=(body, content_type or ${type})`);
    }
    return broken('return self._client._call(', [constant, options, ...parts], ')', '        ');
  }
}

/** Whether the body is bytes of a declared type. JSON may be one of several types of files. */
const isUploadOf = ({ requestBody }: PlacedOperation): boolean =>
  requestBody !== undefined && Object.keys(requestBody.content).some((type) => type !== 'application/json');

/** Methods of resources that no operation has. */
const HAND_WRITTEN: Readonly<Record<string, string>> = {
  webhooks: `    def unwrap(
        self,
        body: Union[bytes, str],
        headers: Mapping[str, str],
        secret: Union[str, Sequence[str], None] = None,
        *,
        tolerance: float = WEBHOOK_TOLERANCE_SECONDS,
    ) -> WebhookEvent:
        """Verifies a delivery, and returns its event. See unwrap_webhook().

        :param secret: default: that of the client
        :raises WebhookVerificationError: if the delivery is not genuine, or too old
        """
        known = secret or self._client.webhook_secret
        if not known:
            raise AssayError("secret: is missing; pass it, or set ASSAY_WEBHOOK_SECRET.")
        return unwrap_webhook(body, headers, known, tolerance=tolerance)`,
};

/** Returns the `resource.method` of every operation that the client has. */
export function pythonNames(operations: readonly PlacedOperation[]): ReadonlyMap<string, string> {
  const named = operations.flatMap(({ operationId: id }) => {
    const name = DESCRIPTORS.get(id)?.sdk ?? null;
    return name === null ? [] : [[id, pythonMethod(name)] as const];
  });
  return new Map(named);
}

/** Returns the text of `sdk/python/assay.py`. */
export function pythonModule(document: ApiDocument = apiDocument()): string {
  const operations = operationsOf(document);
  const names = pythonNames(operations);
  const models = new Models(document.components.schemas);
  const methods = new Methods(models);
  const constants: string[] = [];
  const resources = new Map<string, string[]>();
  for (const operation of operations) {
    const name = names.get(operation.operationId);
    if (name === undefined) continue;
    const [resource = '', methodName = ''] = name.split('.');
    const { constant, method } = methods.write(operation, methodName);
    constants.push(constant);
    resources.set(resource, [...(resources.get(resource) ?? []), method]);
  }
  // The template reads these two.
  for (const name of ['Alert', 'MonitoredWallet'])
    models.typeOf({ $ref: `#/components/schemas/${name}` }, name);
  const className = (resource: string): string => pascal(resource.replaceAll('_', ' '));
  const classes = [...resources].map(([resource, all]) =>
    [
      `class ${className(resource)}Resource(_Resource):`,
      `    """Operations of \`client.${resource}\`."""`,
      '',
      [...all, ...(HAND_WRITTEN[resource] === undefined ? [] : [HAND_WRITTEN[resource]])].join('\n\n'),
    ].join('\n'),
  );
  const attributes = [...resources.keys()].map(
    (name) => `        self.${name} = ${className(name)}Resource(self)`,
  );
  const template = readFileSync(join(projectRoot, 'scripts', 'sdk-python-template.py'), 'utf8');
  return template
    .replace('@version', () => document.info.version)
    .replace('# @models\n', () => `${models.text().trimEnd()}\n`)
    .replace('# @resources\n', () => `${[constants.join('\n'), ...classes].join('\n\n\n')}\n`)
    .replace('        # @attributes\n', () => `${attributes.join('\n')}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(pythonPath, pythonModule());

/** The tools: what each of them calls, and which part of the response it shows first. */
import { type TProperties, type TSchema, Type } from 'typebox';
import { MCP_LIMITS } from './limits.ts';
import type { ToolOperation } from './operations.ts';
import { inputFields, required } from './schemas.ts';
import type { JsonObject } from './untrusted.ts';

/** Position in a list that is too long for one result. */
export interface ToolCursor {
  /** Path of the field. */
  readonly field: string;
  /** Rows that were shown before. */
  readonly offset: number;
  /** Newest row of the first page, for lists that grow meanwhile; null if the cursor has none. */
  readonly newest: number | null;
}

export interface ToolRequest {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  /** Id of the operation that the tool calls. The tool exists if the server has the operation. */
  readonly operation: string;
  readonly description: string;
  /** Cost in words, if it depends on the arguments. */
  readonly cost?: string;
  readonly fields: (operation: ToolOperation) => TProperties;
  readonly request: (args: JsonObject, cursor: ToolCursor | null) => ToolRequest;
  /** Fields of `data` that a result shows; null: all. The others are listed as omitted. */
  readonly shown: readonly string[] | null;
  /** The other fields of `data` are not listed as omitted, and no cursor shows them. */
  readonly hidesOthers?: true;
  /** Fields that are shortened last. */
  readonly essential: readonly string[];
  /** List that the operation itself pages by `offset`: its rows are those after the cursor. */
  readonly pagedBy?: string;
  /** A second operation, of whose response one field is added to `data`, if the server has it. */
  readonly also?: {
    readonly operation: string;
    readonly field: string;
    readonly request: (args: JsonObject) => ToolRequest;
  };
  /** Changes data of the account. */
  readonly writes?: true;
  /** Reads from other systems: nodes of chains. */
  readonly isOpenWorld?: true;
  /** Status, beside 200, of which the response has `data`. */
  readonly alsoAnswers?: number;
}

const picked = (args: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(args).filter(([name]) => names.includes(name)));

const texts = (args: JsonObject, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(picked(args, names)).map(([name, value]) => [name, String(value)]));

const addressText = (description: string): TSchema =>
  Type.String({ minLength: 1, maxLength: MCP_LIMITS.toolTextCharsMax, description });

/** Returns a tool that passes its arguments as the body of an operation. */
const bodyTool = (names: readonly string[], more: TProperties = {}): Pick<Tool, 'fields' | 'request'> => ({
  fields: (operation) => ({ ...inputFields(operation, names), ...more }),
  request: (args) => ({ body: picked(args, names) }),
});

const NOT_CLEAN = 'If nothing is known, the result says so: not known is not clean.';

/** Options of the operation that the tool sets by itself. */
const SCREENING_FIELDS = ['address', 'chain', 'jurisdiction', 'asOf', 'taint', 'maxHops'] as const;
const TRACE_FIELDS = ['address', 'chain', 'direction', 'hops', 'crossChain'] as const;
const PATH_FIELDS = [
  'address',
  'targetAddress',
  'chain',
  'direction',
  'maxDepth',
  'timeRespecting',
  'crossChain',
] as const;

const ALERT_FILTERS = ['status', 'severity', 'walletId'] as const;

const noteBody = (args: JsonObject): JsonObject => ({ type: 'NOTE', ...picked(args, ['note']) });

export const TOOLS: readonly Tool[] = [
  {
    name: 'screen_address',
    title: 'Screen an address',
    operation: 'screening',
    description: `Risk of one blockchain address: score with its arithmetic, sanctions lists, labels with their sources, exposure to other entities, cluster and coverage. ${NOT_CLEAN}`,
    ...bodyTool(SCREENING_FIELDS),
    shown: [
      'address',
      'chain',
      'asOf',
      'riskScore',
      'riskLevel',
      'assessed',
      'sanctioned',
      'reasons',
      'scoreBreakdown',
      'sanctionsCheck',
      'entity',
      'entityLabels',
      'labelConflicts',
      'exposures',
      'clusterAnalysis',
      'coverage',
      'dataVersion',
      'policyVersion',
      'screenedAt',
    ],
    essential: ['reasons', 'scoreBreakdown', 'sanctionsCheck', 'coverage', 'entity'],
    isOpenWorld: true,
  },
  {
    name: 'check_sanctions',
    title: 'Check sanctions lists',
    operation: 'sanctionsCheck',
    description:
      'Whether sanctions lists of the US, the EU, the UN, the UK and Switzerland name an address, with the date of each list. Direct matches only: owners and exposure are part of screen_address. No match on a stale list proves nothing.',
    fields: (operation) => inputFields(operation, ['address', 'chain']),
    request: (args) => ({ query: texts(args, ['address', 'chain']) }),
    shown: null,
    essential: ['lists', 'reasons', 'coverage'],
  },
  {
    name: 'get_labels',
    title: 'Get the labels of an address',
    operation: 'labels',
    description: `All labels of an address with source, class of evidence, confidence and date, the primary one first; no score. ${NOT_CLEAN}`,
    fields: (operation) => inputFields(operation, ['address', 'chain']),
    request: (args) => ({ path: texts(args, ['address', 'chain']) }),
    shown: null,
    essential: ['sanctionsDetail', 'reasons', 'coverage'],
  },
  {
    name: 'screen_payment',
    title: 'Screen a payment',
    operation: 'kyt',
    description: `Decision BLOCK, REVIEW or ALLOW about a transfer, with the flags that say why: \`from\` and \`to\`, or one \`address\` with a direction. Names that end in .eth are resolved. ${NOT_CLEAN}`,
    ...bodyTool(['address', 'from', 'to', 'chain', 'direction']),
    shown: null,
    essential: ['flags', 'reasons', 'coverage'],
    isOpenWorld: true,
  },
  {
    name: 'trace_funds',
    title: 'Trace funds',
    operation: 'trace',
    description:
      'Origins and destinations of the funds of an address, up to three hops, with the amounts of each step. A trace shows where funds passed, not who controlled them; `stoppedAt` has the addresses at which it ended.',
    cost: '5 credits; nothing if no transfer of the address is known.',
    ...bodyTool(TRACE_FIELDS),
    shown: null,
    essential: ['stats', 'coverage', 'nodes'],
    isOpenWorld: true,
  },
  {
    name: 'find_path',
    title: 'Find a path of funds',
    operation: 'trace',
    description:
      'Paths of transfers from one address to another, fewest hops first. A path is a sequence of transfers: with `timeRespecting` one that funds can have taken in the order of time. No path within `maxDepth` does not exclude a longer one.',
    cost: '10 credits; nothing if no transfer of the address is known.',
    ...bodyTool(PATH_FIELDS, {
      targetAddress: addressText('Address at the other end of the path.'),
    }),
    shown: [
      'address',
      'chain',
      'direction',
      'found',
      'target',
      'paths',
      'truncated',
      'crossChain',
      'stats',
      'coverage',
      'assessed',
      'dataVersion',
      'tracedAt',
    ],
    essential: ['stats', 'coverage', 'paths'],
    isOpenWorld: true,
  },
  {
    name: 'screen_names',
    title: 'Screen names',
    operation: 'names',
    description: `Candidates for up to ${MCP_LIMITS.toolNamesMax} names of people, organisations or vessels on sanctions lists, lists of politically exposed persons and adverse media, with the reasons of each. A candidate is not a match until birth date, country or programme confirm it; no candidate is not proof.`,
    cost: '1 credit for each name.',
    fields: (operation) => {
      const { names } = inputFields(operation, ['names']);
      const { items } = names as TSchema & { readonly items: TSchema };
      return {
        names: Type.Array(items, {
          minItems: 1,
          maxItems: MCP_LIMITS.toolNamesMax,
          description: 'The names, with what is known about each.',
        }),
      };
    },
    request: (args) => ({ body: picked(args, ['names']) }),
    shown: null,
    essential: ['results', 'reasons'],
  },
  {
    name: 'exchange_registrations',
    title: 'Get the registrations of an exchange',
    operation: 'exchangeStatus',
    description:
      'Registrations, licences and warnings of an exchange in regulatory registers, with the date of each, designations by sanctions lists, and the registers that were not read. A register that was not read says nothing.',
    fields: (operation) => inputFields(operation, ['name', 'jurisdiction']),
    request: (args) => ({ query: texts(args, ['name', 'jurisdiction']) }),
    shown: null,
    essential: ['matched', 'designations', 'closed'],
  },
  {
    name: 'list_alerts',
    title: 'List alerts',
    operation: 'listAlerts',
    description:
      'Alerts of the watched wallets of the account, newest first. `notFollowed` lists wallets whose transfers are not seen at the moment: no alert about them means nothing.',
    fields: (operation) => ({
      ...inputFields(operation, ALERT_FILTERS),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MCP_LIMITS.toolAlertsMax, description: 'Rows. Default 10.' }),
      ),
    }),
    request: (args, cursor) => ({
      query: {
        limit: '10',
        ...texts(args, [...ALERT_FILTERS, 'limit']),
        ...(cursor === null ? {} : { offset: String(cursor.offset) }),
        ...(cursor === null || cursor.newest === null ? {} : { upTo: String(cursor.newest) }),
      },
    }),
    shown: ['alerts', 'total', 'newest', 'notFollowed'],
    hidesOthers: true,
    essential: ['notFollowed'],
    pagedBy: 'alerts',
  },
  {
    name: 'get_case',
    title: 'Get a case',
    operation: 'oneCase',
    description:
      'One case of the account: status, decision, links to addresses and records, and its newest events with their notes. Notes are texts of people and of other systems.',
    fields: (operation) => inputFields(operation, ['id']),
    request: (args) => ({ path: texts(args, ['id']) }),
    also: {
      operation: 'caseEvents',
      field: 'events',
      request: (args) => ({ path: texts(args, ['id']), query: { limit: '50' } }),
    },
    shown: null,
    essential: ['case'],
  },
  {
    name: 'add_case_note',
    title: 'Add a note to a case',
    operation: 'addCaseEvent',
    description:
      'Adds a note to a case. The note cannot be changed or deleted, and has the name of the API key. Write what was found, the source and date of each fact, and what was not read.',
    fields: (operation) => ({
      ...inputFields(operation, ['id', 'note']),
      note: required(inputFields(operation, ['note']).note as TSchema),
    }),
    request: (args) => ({ path: texts(args, ['id']), body: noteBody(args) }),
    shown: null,
    essential: [],
    writes: true,
  },
  {
    name: 'data_coverage',
    title: 'Get the coverage of the data',
    operation: 'ready',
    description:
      'The label snapshot in use, and the publication and last check of each sanctions list. Call it before a conclusion from an empty result: a list that is stale or was never loaded proves nothing.',
    cost: 'Free.',
    fields: () => ({}),
    request: () => ({}),
    // Folders, leases and replication are for operators.
    shown: ['ready', 'reasons', 'snapshot', 'lists', 'monitoring'],
    hidesOthers: true,
    essential: ['reasons', 'lists'],
    alsoAnswers: 503,
  },
];

/** Returns the cost of a call in words. */
export function costOf({ cost }: Pick<Tool, 'cost'>, { credits, quota }: ToolOperation): string {
  if (cost !== undefined) return cost;
  if (credits > 0) return `${credits} ${credits === 1 ? 'credit' : 'credits'}.`;
  if (quota !== null) return `one unit of the monthly quota \`${quota}\`, no credits.`;
  return 'no credits; the rate limit of the account applies.';
}

/** Returns the description of a tool: its purpose, its cost and the permission that it needs. */
export function descriptionOf(tool: Tool, operation: ToolOperation): string {
  const { permissions } = operation;
  const needs =
    permissions.length === 0 ? '' : ` Needs a key with the permission ${permissions.join(' or ')}.`;
  return `${tool.description} Cost: ${costOf(tool, operation)}${needs}`;
}

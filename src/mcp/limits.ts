/** Limits of the MCP server, each with the reason for its value. */
export const MCP_LIMITS = {
  /** Bytes of the result of a tool call, text and structured content together: a few thousand tokens of the context of a model. */
  toolResultBytesMax: 8 * 1024,
  /** Bytes of the result beside the data: its frame, the version and the name of the server that the protocol adds. */
  toolResultFrameBytes: 512,
  /** Names of one call of `screen_names`: the matches of more names do not fit into one result. */
  toolNamesMax: 10,
  /** Alerts of one page: more do not fit into one result. */
  toolAlertsMax: 20,
  /** Messages of one JSON-RPC batch of a 2025 client: each may be a screening, and no client is known to send more. */
  batchMessagesMax: 16,
  /** Fields and elements of a message or batch: the library reads each several times. A full batch of calls with ten names each has 2,000. */
  messageValuesMax: 4_096,
  /** Rows of a list that are read before it is shortened: more than fit, even if each is a number. */
  listRowsReadMax: 1_000,
  /** Lists and texts that a result names as shortened; beyond it, only their number is given. */
  cutsShownMax: 10,
  /** Characters that are kept of a text that must be shortened: a name or a sentence. */
  shortTextChars: 160,
  /** Characters of a cursor: the longest path of a field, and two numbers. */
  toolCursorCharsMax: 128,
  /** Characters of an address: the operations accept fewer. */
  toolTextCharsMax: 256,
  /** Bytes of a response that `assay mcp` reads: what a server sends at most. */
  toolResponseBytesMax: 16 * 1024 * 1024,
  /** A tool call of `assay mcp` is given up after this: longer than the slowest screening, with the retries of its chain. */
  toolCallMsMax: 120_000,
} as const;

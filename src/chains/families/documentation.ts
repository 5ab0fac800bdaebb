/** The documentation of endpoint layouts, derived from the list of chain families. */
import type { Family } from './descriptor.ts';
import { FAMILIES } from './index.ts';

const code = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

/** Returns docs/reference/endpoint-layouts.md. */
export function endpointLayoutsMarkdown(families: readonly Family[] = FAMILIES): string {
  const rows = families.map(({ chains, layouts, layoutsNote = '' }) => {
    const ids = chains.map(({ id }) => id).join(', ');
    return `| ${ids} | ${code(layouts.rpc)} | ${code(layouts.history)} | ${layoutsNote} |`;
  });
  return [
    '# Endpoint layouts',
    '',
    'A layout is the protocol of an endpoint. The prefix `layout+` of a URL selects it, as in',
    '`ASSAY_HISTORY_ETH=etherscan+https://api.etherscan.io/v2/api?apikey=KEY`. Without a prefix, the first layout of the list applies. Any',
    'layout of the row is accepted in both variables.',
    '',
    '| Chains | `ASSAY_RPC_<CHAIN>` | `ASSAY_HISTORY_<CHAIN>` | Notes |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** The request and the filter of a linked trace: validates what a client sends, and says it in words. */
import { timeOf } from '../base/iso-times.ts';
import { parseAddress } from '../chains/address/parse.ts';
import type { ChainId } from '../chains/registry.ts';
import { DIRECTION_DEFAULT, TRACE_HOPS } from '../screening/choices.ts';
import type { TraceView } from './records.ts';
import type { TraceDraft } from './service.ts';
import { refuse, requireLine } from './texts.ts';

const DAY = /^\d{4}-\d{2}-\d{2}$/;

function dayOf(field: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  if (!DAY.test(text)) throw refuse(field, 'must be an ISO 8601 date, such as 2026-12-31.');
  timeOf(field, text);
  return text;
}

/**
 * Returns the view of a trace, with the defaults of POST /trace.
 *
 * @param field - place of the draft in the request, such as `links[0].trace`
 * @throws INVALID_REQUEST, INVALID_ADDRESS
 */
export function traceView(draft: TraceDraft, chain: ChainId, field: string): TraceView {
  const { direction = DIRECTION_DEFAULT, hops = TRACE_HOPS.standard, targetAddress, maxDepth = null } = draft;
  const { timeRespecting = false, crossChain = false, minUsd = null, dataVersion = null } = draft;
  if (dataVersion !== null) requireLine(`${field}.dataVersion`, dataVersion);
  const since = dayOf(`${field}.since`, draft.since);
  const until = dayOf(`${field}.until`, draft.until);
  if (since !== null && until !== null && until < since)
    throw refuse(`${field}.until`, 'must not be before `since`.');
  return {
    direction,
    hops,
    targetAddress:
      targetAddress === undefined
        ? null
        : parseAddress(chain, targetAddress, `${field}.targetAddress`).canonical,
    maxDepth,
    timeRespecting,
    crossChain,
    minUsd,
    since,
    until,
    dataVersion,
  };
}

/** Says a view in one line. */
export function traceText(view: TraceView): string {
  const { direction, hops, targetAddress, maxDepth, timeRespecting, crossChain, minUsd, since, until } = view;
  const parts = [
    `direction ${direction}`,
    `hops ${hops}`,
    targetAddress === null ? null : `to ${targetAddress}`,
    maxDepth === null ? null : `at most ${maxDepth} hops to it`,
    timeRespecting ? 'in the order of time' : null,
    crossChain ? 'across bridges' : null,
    minUsd === null ? null : `from ${minUsd} USD`,
    since === null ? null : `since ${since}`,
    until === null ? null : `until ${until}`,
  ];
  return parts.filter((part) => part !== null).join(', ');
}

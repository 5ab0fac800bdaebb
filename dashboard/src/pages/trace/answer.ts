/** The request of a trace, and what its answer adds to a picture. A reload does not charge again. */

import { TRACE_DEPTHS, TRACE_DIRECTIONS, TRACE_HOPS } from '../../api/choices.ts';
import { call, type Schemas } from '../../api/client.ts';
import { hasKey, keyFor, renewKey } from '../../api/repeat-key.ts';
import type { Search } from '../../ui/url-state.ts';
import { isKeepable, type NewLink } from '../case/open.ts';
import { edgeId, type Growth } from './picture.ts';
import type { Filter } from './view.ts';

export type TraceAnswer = Schemas['TraceResult'];
export type TraceBody = Schemas['TraceBody'];

/** Credits of the OpenAPI document: a trace, and one with a target. */
export const CREDITS = { graph: 5, path: 10 } as const;

const isOneOf = <T extends string>(values: readonly T[], text: string | undefined): text is T =>
  values.some((value) => value === text);

export type TraceOptions = Omit<TraceBody, 'address' | 'chain'>;

/** Returns what a trace costs. */
export const creditsOf = ({ targetAddress }: TraceOptions): number =>
  targetAddress === undefined ? CREDITS.graph : CREDITS.path;

/** Reads the options of the URL. Invalid options are left out, and the default applies. */
export function optionsIn(search: Search): TraceOptions {
  const { direction, hops, target, depth, inTime, bridges } = search;
  return {
    ...(isOneOf(TRACE_DIRECTIONS, direction) && direction !== 'both' ? { direction } : {}),
    ...(isOneOf(TRACE_HOPS, hops) ? { hops: Number(hops) } : {}),
    ...(bridges === '1' ? { crossChain: true } : {}),
    ...(target === undefined || target === ''
      ? {}
      : {
          targetAddress: target,
          ...(isOneOf(TRACE_DEPTHS, depth) ? { maxDepth: Number(depth) } : {}),
          ...(inTime === '1' ? { timeRespecting: true } : {}),
        }),
  };
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Reads the filter of the URL. */
export function filterIn({ min, since, until }: Search): Filter {
  const minUsd = Number(min);
  return {
    minUsd: Number.isFinite(minUsd) && minUsd > 0 ? minUsd : 0,
    since: since !== undefined && DAY.test(since) ? since : '',
    until: until !== undefined && DAY.test(until) ? until : '',
  };
}

const bodyOf = (chain: string, address: string, options: TraceOptions): TraceBody => ({
  address,
  chain,
  ...options,
});

/** Notes that the person asks for a trace with a target. */
export function wantTrace(chain: string, address: string, options: TraceOptions): void {
  keyFor('trace', bodyOf(chain, address, options));
}

/** Makes the next request of the trace a new, charged one. */
export function renewTrace(chain: string, address: string, options: TraceOptions): void {
  renewKey('trace', bodyOf(chain, address, options));
}

/** Whether opening the page may ask: a link of somebody else must not spend the credits of a trace with a target without a press. */
export const isWanted = (chain: string, address: string, options: TraceOptions): boolean =>
  options.targetAddress === undefined || hasKey('trace', bodyOf(chain, address, options));

/** Asks the server. The same request in the same tab is charged once. */
export function askTrace(
  chain: string,
  address: string,
  options: TraceOptions,
  signal?: AbortSignal,
): Promise<TraceAnswer> {
  const body = bodyOf(chain, address, options);
  return call('post', '/trace', {
    body,
    idempotencyKey: keyFor('trace', body),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Returns the link of a case to a trace as the page shows it; with the answer, unless it is larger than a case keeps. */
export function caseLinkOf(
  answer: TraceAnswer,
  options: TraceOptions,
  { minUsd, since, until }: Filter,
): NewLink {
  const { address, chain, dataVersion } = answer;
  const trace = {
    ...options,
    ...(minUsd > 0 ? { minUsd } : {}),
    ...(since === '' ? {} : { since }),
    ...(until === '' ? {} : { until }),
    dataVersion,
  };
  return { type: 'TRACE', address, chain, trace, ...(isKeepable(answer) ? { answer } : {}) };
}

/** Returns the query of the URL that shows a linked trace again: the reverse of `optionsIn` and `filterIn`. */
export function searchOf(trace: NonNullable<Schemas['CaseLink']['trace']>): Search {
  const { direction, hops, targetAddress, maxDepth, timeRespecting, crossChain, minUsd, since, until } =
    trace;
  return {
    ...(direction === 'both' ? {} : { direction }),
    ...(hops === 1 ? {} : { hops: String(hops) }),
    ...(targetAddress === null ? {} : { target: targetAddress }),
    ...(maxDepth === null ? {} : { depth: String(maxDepth) }),
    ...(timeRespecting ? { inTime: '1' } : {}),
    ...(crossChain ? { bridges: '1' } : {}),
    ...(minUsd === null ? {} : { min: String(minUsd) }),
    ...(since === null ? {} : { since }),
    ...(until === null ? {} : { until }),
  };
}

/** Returns what an answer adds to a picture. */
export function growthOf(answer: TraceAnswer): Growth {
  const stops = new Map(answer.stoppedAt.map(({ address, reason }) => [address, reason]));
  return {
    nodes: answer.nodes.map(({ address, label, category, threatLevel, sanctioned }) => ({
      id: address,
      name: label,
      category,
      threatLevel,
      sanctioned,
      stop: stops.get(address) ?? null,
    })),
    edges: answer.edges.map(({ from, to, asset, value, valueUsd, txCount, firstSeen, lastSeen }) => ({
      id: edgeId(from, to, asset),
      from,
      to,
      asset,
      value,
      usd: valueUsd,
      transfers: txCount,
      firstSeen,
      lastSeen,
    })),
    onPath: (answer.paths ?? []).flatMap(({ addresses }) => addresses),
  };
}

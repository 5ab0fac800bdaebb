/** POST /trace: where money came from and went, the addresses that it passed, and the paths between two addresses. */
import type { PooledJson } from '../base/buffer-pool.ts';
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { NodeId } from '../graph/graph.ts';
import { type FoundPath, findPaths } from '../graph/kernels/path.ts';
import type { WalkDirection } from '../graph/kernels/stops.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type { Assessor, Place, Reading } from './assess.ts';
import { DIRECTION_CHOICES, DIRECTION_DEFAULT, PATH_DEPTH, TRACE_HOPS } from './choices.ts';
import { crossingsOf } from './crossings.ts';
import type { ScreeningDeps } from './deps.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { readWhole, readWord } from './options.ts';
import { parseSubject, type Subject } from './subject.ts';
import type { TraceAnswer, TracePath } from './trace-answers.ts';
import { GraphAnswer, walk } from './trace-graph.ts';

export interface TraceRequest {
  readonly chain: string;
  readonly address: string;
  /** `in`, `out` or `both` (default). */
  readonly direction?: string;
  /** 1 to 3, default 1. */
  readonly hops?: number;
  /** Path mode: the address at the other end. */
  readonly targetAddress?: string;
  /** 1 to 7, default 3: the maximum number of hops of a path. */
  readonly maxDepth?: number;
  /** Path mode: only paths that money can have taken in the order of time. */
  readonly timeRespecting?: boolean;
  /** Follow deposits to bridges on the chains that they lead to. */
  readonly crossChain?: boolean;
}

export interface TraceReport {
  readonly answer: TraceAnswer;
  /** True if a transfer of the start is known; otherwise the trace is empty and costs no credits. */
  readonly isKnown: boolean;
}

/** The same with the JSON text of the answer, as it is passed between threads. */
export interface TraceResult extends PooledJson, Pick<TraceReport, 'isKnown'> {}

export type TraceQuery = (request: TraceRequest) => TraceReport;

type PathFields = Pick<TraceAnswer, 'found' | 'target' | 'paths' | 'truncated'>;

/** Returns a path as answers show it. Its addresses and edges become part of the graph. */
function shownPath({ nodes, edges, bottleneckUsd }: FoundPath, graph: GraphAnswer): TracePath {
  for (const [depth, node] of nodes.entries()) graph.addNode(node, depth);
  return {
    addresses: nodes.map((node) => graph.addressOf(node)),
    edges: edges.flatMap(({ from, to }) => graph.addPair(from, to)),
    hops: edges.length,
    bottleneckUsd,
  };
}

/**
 * Returns the query that traces. Synchronous; it reads at most `traceNodesMax` addresses, in path mode `pathNodesMax` more. The
 * same request, labels and transfers give the same bytes except for `tracedAt`. The query throws UNKNOWN_CHAIN, INVALID_ADDRESS,
 * or INVALID_REQUEST naming the field.
 */
export function createTrace(deps: ScreeningDeps, assessor: Assessor): TraceQuery {
  const { clock } = deps;
  const { workspace } = assessor;

  function pathsTo(
    target: Subject,
    place: Place,
    graph: GraphAnswer,
    options: {
      readonly direction: WalkDirection;
      readonly maxDepth: number;
      readonly timeRespecting: boolean;
    },
  ): PathFields {
    const end: NodeId | null = place.graph.idOf(target.key);
    if (end === null) return { found: false, target: target.shown, paths: [], truncated: false };
    const search = findPaths(
      {
        ...options,
        start: place.node,
        target: end,
        pathsMax: SCREENING_LIMITS.pathsListed,
        degreeMax: GRAPH_LIMITS.counterpartiesMax,
        nodesMax: SCREENING_LIMITS.pathNodesMax,
        stepsMax: SCREENING_LIMITS.pathStepsMax,
      },
      {
        graph: place.graph,
        workspace,
        weighing: place.weighing,
        isService: (node) => place.attributions.of(node).isService,
      },
    );
    const found = search.paths.flatMap(({ edges }) => edges);
    place.graph.prefetch?.({ nodes: found.map(({ from }) => from), to: found.map(({ to }) => to) });
    const paths = search.paths.map((path) => shownPath(path, graph));
    for (const { node, reason } of search.stops) if (graph.holds(node)) graph.addStop(node, reason);
    return { found: paths.length > 0, target: target.shown, paths, truncated: search.truncated };
  }

  const answerOf = (reading: Reading, direction: WalkDirection) =>
    ({
      address: reading.subject.shown,
      chain: reading.subject.chain,
      direction,
      coverage: reading.coverage,
      assessed: reading.labels.length > 0 || reading.place !== null,
      dataVersion: reading.reader.meta.dataVersion,
      tracedAt: isoTime(clock.now()),
    }) as const;

  return (request) => {
    const subject = parseSubject(request.chain, request.address);
    const { targetAddress } = request;
    const target =
      targetAddress === undefined ? null : parseSubject(request.chain, targetAddress, 'targetAddress');
    if (target?.canonical === subject.canonical)
      throw new AssayError('INVALID_REQUEST', 'targetAddress: must not be the start address.', {
        field: 'targetAddress',
      });
    const direction = readWord('direction', request.direction, DIRECTION_CHOICES, DIRECTION_DEFAULT);
    const hops = readWhole('hops', request.hops, TRACE_HOPS);
    const maxDepth = readWhole('maxDepth', request.maxDepth, PATH_DEPTH);
    const reading = assessor.read(subject, null);
    const { place } = reading;
    const rest = answerOf(reading, direction);
    if (place === null) {
      const nothing = { found: false, target: target?.shown ?? '', paths: [], truncated: false };
      return {
        isKnown: false,
        answer: {
          ...rest,
          nodes: [],
          edges: [],
          stats: { totalNodes: 0, totalEdges: 0, maxDepthReached: 0 },
          stoppedAt: [],
          ...(target === null ? {} : nothing),
          ...(request.crossChain === true ? { crossChain: [] } : {}),
        },
      };
    }
    const graph = new GraphAnswer(place.graph, place.attributions);
    const walked = walk(
      {
        ...place,
        start: place.node,
        direction,
        hops,
        nodesMax: SCREENING_LIMITS.traceNodesMax,
        edgesMax: SCREENING_LIMITS.traceEdgesMax,
      },
      workspace,
    );
    graph.addWalk(walked);
    // The walk owns its columns, so the next kernel may use the workspace.
    const crossChain =
      request.crossChain === true
        ? crossingsOf({ reading, place, walked, direction, hops }, deps, assessor)
        : null;
    const { timeRespecting = false } = request;
    const paths =
      target === null ? {} : pathsTo(target, place, graph, { direction, maxDepth, timeRespecting });
    return {
      isKnown: true,
      answer: { ...rest, ...graph.render(), ...paths, ...(crossChain === null ? {} : { crossChain }) },
    };
  };
}

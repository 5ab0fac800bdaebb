/**
 * `POST /trace`: passes the fields of the body to the use case and returns the bytes of `data`. If nothing is found, it costs
 * nothing.
 */
import type { TraceRequest } from '../../screening/trace.ts';
import type { Work } from '../pipeline/work.ts';
import type { HttpDeps } from '../ports.ts';
import { TRACE_CREDITS } from '../routes.ts';

/** Handles `POST /trace`. */
export function traceWork({ useCases }: Pick<HttpDeps, 'useCases'>): Work {
  return {
    kind: 'task',
    cost: (body) =>
      (body as TraceRequest).targetAddress === undefined ? TRACE_CREDITS.graph : TRACE_CREDITS.path,
    async answer(call, body) {
      const { chain, address, direction, hops, targetAddress, maxDepth, timeRespecting, crossChain } =
        body as TraceRequest;
      const { data, isKnown } = await useCases.trace({
        chain,
        address,
        ...(direction === undefined ? {} : { direction }),
        ...(hops === undefined ? {} : { hops }),
        ...(targetAddress === undefined ? {} : { targetAddress }),
        ...(maxDepth === undefined ? {} : { maxDepth }),
        ...(timeRespecting === undefined ? {} : { timeRespecting }),
        ...(crossChain === undefined ? {} : { crossChain }),
      });
      if (!isKnown) call.credits = 0;
      return data;
    },
  };
}

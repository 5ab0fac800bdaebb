/** Trace of the transfers around an address. */
import { takeJson } from '../../base/buffer-pool.ts';
import { createTrace, type TraceRequest, type TraceResult } from '../../screening/trace.ts';
import { jsonBytes, task } from '../task.ts';

export const traceTask = task({
  name: 'trace',
  run(services) {
    const trace = createTrace(services, services.assessor);
    return (request: TraceRequest): TraceResult => {
      const { answer, isKnown } = trace(request);
      return { json: jsonBytes(answer), isKnown };
    };
  },
  route: {
    chainOf: ({ chain }: TraceRequest) => chain,
    toRemote: (result) => ({ data: takeJson(result), isKnown: result.isKnown }),
    fromRemote: ({ data, isKnown }) => ({ json: data, isKnown }),
  },
});

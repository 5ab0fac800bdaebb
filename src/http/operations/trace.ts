/** `POST /trace`. */
import { operation } from '../operation.ts';
import { TraceBody, TraceResult } from '../schemas/trace.ts';

/** Specification: credits of a trace, and of a trace in path mode, whatever its depth. */
const CREDITS = { graph: 5, path: 10 } as const;

export const trace = operation({
  id: 'trace',
  sdk: 'trace.create',
  tag: 'Screening',
  method: 'POST',
  path: '/trace',
  permission: 'screening',
  rateClass: 'trace',
  credits: CREDITS.graph,
  body: TraceBody,
  response: TraceResult,
  examples: [
    {
      summary: 'Destinations of funds, two hops',
      body: {
        chain: 'ETH',
        address: '0x098b716b8aaf21512996dc57eb0615e2383e2f96',
        direction: 'out',
        hops: 2,
      },
    },
  ],
  summary: 'Trace funds',
  description: `Origins and destinations of funds, up to three hops; with targetAddress the paths to it, for ${CREDITS.path} credits. Nothing is charged if no transfer of the address is known.`,
  cost: ({ targetAddress }) => (targetAddress === undefined ? CREDITS.graph : CREDITS.path),
  subjects: ({ address, chain }) => [address, chain.toUpperCase()],
  async run({ services, call, body }) {
    const traced = await services.useCases.trace(body);
    if (!traced.isKnown) call.credits = 0;
    return traced;
  },
});

/**
 * Returns the guard as a `preHandler` hook of Fastify 4 or 5. `request.screening` is the verdict, or null if the withdrawal goes on without
 * one: declare it with `app.decorateRequest('screening', null)`.
 *
 * @param {ReturnType<typeof import('./guard.js').createWithdrawalGuard>} guard
 */
export const fastifyGuard = (guard) => async (request, reply) => {
  const decision = await guard(request.body);
  if (!decision.allow) return reply.code(decision.status).headers(decision.headers).send(decision.body);
  request.screening = decision.screening;
};

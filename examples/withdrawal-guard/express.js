/**
 * Returns the guard as middleware of Express 4 or 5. It needs `express.json()` before it. `request.screening` is the verdict, or null if
 * the withdrawal goes on without one.
 *
 * @param {ReturnType<typeof import('./guard.js').createWithdrawalGuard>} guard
 */
export const expressGuard = (guard) => (request, response, next) => {
  guard(request.body).then((decision) => {
    if (!decision.allow) return response.status(decision.status).set(decision.headers).json(decision.body);
    request.screening = decision.screening;
    return next();
  }, next);
};

/** A service with one guarded route, on Fastify. */
import Fastify from 'fastify';
import { fastifyGuard } from './fastify.js';
import { guard, port, reviews, send } from './setup.js';

const app = Fastify({ bodyLimit: 10 * 1024 });
app.decorateRequest('screening', null);
app.post('/withdrawals', { preHandler: fastifyGuard(guard) }, (request, reply) => {
  reply.code(201).send(send(request.body, request.screening));
});
app.get('/reviews', () => reviews);

console.log(`listening on ${await app.listen({ port, host: '127.0.0.1' })}`);
process.on('SIGTERM', () => app.close());

/** A service with one guarded route, on Express. */
import { createServer } from 'node:http';
import express from 'express';
import { expressGuard } from './express.js';
import { guard, port, reviews, send } from './setup.js';

const app = express();
app.use(express.json({ limit: '10kb' }));
app.post('/withdrawals', expressGuard(guard), (request, response) => {
  response.status(201).json(send(request.body, request.screening));
});
app.get('/reviews', (_request, response) => {
  response.json(reviews);
});

const server = createServer(app).listen(port, '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
process.on('SIGTERM', () => server.close());

/** The error for cursors of histories. Cursors come from clients, so every reader validates their form. */
import { AssayError } from '../../base/errors.ts';

/** Creates the error for a cursor that the history did not return. */
export const invalidCursor = (): AssayError =>
  new AssayError('INVALID_REQUEST', 'cursor: not a cursor returned by this endpoint.', { field: 'cursor' });

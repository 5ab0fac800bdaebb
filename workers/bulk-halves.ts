/** Entry of the thread that sorts the transfers of a run of a bulk load by address. */
import { runBulkHalves } from '../src/graph/store/bulk-halves.ts';

runBulkHalves();

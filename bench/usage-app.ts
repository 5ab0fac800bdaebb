/** The real front end over an access alone, for benchmarks of operations that need nothing else. */
import type { Access } from '../src/accounts/access.ts';
import type { Clock } from '../src/base/clock.ts';
import type { Logger } from '../src/base/log.ts';
import type { Random } from '../src/base/random.ts';
import { createHttpApp } from '../src/http/http-app.ts';
import type { UseCases } from '../src/http/ports.ts';

/** Creates the front end on a free port of this machine. */
export const createUsageApp = (
  access: Access,
  parts: { readonly clock: Clock; readonly random: Random; readonly log: Logger },
) =>
  createHttpApp(
    {
      ...{ backend: 'auto', host: '127.0.0.1', port: 0, tls: null },
      ...{ publicHost: null, trustedProxies: [], version: 'bench' },
    },
    {
      ...parts,
      access,
      useCases: {} as UseCases,
      readiness: () => ({ ready: true, reasons: [], snapshot: null, lists: [] }),
      operator: {} as never,
      gauges: [],
    },
  );

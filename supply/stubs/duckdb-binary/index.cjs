'use strict';

throw new Error(
  'duckdb: the lockfile of Assay has no hash of the binary for this platform, so it was not installed. ' +
    'docs/decisions/supply-chain.md says how to add it.',
);

/** The program of the `assay` command, with all of its commands. */
import { programVersion, runCommandLine } from './app/command-line.ts';
import { createServices } from './app/services.ts';
import { messageOf } from './base/errors.ts';
import { createLogger } from './base/log.ts';
import { commandModules } from './cli/commands.ts';
import type { InstallationPlace } from './cli/installation.ts';
import { loadConfig } from './config/config.ts';
import type { ToolOperation } from './mcp/operations.ts';

const version = programVersion();

function logFault(error: unknown): void {
  const { logLevel, logFormat } = loadConfig();
  const reason = messageOf(error);
  createLogger({ level: logLevel, format: logFormat }).error(
    logLevel === 'debug' ? { reason, err: error } : { reason },
    'uncaught error, the server stops',
  );
}

const installationPlace = (): InstallationPlace => {
  const { dataDir, jobsDir, redis } = loadConfig();
  return { dataDir, jobsDir, isShared: redis !== null };
};

/** Few commands need the operations of the API, which are a fifth of the program. */
async function toolOperations(): Promise<readonly ToolOperation[]> {
  const { toolOperations: toolsOf } = await import('./http/mcp/facts.ts');
  const { OPERATIONS } = await import('./http/operations/index.ts');
  return toolsOf(OPERATIONS);
}

await runCommandLine({
  version,
  logFault,
  commands: commandModules({
    apiKey: () => loadConfig().apiKey,
    place: installationPlace,
    mcp: {
      baseUrl: () => loadConfig().baseUrl,
      operations: toolOperations,
      version,
    },
    examine: async (signal) => (await import('./app/doctor/doctor.ts')).examine(loadConfig, signal),
  }),
  createServices: () => createServices(loadConfig(), version),
});

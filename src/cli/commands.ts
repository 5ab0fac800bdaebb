/** All commands of the program, in the order of its help. */
import { addAccountsCommand, addAuditCommand, addPlanCommand } from './accounts.ts';
import { addAttributeCommand } from './attribute.ts';
import { addBackupCommand } from './backup.ts';
import { addBillingCommand } from './billing.ts';
import { addBulkCommand } from './bulk.ts';
import { addClusterCommand } from './cluster.ts';
import { addCreditsCommand } from './credits.ts';
import { addDoctorCommand, type Examine } from './doctor.ts';
import { addEntitiesCommand } from './entities.ts';
import { addExposureCommand } from './exposure.ts';
import { addGraphCommand } from './graph.ts';
import { addKytCommand, addTraceCommand } from './graph-questions.ts';
import { addImportCommand } from './import.ts';
import { addIndexCommand } from './index-command.ts';
import { addIngestCommand } from './ingest.ts';
import {
  addInstallationCommand,
  addVerifyCommand,
  type InstallationPlace,
  requireStoresOfRecords,
} from './installation.ts';
import { addKeysCommand } from './keys.ts';
import { addLabelsCommand } from './labels.ts';
import { addLedgerCommand } from './ledger.ts';
import { addListsCommand } from './lists.ts';
import { addLogCommand } from './log.ts';
import { addLookupCommand, addScreenCommand } from './lookup.ts';
import { addMcpCommand, type McpSettings } from './mcp.ts';
import { addMonitorCommand } from './monitor.ts';
import { addNamesCommand } from './names.ts';
import { addOracleCommand } from './oracle.ts';
import { addPricesCommand } from './prices.ts';
import type { CommandModule } from './program.ts';
import { addReceiptCommand } from './receipt.ts';
import { addRedisCommand } from './redis.ts';
import { addServeCommand } from './serve.ts';
import { addSnapshotCommand } from './snapshot.ts';
import { addStatsCommand } from './stats.ts';
import { addSyncCommand } from './sync.ts';
import { addTaintCommand } from './taint.ts';
import { addWatchCommand } from './watch.ts';

/** Settings of commands that open no services. */
export interface CommandSettings {
  /** API key for the server of `assay bulk --remote` and `assay mcp`. */
  readonly apiKey: () => string | null;
  readonly place: () => InstallationPlace;
  readonly mcp: Omit<McpSettings, 'apiKey'>;
  /** The checks of `assay doctor`. */
  readonly examine: Examine;
}

/**
 * Returns the modules of all commands.
 *
 * @param settings - read when a command runs, never before.
 */
export const commandModules = ({
  apiKey,
  place,
  mcp,
  examine,
}: CommandSettings): readonly CommandModule[] => [
  (program) => requireStoresOfRecords(program, place),
  addServeCommand,
  addSyncCommand,
  addImportCommand,
  (program, terminal, services) => addLabelsCommand(program, terminal, services),
  addListsCommand,
  addIndexCommand,
  addExposureCommand,
  addEntitiesCommand,
  addSnapshotCommand,
  addBackupCommand,
  addRedisCommand,
  addLookupCommand,
  addScreenCommand,
  addKytCommand,
  addTraceCommand,
  (program, terminal, services) => addBulkCommand(program, terminal, services, apiKey),
  (program, terminal) => addMcpCommand(program, terminal, { ...mcp, apiKey }),
  addIngestCommand,
  addGraphCommand,
  addWatchCommand,
  addMonitorCommand,
  addTaintCommand,
  addClusterCommand,
  addAttributeCommand,
  addPricesCommand,
  addStatsCommand,
  addNamesCommand,
  addOracleCommand,
  addKeysCommand,
  addAccountsCommand,
  addPlanCommand,
  addAuditCommand,
  addCreditsCommand,
  addLedgerCommand,
  addBillingCommand,
  addLogCommand,
  (program, terminal, services) => addReceiptCommand(program, terminal, services, mcp.version),
  (program, terminal) => addInstallationCommand(program, terminal, place),
  (program, terminal) => addVerifyCommand(program, terminal, place),
  (program, terminal) => addDoctorCommand(program, terminal, examine),
];

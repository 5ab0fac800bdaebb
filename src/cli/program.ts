/** The command line: all commands in one program, with uniform error handling. */
import { Command, CommanderError, type OutputConfiguration } from 'commander';
import { asStorageFull, isLibraryError, isStorageFull } from '../state/storage.ts';
import { asUnusable } from '../state/usable-files.ts';
import { errorLine, printable, type Terminal } from './context.ts';
import { EXIT, type ExitCode, exitCodeOf } from './exit-codes.ts';
import { commandPath } from './installation.ts';
import type { OpenServices, Services, SharedState } from './services.ts';

/** Adds one command (or a group) to the program. `services` opens the services of the command when it runs. */
export type CommandModule<S = Services> = (program: Command, terminal: Terminal, services: () => S) => void;

/**
 * Commands that read state which nodes may share: with a Redis, it cannot be read before it is ready. A row is for a command and all below it.
 * Commands that read such state only with some options wait for it themselves.
 */
const OVER_SHARED_STATE: Readonly<Record<string, SharedState>> = {
  keys: 'accounts',
  accounts: 'accounts',
  plan: 'accounts',
  audit: 'accounts',
  credits: 'accounts',
  ledger: 'accounts',
  billing: 'accounts',
  // Attestations are written into the audit log.
  lists: 'accounts',
  // The key that signs verdicts is encrypted with that of the installation, which nodes may share.
  oracle: 'accounts',
  monitor: 'monitoring',
  'receipt show': 'accounts',
  'receipt erase': 'accounts',
  'receipt keys': 'accounts',
  'snapshot export': 'accounts',
  // Decisions on labels are written into the audit log.
  'labels dispute': 'accounts',
  'labels undispute': 'accounts',
  'labels report': 'accounts',
  'labels reports': 'accounts',
  'labels decide': 'accounts',
};

/** Returns the state that an action reads and nodes may share; undefined for none. */
function sharedStateOf(action: Command): SharedState | undefined {
  const names = commandPath(action).split(' ');
  const paths = names.map((_, at) => names.slice(0, at + 1).join(' '));
  return paths.map((path) => OVER_SHARED_STATE[path]).find((shared) => shared !== undefined);
}

/** Writes the errors of the command-line parser in the format of all errors: one line. */
const outputOf = (terminal: Terminal): OutputConfiguration => ({
  writeOut: (text) => void terminal.out.write(text),
  writeErr: (text) => void terminal.err.write(text),
  outputError: (text, write) => {
    const [line = '', ...more] = text
      .replace(/^error: /, '')
      .trimEnd()
      .split('\n');
    const hint = more.map((each) => each.replace(/^\((.*)\)$/, '$1')).join(' ');
    const parts = [line, hint].filter((part) => part !== '').map((part) => part.replace(/[^.?]$/, '$&.'));
    write(`assay: ${printable(parts.join(' '))} Use --help for usage.\n`);
  },
});

/** Creates the program with all of its commands. `services` opens the services of a command when it runs. */
export function createProgram<S extends OpenServices>(
  commands: readonly CommandModule<S>[],
  terminal: Terminal,
  services: () => S,
  version: string,
): Command {
  const program = new Command('assay')
    .description('Wallet risk screening and entity intelligence, self-hosted.')
    .version(version)
    .option('--debug', 'print the stack trace of an error')
    .exitOverride()
    .configureOutput(outputOf(terminal));
  for (const add of commands) add(program, terminal, services);
  program.hook('preAction', async (_, action) => {
    const shared = sharedStateOf(action);
    if (shared !== undefined) await services().ready(shared);
  });
  inheritSettings(program);
  return program;
}

/** Runs one command line and returns the exit code: 0, or another one after one line on stderr. */
export async function runProgram<S extends OpenServices>(
  commands: readonly CommandModule<S>[],
  args: readonly string[],
  terminal: Terminal,
  createServices: () => S,
  version: string,
): Promise<ExitCode> {
  let opened: S | null = null;
  const services = (): S => {
    opened ??= createServices();
    return opened;
  };
  const program = createProgram(commands, terminal, services, version);
  let code: ExitCode = EXIT.failed;
  const tell = (error: unknown): void => {
    // The library has printed a line without a line break.
    const begin = isStorageFull(error) && isLibraryError(error) ? '\n' : '';
    const dataDir = (opened as S | null)?.dataDir ?? null;
    const full = asStorageFull(error, dataDir ?? 'The disk');
    const named = dataDir === null ? full : asUnusable(full, dataDir);
    terminal.err.write(begin + errorLine(named, program.opts<{ debug?: boolean }>().debug));
  };
  try {
    await program.parseAsync([...args], { from: 'user' });
    code = EXIT.done;
  } catch (error) {
    code = exitCodeOf(error);
    // Commander has already printed its own error, or the requested help.
    if (!(error instanceof CommanderError)) tell(error);
  }
  try {
    await (opened as S | null)?.close();
  } catch (error) {
    // A failed write during the close fails the command, too.
    if (!isStorageFull(error)) throw error;
    if (code === EXIT.done) tell(error);
    code = EXIT.failed;
  }
  return code;
}

/** Makes subcommands at any depth throw instead of exit, and write to the output of the program. */
function inheritSettings(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    inheritSettings(child);
  }
}

/** The command line as a whole: every command under one program, with one way to fail. */
import { Command, CommanderError } from 'commander';
import { asStorageFull, isStorageFull, saidByLibrary } from '../base/storage.ts';
import { errorLine, type Terminal } from './context.ts';
import type { Parts, SharedState } from './parts.ts';

/** Adds one command (or a group) to the program. `parts` opens what the command needs, when it runs. */
export type CommandModule = (program: Command, terminal: Terminal, parts: () => Parts) => void;

/** Commands that read what nodes may share. */
const OVER_SHARED_STATE: Readonly<Record<string, SharedState>> = {
  keys: 'accounts',
  accounts: 'accounts',
  plan: 'accounts',
  audit: 'accounts',
  credits: 'accounts',
  ledger: 'accounts',
  // Attestations are written into the audit log.
  lists: 'accounts',
  monitor: 'monitoring',
};

/** Name of the command below the program that an action belongs to. */
function commandOf(action: Command): string {
  let command = action;
  while (command.parent?.parent) command = command.parent;
  return command.name();
}

/** Runs one command line and returns the exit code: 0, or 1 after one clear line on stderr. */
export async function runProgram(
  commands: readonly CommandModule[],
  args: readonly string[],
  terminal: Terminal,
  openParts: () => Parts,
  version: string,
): Promise<number> {
  let opened: Parts | null = null;
  const parts = (): Parts => {
    opened ??= openParts();
    return opened;
  };
  const program = new Command('assay')
    .description('Wallet risk screening and entity intelligence, self-hosted.')
    .version(version)
    .showHelpAfterError('(add --help for what it takes)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void terminal.out.write(text),
      writeErr: (text) => void terminal.err.write(text),
    });
  for (const add of commands) add(program, terminal, parts);
  program.hook('preAction', async (_, action) => {
    const shared = OVER_SHARED_STATE[commandOf(action)];
    if (shared !== undefined) await parts().ready(shared);
  });
  inheritSettings(program);
  let code = 1;
  const tell = (error: unknown): void => {
    // Behind a line of the library's that has no end.
    const begin = isStorageFull(error) && saidByLibrary(error) ? '\n' : '';
    terminal.err.write(
      begin + errorLine(asStorageFull(error, (opened as Parts | null)?.dataDir ?? 'The disk')),
    );
  };
  try {
    await program.parseAsync([...args], { from: 'user' });
    code = 0;
  } catch (error) {
    // Commander has written its own sentence (or the help that was asked for) already.
    if (error instanceof CommanderError) code = error.exitCode === 0 ? 0 : 1;
    else tell(error);
  }
  try {
    await (opened as Parts | null)?.close();
  } catch (error) {
    // What is written at the end fails as the command did.
    if (!isStorageFull(error)) throw error;
    if (code === 0) tell(error);
    code = 1;
  }
  return code;
}

/** Subcommands throw instead of exiting, and write where the program writes, as deep as they are nested. */
function inheritSettings(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    inheritSettings(child);
  }
}

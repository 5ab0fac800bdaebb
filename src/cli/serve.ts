/** `assay serve`: serves the API, or the roles of this node, until it is stopped. */
import type { Command } from 'commander';
import { ROLES, readRoles } from '../nodes/roles.ts';
import type { Terminal } from './context.ts';
import type { Served, Services } from './services.ts';

/** An address of the shipped seed data: Binance's published reserve wallet. */
const FIRST_QUESTION = '/api/v1/oracle/address/ETH/0xbe0eb53f46cd790cd13851d5eff43d12404d33e8';

/** Written in one call, so that a script which waits for the first line gets the key as well. */
function greeting({ url, backend, firstKey }: Served): string {
  const answers = `Assay answers on ${url} (${backend}).\n`;
  if (firstKey === null) return answers;
  return (
    `${answers}\nThis is your API key. It is shown only once:\n\n  ${firstKey}\n\n` +
    `A first request:\n\n  curl -H 'Authorization: Bearer ${firstKey}' ${url}${FIRST_QUESTION}\n\n`
  );
}

/** Adds `assay serve`. */
export function addServeCommand(program: Command, terminal: Terminal, services: () => Services): void {
  program
    .command('serve')
    .description('serve the API (settings: docs/reference/configuration.md)')
    .option(
      '--role <roles>',
      `roles of this node, comma-separated: ${ROLES.join(', ')} (default: ASSAY_ROLES); a node without all of them needs a Redis`,
    )
    .action(async (options: { readonly role?: string }) => {
      const roles = options.role === undefined ? undefined : readRoles(options.role, '--role');
      const opened = services();
      await opened.holdFolders();
      await opened.prepare(terminal.signal);
      terminal.signal.throwIfAborted();
      const served = await opened.serve(roles);
      terminal.out.write(greeting(served));
      await new Promise<void>((resolve) => {
        if (terminal.signal.aborted) resolve();
        else terminal.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      await served.stop();
    });
}

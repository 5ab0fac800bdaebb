/** An SMTP server that keeps the emails that it receives. */
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { until } from '../support/wait.ts';

/** Returns an email as its reader sees it: without the encoding of lines that are longer than 76 characters, such as links (RFC 2045, 6.7). */
const decoded = (source: string): string =>
  /^Content-Transfer-Encoding: quoted-printable\r?$/im.test(source)
    ? source
        .replace(/=\r?\n/g, '')
        .replace(/=([0-9A-F]{2})/g, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    : source;

/** Starts the server. `token` returns the token of the email at that position, as soon as it has arrived. */
export async function startMailServer() {
  const letters: string[] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    onData(stream, _session, done) {
      let text = '';
      stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      stream.on('end', () => {
        letters.push(decoded(text));
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    letters,
    async token(position: number, timeoutMs?: number): Promise<string> {
      await until(() => letters.length > position, `email ${position}`, timeoutMs);
      return /^[\w-]{43}$/m.exec((letters[position] as string).replaceAll('\r', ''))?.[0] ?? '';
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

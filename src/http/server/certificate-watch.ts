/** Watches the files of the certificate and its key, so that a renewed certificate needs no restart. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { isoTime } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { HTTP_LIMITS } from '../limits.ts';
import type { TlsFiles } from './port.ts';

/** The content of the two files. */
interface Pair {
  readonly key: string;
  readonly cert: string;
}

const isSame = (a: Pair | null, b: Pair): boolean => a?.key === b.key && a.cert === b.cert;

/** Returns the end of the first certificate of the file, in milliseconds. */
const endOf = ({ cert }: Pair): number => Date.parse(new X509Certificate(cert).validTo);

/** Compares the content of both files every minute: renewals replace files, links to files, or links to their folder. */
export class CertificateWatch {
  readonly #files: TlsFiles;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #reload: () => Promise<void> = async () => {};
  /** The content that the server uses, or that was refused; null if it could not be read at the start. */
  #last: Pair | null = null;
  /** End of the certificate in use, in milliseconds; null if it could not be read. */
  #endsAtMs: number | null = null;
  /** The last reason that was logged. */
  #reason: string | null = null;

  /**
   * Reads the files. Create the watch before the server reads them: a renewal in between is then found.
   *
   * @param intervalMs - milliseconds between two checks
   */
  constructor(files: TlsFiles, log: Logger, intervalMs: number = HTTP_LIMITS.certificateCheckMs) {
    this.#files = files;
    this.#log = log;
    try {
      this.#last = this.#read();
      this.#endsAtMs = endOf(this.#last);
    } catch {
      // The server reads the same files at its start, and reports the error.
    }
    this.#timer = setInterval(() => void this.check(), intervalMs).unref();
  }

  /** Sets what a renewed pair calls: the server then reads the files again. If it rejects, the earlier pair must stay in use. */
  onRenewed(reload: () => Promise<void>): void {
    this.#reload = reload;
  }

  /** Compares the files with those in use, and reloads them if they have changed. A pair that is not valid is logged once. */
  async check(): Promise<void> {
    let pair: Pair;
    try {
      pair = this.#read();
      if (isSame(this.#last, pair)) return;
    } catch (error) {
      this.#refused(error);
      return;
    }
    this.#last = pair;
    this.#reason = null;
    try {
      createSecureContext(pair);
      const endsAtMs = endOf(pair);
      await this.#reload();
      this.#endsAtMs = endsAtMs;
      this.#log.info({ validTo: isoTime(endsAtMs) }, 'TLS certificate reloaded');
    } catch (error) {
      this.#refused(error);
    }
  }

  /** End of the certificate in use, in milliseconds; null if it could not be read. */
  get endsAtMs(): number | null {
    return this.#endsAtMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #read(): Pair {
    const { keyFile, certFile } = this.#files;
    return { key: readFileSync(keyFile, 'latin1'), cert: readFileSync(certFile, 'latin1') };
  }

  #refused(error: unknown): void {
    const reason = messageOf(error);
    if (reason === this.#reason) return;
    this.#reason = reason;
    this.#log.error(
      { reason, ...this.#files },
      'changed TLS certificate or key refused; the earlier ones stay in use',
    );
  }
}

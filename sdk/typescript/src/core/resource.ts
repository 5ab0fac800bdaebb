import type { Connection } from './connection.ts';

/** A group of operations. */
export abstract class Resource {
  protected readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }
}

/** Encodes a segment of a path. */
export const segment = (text: string): string => encodeURIComponent(text);

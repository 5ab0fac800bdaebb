/** Reads the shared data's pairs of names and scores as rows by column name. */
import { parse } from 'csv-parse/sync';

export const parseCsvRows = (text: string): readonly Record<string, string>[] =>
  parse(text, { columns: true, bom: true });

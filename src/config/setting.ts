/** The type of a setting's row. */

/** One setting: its variable, its default text, its parser, and its description in the reference. */
export interface Setting<T> {
  readonly variable: string;
  readonly fallback: string;
  readonly description: string;
  readonly read: (text: string, variable: string) => T;
}

/**
 * Returns the row of a setting.
 *
 * @param fallback text that is parsed if the variable is not set
 * @param read returns the value of a text; throws INVALID_CONFIG naming the variable
 */
export const setting = <T>(
  variable: string,
  fallback: string,
  read: (text: string, variable: string) => T,
  description: string,
): Setting<T> => ({ variable, fallback, description, read });

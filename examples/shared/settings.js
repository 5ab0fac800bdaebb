/** Settings of the examples, from environment variables. An invalid one ends the program with an error that names it. */

const stop = (message) => {
  console.error(message);
  process.exit(2);
};

/** Returns a variable that must be set. */
export const required = (name) => process.env[name] || stop(`${name}: must be set.`);

/** Returns true or false for a variable that is `on` or `off`. */
export function onOff(name, fallback) {
  const text = process.env[name] ?? fallback;
  return text === 'on' || (text === 'off' ? false : stop(`${name}: must be on or off (got "${text}").`));
}

/** Returns a whole number from `min` to `max`. */
export function wholeNumber(name, fallback, min, max) {
  const text = process.env[name] ?? String(fallback);
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  return stop(`${name}: must be a whole number from ${min} to ${max} (got "${text}").`);
}

/** Writes one JSON line to stderr. */
export const log = (level, message, fields = {}) =>
  console.error(JSON.stringify({ time: new Date().toISOString(), level, message, ...fields }));

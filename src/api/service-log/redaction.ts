const PATTERNS: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(Bearer|Basic)\s+[^\s"',;]+/gi, '$1 [redacted]'],
  // An API key: its first half is its id, which is not a secret.
  [/\b([0-9A-Za-z]{27})_[\w-]{32}(?![\w-])/g, '$1_[redacted]'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, '[redacted JWT]'],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, '[redacted private key]'],
  // The user and the password of a URL, or a token in their place. The example of our own messages has none.
  [/(:\/\/)(?!user:password@db\.example\.com\b)(?:\S*:\S*|[^\s/?#@]+)@/g, '$1[redacted]@'],
];

/** A text that others wrote, such as the message of a foreign error, without what looks like a secret. */
export const redacted = (text: string): string =>
  PATTERNS.reduce((rest, [pattern, instead]) => rest.replace(pattern, instead), text);

/** A refused argument or setting as a message may quote it. A malformed URL keeps its path, but no login and no query. */
export const quotable = (value: string): string =>
  redacted(value)
    .replace(/[?#].*/s, '?[redacted]')
    .replace(/^(\w+:\/\/)?.*@/s, '$1[redacted]@');

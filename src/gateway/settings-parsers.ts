/** Reads `key=value` labels, separated by commas, or `all`. */
export function parseProxied(text: string): ReadonlySet<string> | 'all' {
  if (text === 'all') return 'all';
  const labels = text.split(',').map((label) => label.trim());
  if (labels.every((label) => /^[^=]+=[^=]*$/.test(label))) return new Set(labels);
  throw new Error('must be labels such as team=blue, separated by commas, or all');
}

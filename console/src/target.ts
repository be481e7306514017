/** A target in the form of the API. */
export interface Target {
  readonly domain?: string;
  readonly address?: string;
  readonly label?: { readonly key: string; readonly value: string };
}

export const targetText = ({ domain, address, label }: Target): string =>
  domain ?? address ?? (label === undefined ? '' : `${label.key}=${label.value}`);

/** Reads what a person types: `app.example.com`, `203.0.113.7:8000` or `app=till`. The API judges what it is. */
export function readTarget(text: string): Target {
  const typed = text.trim();
  const at = typed.indexOf('=');
  if (at >= 0) return { label: { key: typed.slice(0, at), value: typed.slice(at + 1) } };
  return /:\d*$/.test(typed) ? { address: typed } : { domain: typed };
}

/** What `-R` binds: what the first rule permits, or a label. */
export function boundBy(acl: readonly string[]): string {
  const [, rule = 'app=web'] = /^bind:(.+)$/.exec(acl[0] ?? '') ?? [];
  const bound = rule.replaceAll('*', 'x');
  return bound.includes('=') || !bound.includes(':') ? `${bound}:0` : bound;
}

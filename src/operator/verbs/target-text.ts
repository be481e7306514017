/** A target as the API has it: exactly one of the three. */
export interface TargetBody {
  readonly domain?: string;
  readonly address?: string;
  readonly label?: { readonly key: string; readonly value: string };
}

/** A target as people write it: `app.example.com`, `app.example.com:443` or `team=blue`. */
export function textOfTarget({ domain, address, label }: TargetBody): string {
  return domain ?? address ?? (label === undefined ? '' : `${label.key}=${label.value}`);
}

/** The same the other way. The service says what is wrong with it. */
export function targetOf(text: string): TargetBody {
  const at = text.indexOf('=');
  if (at >= 0) return { label: { key: text.slice(0, at), value: text.slice(at + 1) } };
  return /:[^\]]*$/.test(text) ? { address: text } : { domain: text };
}

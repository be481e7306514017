import type { TargetForm } from '../../api/tunnel-sessions/open-sessions.js';

/** A target as people write it: `app.example.com`, `app.example.com:443` or `team=blue`. */
export function textOfTarget({ domain, address, label }: TargetForm): string {
  return domain ?? address ?? (label === undefined ? '' : `${label.key}=${label.value}`);
}

/** What `ssh -R` binds: what the first rule permits, or a label. */
export function boundBy(acl: readonly string[]): string {
  const [, rule = 'app=web'] = /^bind:(.+)$/.exec(acl[0] ?? '') ?? [];
  const bound = rule.replaceAll('*', 'x');
  return bound.includes('=') || !bound.includes(':') ? `${bound}:0` : bound;
}

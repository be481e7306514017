import type { TargetForm } from '../../api/tunnel-sessions/open-sessions.js';

/** A target as people write it: `app.example.com`, `app.example.com:443` or `team=blue`. */
export function textOfTarget({ domain, address, label }: TargetForm): string {
  return domain ?? address ?? (label === undefined ? '' : `${label.key}=${label.value}`);
}

import type { TargetForm } from '../../src/api/tunnel-sessions/open-sessions.js';

export { boundBy } from '../../src/api/caller/ssh-line.js';
export { textOfTarget } from '../../src/operator/verbs/target-text.js';
export type { TargetForm };

/** Reads what a person types: `app.example.com`, `203.0.113.7:8000` or `app=till`. The API judges what it is. */
export function readTarget(text: string): TargetForm {
  const typed = text.trim();
  const at = typed.indexOf('=');
  if (at >= 0) return { label: { key: typed.slice(0, at), value: typed.slice(at + 1) } };
  return /:\d*$/.test(typed) ? { address: typed } : { domain: typed };
}

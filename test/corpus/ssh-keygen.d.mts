export type KeyForm = 'line' | 'RFC4716' | 'PKCS8' | 'PEM';

export type Verdict =
  | { readonly verdict: 'valid'; readonly bits: number; readonly fingerprint: string }
  | { readonly verdict: 'refused' };

export function sshKeygenVersion(): string | undefined;
export function askSshKeygen(text: string, form: KeyForm): Verdict;
export function inTemporaryDirectory<T>(work: (directory: string) => T): T;

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The oracle: the verdict of the installed ssh-keygen on the text of a public key. */

/** Size, fingerprint, comment (which may hold a CR) and type. */
const SUMMARY = /^(\d+) (SHA256:\S+) [\s\S]*\([A-Z0-9-]+\)$/;

/** The version line of OpenSSH, or undefined if ssh-keygen is not installed. */
export function sshKeygenVersion() {
  if (spawnSync('ssh-keygen', ['-?']).error) return undefined;
  return spawnSync('ssh', ['-V'], { encoding: 'utf8' }).stderr?.trim() ?? 'unknown version of OpenSSH';
}

/**
 * The output of `ssh-keygen -l` for a text. It reads one-line keys only; the other forms are imported first,
 * with `-i -m RFC4716 | PKCS8 | PEM`, as a user would.
 */
export function askSshKeygen(text, form) {
  return inTemporaryDirectory((directory) => {
    const file = join(directory, 'key');
    writeFileSync(file, text, { mode: 0o600 });
    if (form !== 'line') {
      const imported = keygen('-i', '-m', form, '-f', file);
      if (imported.status !== 0) return { verdict: 'refused' };
      writeFileSync(file, imported.stdout);
    }
    return verdictOf(keygen('-l', '-f', file));
  });
}

function verdictOf({ status, stdout }) {
  const keys = stdout.split('\n').flatMap((line) => {
    const [, bits, fingerprint] = SUMMARY.exec(line) ?? [];
    return fingerprint ? [{ bits: Number(bits), fingerprint }] : [];
  });
  return status === 0 && keys[0] ? { verdict: 'valid', ...keys[0] } : { verdict: 'refused' };
}

// Standard input is closed: asked for a passphrase, ssh-keygen must give up and not wait.
const keygen = (...args) =>
  spawnSync('ssh-keygen', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: withoutPrompts() });

const withoutPrompts = () => ({ ...process.env, LC_ALL: 'C', SSH_ASKPASS: '/bin/false', SSH_ASKPASS_REQUIRE: 'force' });

/** Gives `work` an empty directory and removes it afterwards. */
export function inTemporaryDirectory(work) {
  const directory = mkdtempSync(join(tmpdir(), 'public-key-corpus-'));
  try {
    return work(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

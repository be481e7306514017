import { execFile } from 'node:child_process';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { REPOSITORY } from './documents.js';
import { Terminal } from './terminal.js';

const run = promisify(execFile);
const NAMESPACES = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
const scriptAt = (name: string): string => new URL(name, import.meta.url).pathname;

/** A root terminal on a machine of its own, with a checkout at /opt/tunnel-access. The script prepares the machine. */
export async function openMachine(script: 'operator.sh' | 'sshd-guide.sh'): Promise<Terminal> {
  await demandNamespaces(NAMESPACES);
  const scratch = await mkdtemp(join(tmpdir(), 'tas-machine-'));
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH: `${PATH}:/usr/sbin`, HOME, SCRATCH: scratch, CHECKOUT: REPOSITORY };
  const command = ['unshare', ...NAMESPACES, 'bash', scriptAt('machine.sh'), scriptAt(script)];
  return Terminal.open({ cwd: REPOSITORY, env }, command, () => rmdir(scratch));
}

/**
 * Fails with a sentence for the developer if this process may not make these namespaces. They are options of unshare.
 */
export async function demandNamespaces(namespaces: readonly string[]): Promise<void> {
  try {
    await run('unshare', [...namespaces, 'true']);
  } catch (error) {
    const why = String(error).trim().replaceAll('\n', ' ');
    throw new Error(
      'This test runs servers in namespaces of its own, so that nothing on this machine changes. That takes Linux, root, ' +
        `CAP_SYS_ADMIN and CAP_NET_ADMIN (in a container: --privileged), and here it failed: ${why}`,
    );
  }
}

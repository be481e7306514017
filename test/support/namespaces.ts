import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Fails with a sentence for the developer if this process may not make these namespaces, which are options of unshare. */
export async function demandNamespaces(namespaces: readonly string[]): Promise<void> {
  try {
    await run('unshare', [...namespaces, 'true']);
  } catch (error) {
    const why = String(error).trim().replaceAll('\n', ' ');
    throw new Error(
      'This test runs servers in namespaces of its own, so that nothing on this machine changes. That takes Linux, root ' +
        `and CAP_SYS_ADMIN (in a container: --cap-add SYS_ADMIN), and here it failed: ${why}`,
    );
  }
}

import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';

/** The folder of sshd is not in the PATH of an ordinary user. */
const PATH = `${process.env.PATH}:/usr/sbin`;
/** Debian packages run this file before they start an installed service. The exit code 101 forbids the start. */
const SERVICE_POLICY = '/usr/sbin/policy-rc.d';

/** Installs missing programs. `tools`: programs of the system, each with its Debian package. */
export function requireTools(tools) {
  const missing = tools.filter(([tool]) => !isInstalled(tool));
  if (missing.length > 0) install([...new Set(missing.map(([, debianPackage]) => debianPackage))]);
}

function isInstalled(tool) {
  try {
    execFileSync('sh', ['-c', `command -v ${tool} || ls ${tool}`], { stdio: 'ignore', env: { PATH } });
    return true;
  } catch {
    return false;
  }
}

/** If root runs the tests on Debian, they install missing programs. Elsewhere they name the programs and fail. */
function install(packages) {
  const byHand = `These tests need ${packages.join(', ')}; install them, on Debian: apt-get install ${packages.join(' ')}`;
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) throw new Error(byHand);
  const removePolicy = forbidServices();
  const options = { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  try {
    execFileSync('apt-get', ['update', '-qq'], options);
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], options);
  } catch (error) {
    throw new Error(`${byHand} (apt-get failed: ${error.message})`);
  } finally {
    removePolicy();
  }
}

/** Forbids that an installation starts a server on this machine. Returns a function that permits it again. */
function forbidServices() {
  if (existsSync(SERVICE_POLICY)) return () => undefined;
  writeFileSync(SERVICE_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  return () => rmSync(SERVICE_POLICY);
}

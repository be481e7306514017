import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import globalSetup from './global-setup.mjs';

/** Programs of the system that the end-to-end tests need, each with its Debian package. */
const TOOLS = [
  ['bash', 'bash'],
  ['curl', 'curl'],
  ['ssh-keygen', 'openssh-client'],
  ['ssh', 'openssh-client'],
  ['sshd', 'openssh-server'],
];
/** The folder of sshd is not in the PATH of an ordinary user. */
const PATH = `${process.env.PATH}:/usr/sbin`;
/** Debian's packages run it before they start an installed service; 101 forbids the start. */
const SERVICE_POLICY = '/usr/sbin/policy-rc.d';

// biome-ignore lint/style/noDefaultExport: the form in which Jest loads a global setup
export default async function globalSetupE2e() {
  const missing = TOOLS.filter(([tool]) => !isInstalled(tool));
  if (missing.length > 0) install([...new Set(missing.map(([, debianPackage]) => debianPackage))]);
  await globalSetup();
}

function isInstalled(tool) {
  try {
    execFileSync('sh', ['-c', `command -v ${tool}`], { stdio: 'ignore', env: { PATH } });
    return true;
  } catch {
    return false;
  }
}

/** As root on Debian the tests install missing programs; elsewhere they name them and fail. */
function install(packages) {
  const byHand = `The end-to-end tests need ${packages.join(', ')}; install them, on Debian: apt-get install ${packages.join(' ')}`;
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

/** Keeps the installation from starting an SSH server on this machine. Returns a function that permits starts again. */
function forbidServices() {
  if (existsSync(SERVICE_POLICY)) return () => undefined;
  writeFileSync(SERVICE_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  return () => rmSync(SERVICE_POLICY);
}

import { execFileSync } from 'node:child_process';
import globalSetup from './global-setup.mjs';

/** What the end-to-end tests need of the system: the program, and the Debian package that has it. */
const TOOLS = [
  ['bash', 'bash'],
  ['curl', 'curl'],
  ['ssh-keygen', 'openssh-client'],
];

// biome-ignore lint/style/noDefaultExport: the form in which Jest loads a global setup
export default async function globalSetupE2e() {
  const missing = TOOLS.filter(([tool]) => !isInstalled(tool));
  if (missing.length > 0) install(missing.map(([, debianPackage]) => debianPackage));
  await globalSetup();
}

function isInstalled(tool) {
  try {
    execFileSync('sh', ['-c', `command -v ${tool}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** As root on Debian the tests install what they need; elsewhere they say what is missing, and fail. */
function install(packages) {
  const byHand = `The end-to-end tests need ${packages.join(', ')}; install them, on Debian: apt-get install ${packages.join(' ')}`;
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) throw new Error(byHand);
  try {
    execFileSync('apt-get', ['update', '-qq'], { stdio: 'inherit' });
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], { stdio: 'inherit' });
  } catch (error) {
    throw new Error(`${byHand} (apt-get failed: ${error.message})`);
  }
}

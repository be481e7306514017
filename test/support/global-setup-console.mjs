import { requireTools } from './debian-packages.mjs';
import globalSetup from './global-setup.mjs';

// biome-ignore lint/style/noDefaultExport: the form in which Jest loads a global setup
export default async function globalSetupConsole() {
  requireTools([
    ['chromium', 'chromium'],
    ['ssh', 'openssh-client'],
    ['ssh-keygen', 'openssh-client'],
  ]);
  await globalSetup();
}

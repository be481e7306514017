import { requireTools } from './debian-packages.mjs';
import globalSetup from './global-setup.mjs';

/** A PostgreSQL with another version than the embedded one, which plans the same statements differently. */
const TOOLS = [['/usr/lib/postgresql/*/bin/initdb', 'postgresql']];

// biome-ignore lint/style/noDefaultExport: the form in which Jest loads a global setup
export default async function globalSetupLoad() {
  requireTools(TOOLS);
  await globalSetup();
}

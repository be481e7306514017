import { requireTools } from './debian-packages.mjs';
import globalSetup from './global-setup.mjs';

/** Another version of PostgreSQL than the embedded one: it plans the same statements differently. */
const TOOLS = [['/usr/lib/postgresql/*/bin/initdb', 'postgresql']];

// biome-ignore lint/style/noDefaultExport: the form in which Jest loads a global setup
export default async function globalSetupLoad() {
  requireTools(TOOLS);
  await globalSetup();
}

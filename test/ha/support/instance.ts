import { Machine, type Program } from './machines.js';
import { until } from './until.js';

export const ADMIN_KEY = 'admin-key-of-the-failover-tests';
export const GATEWAY_TOKEN = 'gateway-token-of-the-failover-tests';

const MAIN = new URL('../../../dist/src/main.js', import.meta.url).pathname;
const PORT = 8080;
const START_PATIENCE_MS = 60_000;

export interface Instance {
  readonly url: string;
  readonly machine: Machine;
  readonly program: Program;
}

/** The service as `npm start` runs it, on a machine of its own that the test reaches past every fault. */
export async function startInstance(name: string, host: number, databaseUrl: string): Promise<Instance> {
  const machine = await Machine.add(name, host);
  const address = await machine.addControl();
  const program = machine.start('root', [process.execPath, MAIN], {
    HOST: address,
    PORT: String(PORT),
    DATABASE_URL: databaseUrl,
    BOOTSTRAP_API_KEY: ADMIN_KEY,
    GATEWAY_TOKENS: GATEWAY_TOKEN,
  });
  await until(
    `the instance ${name} is ready`,
    START_PATIENCE_MS,
    async () => program.output().includes('ready at'),
    program.output,
  );
  return { url: `http://${address}:${PORT}`, machine, program };
}

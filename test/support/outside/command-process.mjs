/**
 * A process that loads the program once and runs commands of the CLI, one after another. Each message is one run:
 * `{ args, settings, stdin }`. The answer is `{ code, stdout, stderr }`.
 */
import { Readable } from 'node:stream';

const CLI = new URL('../../../dist/src/operator/cli.js', import.meta.url).href;
let runs = 0;

function capture(stream) {
  const { write } = stream;
  let text = '';
  stream.write = (data, ...rest) => {
    text += data;
    rest.find((one) => typeof one === 'function')?.();
    return true;
  };
  return () => {
    stream.write = write;
    stream.removeAllListeners('error');
    return text;
  };
}

async function run({ args, settings, stdin }) {
  process.env = settings;
  process.argv = [process.execPath, CLI, ...args];
  process.exitCode = undefined;
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(stdin)]), configurable: true });
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)];
  runs += 1;
  // The query makes Node run this module again. The modules that it imports are loaded only once.
  await import(`${CLI}?run=${runs}`);
  const code = process.exitCode ?? 0;
  for (const event of ['SIGINT', 'SIGTERM', 'uncaughtException']) process.removeAllListeners(event);
  return { code, stdout: stdout(), stderr: stderr() };
}

process.on('message', async (command) => process.send(await run(command)));

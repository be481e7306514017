/** A process under test imports this. On SIGUSR2 it collects its garbage and says how much memory is in use. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
process.on('SIGUSR2', () => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`in use: ${heapUsed + external} bytes\n`);
});

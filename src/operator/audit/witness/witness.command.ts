import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { COSIGNATURE, parseCheckpointKeys, type SignerKey, signerKey, verifierText } from '../../../event-log/index.js';
import { messageOf } from '../../../kernel/error-message.js';
import { CheckFailed, Interrupted, UsageError } from '../../../kernel/operator-error.js';
import { verifierIn } from '../../checkpoint-keys.js';
import { withOfflineExamples } from '../../help.js';
import { parseUrl } from '../../http/http-url.js';
import { ServiceApi } from '../../http/service-api.js';
import { print, tell } from '../../print.js';
import { untilStopped } from '../../until-stopped.js';
import { wholeNumber } from '../number-argument.js';
import { Witness, type Witnessed } from './witness.js';
import { WitnessFolder } from './witness-folder.js';
import { Refusal } from './witnessed-checkpoint.js';
import { WitnessedService } from './witnessed-service.js';

interface WitnessOptions {
  readonly keyFile: string;
  readonly apiKeyFile: string;
  readonly folder: string;
  readonly logKey?: string;
  readonly every: number;
  readonly once?: boolean;
}

const DEFAULT_FOLDER = 'witness';
const DEFAULT_EVERY_SECONDS = 60;
const parseSeconds = wholeNumber(1, 999_999, 'It must be a number of seconds, 1 or more.');

export function addWitnessCommand(audit: Command): void {
  const command = audit
    .command('witness')
    .description(
      'Watch the log of an account over HTTP: check that it has only grown since the checkpoint that was kept, cosign the newest checkpoint and keep it; go on until interrupted. If the history changed or got shorter, a line on stdout says so, the exit code is 1, and the kept checkpoint stays as it is',
    )
    .argument('<url>', 'the URL of the service', parseUrl)
    .requiredOption('--key-file <file>', 'file with the secret key of this witness, as audit key prints it')
    .requiredOption('--api-key-file <file>', 'file with the API key of a user or bot of the account')
    .option(
      '--folder <folder>',
      'folder that keeps the checkpoint and the public keys of the log and the witness',
      DEFAULT_FOLDER,
    )
    .option(
      '--log-key <key>',
      'public key of the log, or a file that holds it (default: the key that the service answered first)',
    )
    .option('--every <seconds>', 'seconds between two checks', parseSeconds, DEFAULT_EVERY_SECONDS)
    .option('--once', 'check once, then end')
    .action(runWitness);
  withOfflineExamples(
    command,
    'audit witness https://tunnels.example.com --key-file witness.key --api-key-file auditor.key',
    'audit key witness.example.com > witness.key',
  );
}

async function runWitness(url: URL, options: WitnessOptions): Promise<void> {
  const key = await readWitnessKey(options.keyFile);
  const logKey = options.logKey === undefined ? undefined : await verifierIn(options.logKey);
  const service = new WitnessedService(await ServiceApi.withKeyIn(options.apiKeyFile, url));
  const folder = new WitnessFolder(options.folder);
  await folder.open();
  const stopped = untilStopped();
  tell(`the public key of this witness is ${verifierText(key)}`);
  try {
    await watch(new Witness(service, folder, key, logKey, tell), folder, options, stopped);
  } catch (error) {
    if (!stopped.aborted) throw error;
    if (options.once === true) throw new Interrupted('interrupted; what was kept is whole');
  }
}

async function watch(
  witness: Witness,
  folder: WitnessFolder,
  { every, once = false }: Pick<WitnessOptions, 'every' | 'once'>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      const witnessed = await witness.next(once, signal);
      if (witnessed.before === undefined) tellOfTrust(witnessed, folder);
      if (once || witnessed.before !== witnessed.checkpoint.size) print(lineOf(witnessed));
    } catch (error) {
      throw error instanceof Refusal ? await refused(error, folder) : error;
    }
    if (once) return;
    await sleep(every * 1000, undefined, { signal });
  }
}

const lineOf = ({ checkpoint: { origin, size }, before }: Witnessed): string =>
  `${origin}\t${size} events${before === undefined ? '' : `, ${size - before} more than before`}`;

/** The first checkpoint cannot be checked against an earlier one. */
function tellOfTrust({ checkpoint: { origin, size } }: Witnessed, { checkpointPath }: WitnessFolder): void {
  tell(
    `the first checkpoint of ${origin} is taken on trust, with its ${size} events, and kept in ${checkpointPath}. ` +
      'From now on the log is held to it. Compare log-key beside it with the key that the operator gives you',
  );
}

async function refused({ message, evidence }: Refusal, folder: WitnessFolder): Promise<CheckFailed> {
  print(message);
  tell(`${folder.checkpointPath} stays as it was`);
  if (evidence !== undefined) tell(await folder.keepRefused(evidence.note, evidence.isSigned));
  return new CheckFailed();
}

async function readWitnessKey(file: string): Promise<SignerKey> {
  if (file.startsWith('PRIVATE+KEY+')) {
    throw new UsageError('--key-file names a file: other users of the machine see arguments');
  }
  try {
    const { name, seed } = parseCheckpointKeys(file).signing;
    return signerKey(name, seed, COSIGNATURE);
  } catch (error) {
    throw new UsageError(`${file} ${messageOf(error)}`);
  }
}

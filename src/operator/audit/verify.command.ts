import { type Command, Option } from 'commander';
import { READ_MODELS } from '../../api/read-models.js';
import { accountOf } from '../../event-log/index.js';
import { CheckFailed, UsageError } from '../../kernel/operator-error.js';
import { appended } from '../appended-option.js';
import { checkpointKeys } from '../checkpoint-keys.js';
import { refuseUnknownAccount } from '../chosen-account.js';
import { withExamples } from '../help.js';
import { parseUrl } from '../http/http-url.js';
import { lowerPriority } from '../lower-priority.js';
import { onDatabase, READS } from '../run-on-database.js';
import { JSON_OPTION, type Printing } from '../table.js';
import { openInput } from './input-file.js';
import { readKept } from './kept-checkpoints.js';
import { linesOf } from './ndjson.js';
import { printFileVerification, printVerification } from './printed-verification.js';
import { verifyUrl } from './verify-url.js';

export function addVerifyCommand(audit: Command): void {
  const command = audit
    .command('verify')
    .description(
      'Check the logs: positions without gaps up to the head, each event and its hash, each stream, the signed checkpoints, each stored tile, the sealed records, and the schema of the database. Each fault is a line on stdout, which holds the account and the fault, separated by a tab',
    )
    .option('--account <id>', 'only this account (default: all)')
    .option(
      '--key <key>',
      'a public key, or a file that holds one: of the service, if it signed checkpoints and is not in CHECKPOINT_KEY (as GET /log/key answered it for any account), or of a witness, which must have cosigned each --checkpoint; may be repeated, oldest first',
      appended,
      [],
    )
    .option(
      '--checkpoint <file>',
      'hold the log to this checkpoint, which you or a witness kept; may be repeated',
      appended,
      [],
    )
    .option(
      '--without-records',
      'do not compare the records of binds, sessions, tunnels and connections with what was sealed of them: after the import of one account there are none',
    )
    .option(
      '--file <export>',
      'check this file, which audit export wrote, without the database and the service; - for stdin',
    )
    .addOption(
      new Option('--url <url>', 'check the log of an account over HTTP, without the database: the URL of the service')
        .argParser(parseUrl)
        .conflicts(['file', 'account']),
    )
    .option('--api-key-file <file>', 'with --url: file with the API key of an auditor or admin of the account')
    .option(...JSON_OPTION)
    .action(runVerify);
  withExamples(
    command,
    'audit verify',
    'audit verify --account ac_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA --checkpoint witness/checkpoint',
    'audit verify --url https://tunnels.example.com --api-key-file auditor.key --key log-key --checkpoint checkpoint',
    'audit verify --file account.ndjson --key log-key --checkpoint witness/checkpoint',
  );
}

interface VerifyOptions extends Printing {
  readonly account?: string;
  readonly key: readonly string[];
  readonly checkpoint: readonly string[];
  readonly file?: string;
  readonly url?: URL;
  readonly apiKeyFile?: string;
  readonly withoutRecords?: boolean;
}

async function runVerify({ url, apiKeyFile, ...options }: VerifyOptions): Promise<void> {
  if ((url === undefined) !== (apiKeyFile === undefined))
    throw new UsageError('--url and --api-key-file need each other');
  if (url !== undefined && apiKeyFile !== undefined) return verifyUrl(url, { apiKeyFile, ...options });
  return options.file === undefined ? verifyDatabase(options) : verifyExport(options.file, options);
}

/** Reads the files before it opens the database, so that the operator hears of a mistake at once. */
async function verifyDatabase({
  account,
  key,
  checkpoint,
  withoutRecords = false,
  json,
}: VerifyOptions): Promise<void> {
  const keys = await checkpointKeys(key);
  const kept = await readKept(checkpoint, keys);
  const other = kept.find((one) => account !== undefined && accountOf(one) !== account);
  if (other !== undefined) throw new UsageError(`${other.file} is a checkpoint of ${other.origin}, not of ${account}`);
  await onDatabase(READS, async (database) => {
    await refuseUnknownAccount(database, READ_MODELS, account);
    keys.tellIfNone();
    lowerPriority();
    if ((await printVerification(database, { account, hasRecords: !withoutRecords, json }, keys, kept)) > 0)
      throw new CheckFailed();
  });
}

async function verifyExport(file: string, { account, key, checkpoint, json }: VerifyOptions): Promise<void> {
  if (account !== undefined) throw new UsageError('--account is for a database: a file is always checked as a whole');
  const keys = await checkpointKeys(key);
  keys.tellIfNone();
  const kept = await readKept(checkpoint, keys);
  const input = await openInput(file, 'audit export');
  lowerPriority();
  if ((await printFileVerification(linesOf(input), keys, kept, { name: 'a file', json })).faults > 0)
    throw new CheckFailed();
}

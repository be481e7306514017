import { decideAgain, isRepeatable, LogTooShort } from '../../../api/gateway-api/decide-again/decide-again.js';
import { ChangedRecord, findDecision } from '../../../api/gateway-api/decide-again/recorded-decision.js';
import { isId } from '../../../kernel/ids.js';
import { CheckFailed, UsageError } from '../../../kernel/operator-error.js';
import { lowerPriority } from '../../lower-priority.js';
import { print } from '../../print.js';
import type { CommandDatabase } from '../../run-on-database.js';
import { differenceLine, questionLines, sentenceOf } from './decision-text.js';

export async function printDecidedAgain(database: CommandDatabase, id: string): Promise<void> {
  if (!isId(id, 'bd'))
    throw new UsageError(`'${id}' is not the id of a bind decision, such as bd_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA`);
  const decision = await findDecision(database.pool, id).catch(reportChanged);
  if (decision === undefined)
    throw new UsageError(`there is no bind decision ${id}: it was never made, or is deleted by its age`);
  if (!isRepeatable(decision)) {
    throw new UsageError(
      `the bind decision ${id} cannot be made again: it has no log_position, read_at and key_denied. An earlier version of the service made it, or someone has removed them`,
    );
  }
  lowerPriority();
  for (const line of questionLines(decision)) print(line);
  try {
    const { answer, differences, isUnsettled } = await decideAgain(database, decision);
    print(`the log says: ${sentenceOf(answer)}`);
    if (isUnsettled)
      print('the key was changed in another account so shortly before that this change was perhaps not committed yet');
    for (const field of differences) print(differenceLine(field, decision.answer, answer));
    print(differences.length === 0 ? 'the same' : 'different');
    if (differences.length > 0) throw new CheckFailed();
  } catch (error) {
    if (!(error instanceof LogTooShort)) throw error;
    print(`different: ${error.message}, so the events that the decision was made from are lost`);
    throw new CheckFailed();
  }
}

function reportChanged(error: unknown): never {
  if (!(error instanceof ChangedRecord)) throw error;
  print(`different: someone has changed the record: ${error.message}`);
  throw new CheckFailed();
}

import { ApiField } from '../../http/openapi/decorators.js';
import { EXAMPLE_KSUID } from '../../http/openapi/parts.js';
import { IGNORED } from './session-reports.js';

class IgnoredItem {
  @ApiField({
    description: 'Id of the item; of a connection, the id of its edge, or an id that the record leaves out.',
    example: `ts_${EXAMPLE_KSUID}`,
  })
  id!: string;
  @ApiField({ description: 'Why it does not count.', enum: IGNORED, example: 'unknown_credential' }) reason!: string;
}

class StoppedSession {
  @ApiField({ description: 'Id of its account.', example: `ac_${EXAMPLE_KSUID}` }) account_id!: string;
  @ApiField({ description: 'Id of the session.', example: `ts_${EXAMPLE_KSUID}` }) session_id!: string;
  @ApiField({ description: 'Whether the client is to come back.', example: false }) restart!: boolean;
  @ApiField({ description: 'Name or id of who stopped it.', example: 'Alice' }) by!: string;
}

export class SessionReportAnswer {
  @ApiField({
    description: 'False if this report, or a later one, was counted before: nothing of it is stored.',
    example: true,
  })
  counted!: boolean;
  @ApiField({ description: 'What does not count.', listOf: IgnoredItem, example: [] }) ignored!: readonly IgnoredItem[];
  @ApiField({
    description: 'The service does not hold all that is open: report it wholly, and end with `whole_since`.',
    example: false,
  })
  send_whole!: boolean;
  @ApiField({ description: 'Sessions to end, in the answer to `whole_since`.', listOf: StoppedSession, example: [] })
  stops!: readonly StoppedSession[];
}

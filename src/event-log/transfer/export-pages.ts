import { type Connections, queryNamed } from '../../database/index.js';
import type { Span } from '../read/event-filter.js';
import type { PageSize } from '../read/log-pages.js';
import { EVENT_LINE } from './log-file.js';

export interface ExportedLine {
  readonly position: number;
  /** As `audit export` writes it. */
  readonly line: string;
}

const HIDDEN_LINE = `concat('{"position":', position, ',"leaf_hash":"', encode(leaf_hash, 'hex'), '","hidden":true}')`;
/** Ends with the event that reaches the size, which PostgreSQL knows without reading the data. */
const PAGE = {
  name: 'export_page',
  text: `select position, case when type = any($4) then ${HIDDEN_LINE} else ${EVENT_LINE} end as line
    from (select e.*, sum(octet_length(data)) over (order by position) - octet_length(data) as before from events e
      where account_id = $1 and position > $2 and position <= $3) e
    where before < $5 order by position`,
};

/** A page of the lines of a log. Of an event whose type is hidden the line has its position and its hash alone. */
export async function exportPage(
  connections: Connections,
  accountId: string,
  { after, upTo }: Span,
  hiddenTypes: readonly string[],
  { events, characters }: PageSize,
): Promise<readonly ExportedLine[]> {
  const values = [accountId, after, Math.min(upTo, after + events), hiddenTypes, characters];
  const { rows } = await queryNamed<{ position: string; line: string }>(connections, PAGE, values);
  return rows.map(({ position, line }) => ({ position: Number(position), line }));
}

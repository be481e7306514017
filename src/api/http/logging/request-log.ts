import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Problem } from '../../../kernel/problem.js';
import { isSafeMethod, readTraceId } from '../preconditions.js';
import { ipOf } from '../request-context.js';
import type { LoggedRequests } from './logged-requests.js';

type WriteLine = (level: 'error' | 'warn' | 'info', fields: object, message: string) => void;

/**
 * A line in the log for an answer, written when its headers are ready. It has what finds the request again, and nothing
 * that a caller chose: no path, query, header or body, so no secret in the wrong place. Only the trace-id comes from
 * the caller, and it is 32 hexadecimal digits.
 */
export class RequestLog {
  private readonly logsAll: boolean;

  constructor(
    private readonly write: WriteLine,
    logged: LoggedRequests,
  ) {
    this.logsAll = logged === 'all';
  }

  answered(request: FastifyRequest, reply: FastifyReply): void {
    const { statusCode: status } = reply;
    if (status < 400 && !this.logsAll && !isChange(request)) return;
    const { method, id, caller, failure } = request;
    const route = request.is404 ? undefined : request.routeOptions.url;
    const fields = {
      method,
      route,
      status,
      ms: millisecondsSince(request.receivedAt),
      operation_id: id,
      correlation_id: readTraceId(request),
      account: caller?.accountId,
      principal: caller?.principalId,
      ip: ipOf(request),
      error_code: failure?.problem.code,
      err: status === 500 ? failure?.error : undefined,
    };
    this.write(levelOf(status), fields, `${method} ${route ?? '(no route)'} ${status}`);
  }

  /** Bytes that did not become a request have no method, route or caller. */
  refused(operationId: string, { status, code }: Problem, ip: string | undefined): void {
    const fields = { status, operation_id: operationId, ip, error_code: code };
    this.write(levelOf(status), fields, `(no request) ${status}`);
  }
}

/** A gateway's question changes nothing; bind decisions are recorded elsewhere, and are too many for a log. */
const isChange = ({ method, routeOptions }: FastifyRequest): boolean =>
  !isSafeMethod(method) && method !== 'OPTIONS' && routeOptions.config.isForGateways !== true;

/** An error in the log is one of the service; other refusals are warnings. */
const levelOf = (status: number): 'error' | 'warn' | 'info' =>
  status === 500 ? 'error' : status >= 400 ? 'warn' : 'info';

/** To a tenth of a millisecond; undefined for a request that no hook has seen. */
const millisecondsSince = (time: number): number | undefined =>
  time > 0 ? Math.round((performance.now() - time) * 10) / 10 : undefined;

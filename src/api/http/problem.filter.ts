import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PostgresFailure } from '../../database/index.js';
import { malformed, Problem, type ProblemName } from '../../kernel/problem.js';
import { foreignId } from './foreign-id.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the answer is an error, for its line in the log. */
    failure?: Failure;
  }
}

interface Failure {
  readonly problem: Problem;
  readonly error: unknown;
}

const DISK_FULL = "The disk of the database is full, so nothing was written. The service's operator must free space.";

/** Retry-After of a 503 or 429 that does not say its own. */
const RETRY_AFTER_SECONDS = 1;

const NOT_FOUND = 'Resource not found';

/** Errors of Fastify and Nest before a route runs, by status. Any other 4xx of theirs is `request_malformed`. */
const FRAMEWORK_PROBLEMS = new Map<number, [ProblemName, string]>([
  [404, ['not_found', NOT_FOUND]],
  [413, ['body_too_large', 'The body is too large; the maximum is 2 MiB.']],
  [415, ['unsupported_content_type', 'The body must be sent as application/json.']],
]);

/** Turns every error into an answer, and passes it to `failed`. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly failed: (error: unknown) => void) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const problem = withForeignId(toProblem(error), request);
    this.failed(error);
    request.failure = { problem, error };
    sendProblem(http.getResponse<FastifyReply>(), request.id, problem);
  }
}

/** Clients mix ids up. The text of one tells its kind, whoever has it, so saying the kind gives nothing away. */
function withForeignId(problem: Problem, { url, params }: FastifyRequest): Problem {
  if (problem.message !== NOT_FOUND) return problem;
  const sentence = foreignId(url, (params as { readonly id?: string } | undefined)?.id);
  return sentence === undefined ? problem : new Problem(problem.problem, sentence);
}

export function sendProblem(reply: FastifyReply, operationId: string, problem: Problem): void {
  if (reply.sent) return;
  if (problem.status === 401) void reply.header('www-authenticate', 'Bearer');
  if (problem.status === 503 || problem.status === 429) {
    void reply.header('retry-after', String(problem.retryAfterSeconds ?? RETRY_AFTER_SECONDS));
  }
  void reply.status(problem.status).header('content-type', JSON_TYPE).send(problemBody(operationId, problem));
}

export const JSON_TYPE = 'application/json; charset=utf-8';

export const problemBody = (operationId: string, problem: Problem) => ({
  error_code: problem.code,
  status_code: problem.status,
  msg: problem.message,
  details: { ...problem.details, operation_id: operationId },
});

export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const failure = PostgresFailure.of(error);
  if (failure.isConnectionLoss || failure.isLostStatement) {
    return new Problem('overloaded', 'The database does not answer. Try again shortly.');
  }
  if (failure.isDiskFull) return new Problem('overloaded', DISK_FULL);
  if (failure.isCancelled) return new Problem('overloaded', 'The database ended the statement. Try again shortly.');
  const status = statusOf(error);
  const known = FRAMEWORK_PROBLEMS.get(status);
  if (known !== undefined) return new Problem(...known);
  if (status >= 400 && status < 500) return malformed('The request is not valid HTTP for this API.');
  return new Problem('internal', 'Internal error.');
}

function statusOf(error: unknown): number {
  if (error instanceof HttpException) return error.getStatus();
  if (typeof error === 'object' && error !== null && 'statusCode' in error) return Number(error.statusCode);
  return 500;
}

import { readdir, readFile } from 'node:fs/promises';
import { Controller, Get, Header, HttpCode, Module, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../../kernel/problem.js';
import { RouteConfig } from '../http/documentation.js';
import { ApiField, ApiPublic, ApiTag } from '../http/openapi/decorators.js';
import type { ParameterOf } from '../http/openapi/parts.js';
import { OneTimeLink } from './one-time-link.js';

/** The build puts the page here. Its source is in console/. */
const BUILT = new URL('../../../console/', import.meta.url);
/** Stands in the built page for the path of PUBLIC_URL. */
const BASE = '/__BASE__';

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'application/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Scripts, styles and requests stay on this origin, and no text becomes HTML. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const FILE: ParameterOf = ({ ApiParam }) =>
  ApiParam({ name: 'file', description: 'Name of a file that the console loads.', schema: { type: 'string' } });

class OneTimeKey {
  @ApiField({ description: 'Token of an API key of an admin. It expires after 12 hours.', example: 'ak_secret' })
  token!: string;
}

/** The console: a page for people, who sign in with an API key. It calls the same routes as every client. */
@ApiTag('Console')
@Controller('console')
class ConsoleController {
  constructor(private readonly link: OneTimeLink) {}

  @Get()
  @RouteConfig({ isPublic: true })
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', POLICY)
  @Header('cross-origin-opener-policy', 'same-origin')
  @Header('cross-origin-resource-policy', 'same-origin')
  @Header('cache-control', 'no-cache')
  @ApiPublic('text/html', { id: 'getConsole', summary: 'Get the console, a web page' })
  async page(@Req() { baseUrl }: FastifyRequest): Promise<string> {
    const page = await readFile(new URL('index.html', BUILT), 'utf8');
    return page.replaceAll(BASE, new URL(baseUrl).pathname.replace(/\/$/, ''));
  }

  @Post('once')
  @HttpCode(200)
  @RouteConfig({ isPublic: true, ignoresBody: true })
  @Header('cache-control', 'no-store')
  @ApiPublic(OneTimeKey, {
    id: 'useOneTimeLink',
    summary: 'Sign in by the link of the start',
    description:
      'The page sends the secret of the link as a Bearer token. It works once, for 5 minutes after a start on an ' +
      'embedded database and a terminal, and from the same machine only.',
    problems: ['api_key_unknown', 'role_missing'],
  })
  async once(@Req() request: FastifyRequest): Promise<OneTimeKey> {
    return { token: await this.link.use(request) };
  }

  @Get(':file')
  @RouteConfig({ isPublic: true })
  @Header('cross-origin-resource-policy', 'same-origin')
  @ApiPublic('*/*', { id: 'getConsoleFile', summary: 'Get a file of the console', problems: ['not_found'] }, FILE)
  async file(@Param('file') name: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    const type = TYPES[/\.(\w+)$/.exec(name)?.[1] ?? ''];
    const isBuilt = type !== undefined && (await readdir(BUILT)).includes(name);
    if (!isBuilt) throw new Problem('not_found', 'Resource not found');
    // The name has a hash of the content, so the file never changes.
    void reply.headers({ 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' });
    return readFile(new URL(name, BUILT), 'utf8');
  }
}

@Module({ controllers: [ConsoleController], providers: [OneTimeLink] })
export class ConsoleModule {}

import { EXAMPLE_KSUID } from '../../../src/api/http/openapi/parts.js';
import { PROBLEMS, type ProblemName } from '../../../src/kernel/problem.js';

/** A real message of each problem. */
const MESSAGES: Readonly<Record<ProblemName, string>> = {
  authorization_missing: 'Send an API key in the header "Authorization: Bearer <api key>".',
  authorization_not_bearer: 'The Authorization header must have the form "Bearer <api key>".',
  api_key_malformed: 'The API key does not have the form of an API key.',
  api_key_unknown: 'The API key is unknown or was revoked.',
  unsupported_content_type: 'The body must be sent as application/json.',
  body_too_large: 'The body is too large; the maximum is 2 MiB.',
  body_malformed: 'The body is not valid JSON (at character 15).',
  field_unknown: "'descripton' is not a field of this body; the fields are active, name.",
  field_wrong_type: 'description must be a string, not a number.',
  cursor_malformed: "before_id 'sshcr_1' is not the id of an item of this list.",
  too_many_requests:
    'There were more than 100 failed authentications in a minute from your address. A valid key still works; try any other key again in 42 s.',
  ip_policy_id_invalid:
    "ip_restriction.ip_policy_ids[0] 'ipp 1' must be a string of 1 to 128 characters of A-Z, a-z, 0-9, _ and -.",
  limit_out_of_range: 'limit is 0; the minimum is 1.',
  backend_id_invalid: 'backend.backend_id is missing; send the id of a backend.',
  limit_not_a_number: "limit 'ten' is not a number.",
  ip_policy_not_found: 'Resource not found',
  acl_rule_invalid: "acl[0] must be a string such as 'bind:app.example.com'.",
  ssh_credential_description_too_long: 'description is 312 bytes long; the maximum is 255.',
  ssh_credential_metadata_too_long: 'metadata is 5000 bytes long; the maximum is 4096.',
  public_key_already_used: 'This public key already has an SSH credential on this account.',
  public_key_used_elsewhere: 'This public key is already in use on another account.',
  public_key_missing: 'public_key is missing; send the text of an SSH public key, such as a .pub file.',
  public_key_invalid: 'public_key says it is ssh-rsa, but its base64 holds ssh-ed25519; copy it again.',
  owner_not_yours: 'Only admins may name an owner other than themselves; leave owner_id out.',
  role_missing: 'Only admins may manage users and bots.',
  owner_inactive: "The owner 'usr_3MSH1YH1pfqRL0tXy3dC8OFwmhq' is not active.",
  caller_inactive: 'The owner of this API key is not active.',
  ip_policy_rule_not_found: 'Resource not found',
  ip_policy_rule_exists: "The IP policy already has a rule with the cidr '192.0.2.0/24'.",
  cidr_missing: 'cidr is missing; send a network such as 192.0.2.0/24.',
  cidr_malformed: "cidr '10.0.0.0/33' must have a prefix from 0 to 32.",
  cidr_host_bits:
    "cidr '192.0.2.1/24' has bits after its prefix; send 192.0.2.0/24 for the network, or 192.0.2.1/32 for the address.",
  ip_policy_unknown: "ip_policy_id 'ipp_3MSH1YH1pfqRL0tXy3dC8OFwmhq' is not the id of an IP policy.",
  ip_policy_rule_description_too_long: 'description is 312 bytes long; the maximum is 255.',
  ip_policy_rule_action_invalid: "action must be 'allow' or 'deny'.",
  label_key_length: 'The key of a label is 312 bytes long; the maximum is 255.',
  label_value_length: "The value of the label 'app' is 312 bytes long; the maximum is 255.",
  label_has_equals_sign: "The key of a label has an equals sign, which separates key and value: 'a=b'.",
  edge_not_found: 'Resource not found',
  edge_description_too_long: 'description is 312 bytes long; the maximum is 255.',
  edge_metadata_too_long: 'metadata is 5000 bytes long; the maximum is 4096.',
  hostport_malformed: "hostports[0] must be a string such as 'tcp.example.com:443'.",
  hostport_port_out_of_range:
    "hostports[0] 'tcp.example.com:70000' is not a hostport: the port must be a whole number from 1 to 65535.",
  hostport_already_used: "hostports[0] 'tcp.example.com:443' is already used by another edge.",
  request_malformed: 'The request is not valid HTTP for this API.',
  gateway_not_yours: 'The report has a session of an account that this token does not serve.',
  not_found: 'Resource not found',
  request_timed_out: 'The request did not arrive in time.',
  conflict: 'A user with this email exists already.',
  event_unreadable:
    'The event at position 7 cannot be read: its data is not a JSON object. The service did not write it in this form: the operator finds out more with `audit verify`. The log goes on after position 7.',
  log_tail_lost:
    'after is 120, but the log ends at position 117. If you have read as far, the end of the log is lost: a database was restored, or a failover lost changes. Keep what you have, find the last event that is also in the log, and begin after it.',
  precondition_failed: 'If-Match does not hold: the resource\'s ETag is "3" now.',
  expectation_failed: 'The only Expect that the service meets is 100-continue.',
  idempotency_key_reused: 'This Idempotency-Key was used with another request; take a new one.',
  headers_too_large: 'The request headers are too large.',
  internal: 'Internal error.',
  not_implemented: 'The only Transfer-Encoding that the service knows is chunked.',
  overloaded: 'Too many changes are waiting to be written. Try again shortly.',
  http_version_unsupported: 'The service speaks HTTP/1.1 and HTTP/1.0 only.',
};

/** The example body of each problem in the OpenAPI document, by the name of the problem. */
export const PROBLEM_BODIES = Object.fromEntries(
  (Object.keys(PROBLEMS) as ProblemName[]).map((name) => [name, { value: problemBodyExample(name) }]),
);

function problemBodyExample(name: ProblemName) {
  const [status_code, error_code] = PROBLEMS[name];
  const details = { operation_id: `op_${EXAMPLE_KSUID}` };
  return { error_code, status_code, msg: MESSAGES[name], details };
}

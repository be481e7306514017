# Run by sshd-gateway.ts inside mount and process namespaces of its own: all that is changed here is gone with them.
# The machine's own /etc is not touched; this one is a copy in memory. Commands to set the gateway up come on stdin.
set -euo pipefail

mount -t tmpfs -o mode=755 tmpfs "$SCRATCH"
mkdir "$SCRATCH/etc"
cp -a /etc/. "$SCRATCH/etc"
mount --bind "$SCRATCH/etc" /etc
mount -t tmpfs -o mode=755 tmpfs /run
# useradd keeps books there.
mount -t tmpfs -o mode=755 tmpfs /var/log

printf '%s\n' "$HOSTS" >> /etc/hosts
eval "$(cat)"

exec /usr/sbin/sshd -D -e -f /etc/ssh/tunnel-gateway/sshd_config -o "ListenAddress=127.0.0.1:$GATEWAY_PORT" < /dev/null

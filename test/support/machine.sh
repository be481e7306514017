# Run by machine.ts in new mount, network and process namespaces: a machine of its own for the commands of a document.
# Their changes stay in memory, and end with the namespaces. $1 prepares what the document expects; the commands come on
# stdin.
set -euo pipefail

ip link set lo up
mount -t tmpfs -o mode=755 tmpfs "$SCRATCH"
cp -a /etc "$SCRATCH/etc"
mount --bind "$SCRATCH/etc" /etc
for FOLDER in /run /opt /var/log /var/backups /var/lib/postgresql; do mount -t tmpfs -o mode=755 tmpfs "$FOLDER"; done
mkdir /opt/tunnel-access
mount --bind "$CHECKOUT" /opt/tunnel-access
cd /opt/tunnel-access

. "$1"
exec bash -euo pipefail

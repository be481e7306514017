# Run by lab.mjs as the first process of new network, mount and process namespaces. It adopts and reaps the orphans of
# killed programs. The arguments are node and what follows the script's name in package.json.
set -euo pipefail

# Everything that the tests write is in this memory and vanishes with the namespace.
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/ha
ip link set lo up

{
  echo 127.0.0.1 localhost
  for n in 1 2 3; do echo "10.77.0.1$n db$n"; done
  for n in 1 2 3; do echo "10.77.0.2$n etcd$n"; done
} > /run/ha/hosts
mount --bind /run/ha/hosts /etc/hosts

node=$1
shift
"$node" --experimental-vm-modules --no-warnings node_modules/jest/bin/jest.js --selectProjects ha --runInBand "$@" &
wait $!

"""Opens a tunnel as programs with paramiko do. Arguments: PORT KEY ADDRESS LISTEN_PORT TARGET_PORT."""

import socket
import sys
import threading

import paramiko


def carry(channel, target):
    server = socket.create_connection(("127.0.0.1", target))

    def back():
        while data := server.recv(65536):
            channel.sendall(data)
        channel.close()

    threading.Thread(target=back, daemon=True).start()
    while data := channel.recv(65536):
        server.sendall(data)
    server.shutdown(socket.SHUT_WR)


port, key, address, listen, target = sys.argv[1:]
client = paramiko.SSHClient()
client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
client.connect("127.0.0.1", int(port), "tunnel", key_filename=key, allow_agent=False, look_for_keys=False)
transport = client.get_transport()
transport.request_port_forward(address, int(listen))
print("bound", flush=True)
while channel := transport.accept(3600):
    threading.Thread(target=carry, args=(channel, int(target)), daemon=True).start()

// Command forward opens a tunnel as Go programs do. Arguments: PORT KEY LISTEN TARGET.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"os"

	"golang.org/x/crypto/ssh"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func carry(visitor net.Conn, target string) {
	server := must(net.Dial("tcp", target))
	go func() {
		io.Copy(server, visitor)
		server.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(visitor, server)
	visitor.Close()
}

func main() {
	port, key, listen, target := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	signer := must(ssh.ParsePrivateKey(must(os.ReadFile(key))))
	client := must(ssh.Dial("tcp", "127.0.0.1:"+port, &ssh.ClientConfig{
		User:            "tunnel",
		Auth:            []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	}))
	listener := must(client.Listen("tcp", listen))
	fmt.Println("bound")
	for {
		go carry(must(listener.Accept()), target)
	}
}

package node

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"

	"vnfbench.io/test/lab/internal/config"
)

// forward connects every connection to the inherited socket, which listens in the machine's network
// namespace, to the API server in the node's. The socket closes with the process, so no port stays
// in use.
func forward(socket *os.File) error {
	listener, err := net.FileListener(socket)
	if err != nil {
		return err
	}
	_ = socket.Close() // the listener has a copy
	go func() {
		for {
			client, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				slog.Error("Accepting a connection failed", "err", err)
				continue
			}
			go carry(client.(*net.TCPConn))
		}
	}()
	return nil
}

func carry(client *net.TCPConn) {
	defer client.Close()
	connection, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", config.APIPort))
	if err != nil {
		return // the API server is not there yet; the client tries again
	}
	server := connection.(*net.TCPConn)
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { copyHalf(server, client) })
	both.Go(func() { copyHalf(client, server) })
	both.Wait()
}

// copyHalf copies one direction and forwards its end.
func copyHalf(to, from *net.TCPConn) {
	_, _ = io.Copy(to, from) // either end may close at any time
	_ = to.CloseWrite()
}

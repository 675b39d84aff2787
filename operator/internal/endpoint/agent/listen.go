//go:build linux

package agent

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// listens reports whether a socket of this network namespace listens on a TCP
// port. A connection would show this too, but iperf3 would take it for its test.
func listens(port uint16) (bool, error) {
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(table)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return false, fmt.Errorf("looking for a listening socket: %w", err)
		}
		if listensIn(text, port) {
			return true, nil
		}
	}
	return false, nil
}

// listensIn reads the kernel's table of sockets: number, local address and port
// in hexadecimal, remote address, state. The reader of procfs is deprecated.
func listensIn(table []byte, port uint16) bool {
	const stateListen = "0A"
	local := fmt.Sprintf(":%04X", port)
	for lines := bufio.NewScanner(bytes.NewReader(table)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 3 && strings.HasSuffix(fields[1], local) && fields[3] == stateListen {
			return true
		}
	}
	return false
}

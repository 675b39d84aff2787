//go:build linux

// Package tunnel puts an encryption gateway's tunnel into the kernel, or next
// to it, and reports its state. A vnf.Gateway and a folder with keys go in; a
// WireGuard device, or IPsec's associations and policies, come out, in the
// network namespace of the process. The process reads keys, passes them on and
// forgets them: they are in no log, error or status.
package tunnel

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/vnf"
)

// Tunnel is one end of a tunnel: a part of package kernel.
type Tunnel interface {
	Prepare() error
	Apply() error
	Check() error
	Status() vnf.FunctionStatus
	Interface() string
}

// New returns the tunnel of a checked configuration; it changes nothing yet.
func New(gateway *vnf.Gateway, keys string, log *slog.Logger) Tunnel {
	if gateway.Protocol == vnf.ProtocolIPsec {
		return &ipsec{gateway: gateway, keys: keys, log: log}
	}
	return &wireGuard{gateway: gateway, keys: keys, log: log}
}

// readKey reads a key of this many bytes from its file. An error names the file
// and never its content.
func readKey(folder, field, name string, bytes int) ([]byte, error) {
	path := filepath.Join(folder, name)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("encryptionGateway.keys.%s: reading the key: %w", field, err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != bytes {
		return nil, fmt.Errorf("encryptionGateway.keys.%s: file %q does not have %d bytes in Base64", field, path, bytes)
	}
	return key, nil
}

func explain(err error) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: the container needs the capability NET_ADMIN", err)
	}
	return err
}

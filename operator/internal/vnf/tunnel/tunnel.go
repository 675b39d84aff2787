//go:build linux

// Package tunnel puts an encryption gateway's tunnel into the kernel, or next
// to it, and tells how it is. A vnf.Gateway and a folder with keys go in; a
// WireGuard device, or IPsec's associations and policies, come out, in the
// network namespace of the process. Keys are read, handed over and forgotten:
// they are in no log, error or status.
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

// Status is part of the function's /status.
type Status struct {
	Protocol string `json:"protocol"`
	// Implementation is what encrypts: "Kernel" or "Userspace"; empty before it is there.
	Implementation string `json:"implementation,omitempty"`
	// Threads that may encrypt at a time in user space; 0 where the kernel does.
	Threads int `json:"threads,omitempty"`
	// TunnelMTUBytes is the largest IP packet that goes into the tunnel.
	TunnelMTUBytes int `json:"tunnelMTUBytes"`
	// EncryptedBytes went to the peer and DecryptedBytes came from it, as the
	// protocol counts them: WireGuard with its own headers, IPsec without.
	EncryptedBytes uint64 `json:"encryptedBytes"`
	DecryptedBytes uint64 `json:"decryptedBytes"`
	// FailedPackets came and were no packets of the peer; IPsec alone counts them.
	FailedPackets uint64 `json:"failedPackets"`
	// Problem is why counters are missing.
	Problem string `json:"problem,omitempty"`
}

// Tunnel is one end of a tunnel.
type Tunnel interface {
	// Prepare is called before the ports are up, Apply after that.
	Prepare() error
	Apply() error
	// Check is nil when the tunnel carries packets.
	Check() error
	Status() Status
	// Device is the tunnel's own interface; "" where it has none.
	Device() string
}

// New is the tunnel of a checked configuration; it touches nothing yet.
func New(gateway *vnf.Gateway, keys string, log *slog.Logger) Tunnel {
	if gateway.Protocol == vnf.ProtocolIPsec {
		return &ipsec{gateway: gateway, keys: keys, log: log}
	}
	return &wireGuard{gateway: gateway, keys: keys, log: log}
}

// readKey reads a key of so many bytes from its file. An error names the file
// and never what is in it.
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

//go:build linux

package tunnel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseState(t *testing.T) {
	text := "private_key=00ff\nlisten_port=51820\npublic_key=11ee\nlast_handshake_time_sec=1700000000\nlast_handshake_time_nsec=5\ntx_bytes=148\nrx_bytes=92\nerrno=0\n"
	if got := parseState(text); got != (wireGuardState{transmitted: 148, received: 92, handshake: true}) {
		t.Errorf("got %+v", got)
	}
	if got := parseState("last_handshake_time_sec=0\ntx_bytes=148\n"); got.handshake {
		t.Error("a handshake that was not")
	}
}

// TestReadKeyHidesKey checks that no error about a key contains its text.
func TestReadKeyHidesKey(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"short": "c2hvcnQtc2VjcmV0", "broken": "not-base-64-secret!"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readKey(folder, "private", name, keyBytes)
		if err == nil || strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "encryptionGateway.keys.private: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

//go:build linux

package tunnel

import (
	"crypto/rand"
	"encoding/base64"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vnfbench.io/operator/internal/testing/netnstest"
	"vnfbench.io/operator/internal/vnf"
)

// TestIPsecPolicies checks that nothing between the two networks may pass in the clear, in
// either IP version, even if an association cannot be made. `ip` reads the
// policies back.
func TestIPsecPolicies(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{vnf.KeyOut, vnf.KeyIn} {
		key := make([]byte, vnf.IPsecKeyBytes)
		_, _ = rand.Read(key) // never fails
		if err := os.WriteFile(filepath.Join(folder, name), []byte(base64.StdEncoding.EncodeToString(key)), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	networks := func(texts ...string) (prefixes []netip.Prefix) {
		for _, text := range texts {
			prefixes = append(prefixes, netip.MustParsePrefix(text))
		}
		return prefixes
	}
	gateway := &vnf.Gateway{
		Protocol: vnf.ProtocolIPsec, Implementation: vnf.ImplementationKernel, SPIOut: 0x1002, SPIIn: 0x1003,
		Local: netip.MustParseAddr("198.18.1.1"), Peer: netip.MustParseAddr("198.18.1.2"),
		LocalNetworks:  networks("198.18.128.0/17", "2001:2:0:8000::/64"),
		RemoteNetworks: networks("198.19.128.0/17", "2001:2:0:9000::/64"),
		Keys:           vnf.KeyFiles{Out: vnf.KeyOut, In: vnf.KeyIn},
	}
	tunnel := New(gateway, folder, slog.New(slog.NewTextHandler(io.Discard, nil)))
	namespace := netnstest.New(t, "gateway")
	prepared := namespace.Run(tunnel.Prepare)
	if prepared != nil && !strings.Contains(prepared.Error(), missingIPsec) {
		t.Fatalf("refused without a remedy: %v", prepared)
	}
	var output []byte
	namespace.Must(t, func() (err error) {
		output, err = exec.Command("ip", "xfrm", "policy").CombinedOutput()
		return err
	})
	got := strings.Join(strings.Fields(string(output)), " ")
	for _, want := range []string{
		"src 198.18.128.0/17 dst 198.19.128.0/17 dir out priority 0 ptype main tmpl src 198.18.1.1 dst 198.18.1.2 proto esp reqid 1 mode tunnel",
		"src 198.19.128.0/17 dst 198.18.128.0/17 dir fwd priority 0 ptype main tmpl src 198.18.1.2 dst 198.18.1.1 proto esp reqid 1 mode tunnel",
		"src 2001:2:0:8000::/64 dst 2001:2:0:9000::/64 dir out priority 0 ptype main tmpl src 198.18.1.1 dst 198.18.1.2 proto esp reqid 1 mode tunnel",
		"src 2001:2:0:9000::/64 dst 2001:2:0:8000::/64 dir fwd priority 0 ptype main tmpl src 198.18.1.2 dst 198.18.1.1 proto esp reqid 1 mode tunnel",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
	checked := namespace.Run(tunnel.Check)
	if prepared == nil {
		if checked != nil {
			t.Error(checked)
		}
		// Again, like a restarted container: the associations stay.
		namespace.Must(t, tunnel.Prepare)
		return
	}
	for _, want := range []string{`the IPsec association "out" is missing`, `the IPsec association "in" is missing`} {
		if checked == nil || !strings.Contains(checked.Error(), want) {
			t.Errorf("got %v, want %q in it", checked, want)
		}
	}
	t.Logf("this kernel makes no association, so only policies were tried: %v", prepared)
}

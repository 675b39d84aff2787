package modules_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/guest/modules"
)

func index(t *testing.T) *modules.Index {
	t.Helper()
	x, err := modules.Read(fstest.MapFS{
		"modules.dep": {Data: []byte(`kernel/drivers/net/virtio_net.ko: kernel/drivers/net/net_failover.ko kernel/net/core/failover.ko
kernel/net/core/failover.ko:
kernel/drivers/net/net_failover.ko: kernel/net/core/failover.ko
kernel/arch/x86/crypto/aesni-intel.ko:
kernel/drivers/net/e1000.ko:
kernel/net/ipv4/netfilter/nft_chain_nat.ko:
`)},
		"modules.alias": {Data: []byte(`# Aliases extracted from modules themselves.
alias virtio:d00000001v* virtio_net
alias pci:v00008086d0000100[EF]sv*sd*bc*sc*i* e1000
alias nft-chain-2-nat nft_chain_nat
alias crypto-aes aesni_intel
alias crypto-aes aes_generic
`)},
		"modules.builtin": {Data: []byte("kernel/crypto/hmac.ko\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestFind(t *testing.T) {
	for query, want := range map[string][]string{
		"virtio:d00000001v00001AF4":                             {"virtio_net"},
		"virtio:d00000002v00001AF4":                             nil,
		"pci:v00008086d0000100Esv00001AF4sd00001100bc02sc00i00": {"e1000"},
		"pci:v00008086d0000100Dsv00001AF4sd00001100bc02sc00i00": nil,
		"nft-chain-2-nat":                                       {"nft_chain_nat"},
		"aesni-intel":                                           {"aesni_intel"},
		"crypto-aes":                                            {"aesni_intel", "aes_generic"},
		"net_failover":                                          {"net_failover"},
	} {
		if diff := cmp.Diff(want, index(t).Find(query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

func TestOrder(t *testing.T) {
	got, err := index(t).Order("virtio_net")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"kernel/net/core/failover.ko", "kernel/drivers/net/net_failover.ko", "kernel/drivers/net/virtio_net.ko"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := index(t).Order("vfat"); err == nil {
		t.Error("no error for a module that is not there")
	}
	if !index(t).Builtin("hmac") {
		t.Error("hmac is built in")
	}
}

func TestReadRefuses(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"nothing":       {},
		"a bad line":    {"modules.dep": {Data: []byte("kernel/a.ko\n")}, "modules.alias": {}, "modules.builtin": {}},
		"no alias":      {"modules.dep": {}, "modules.alias": {Data: []byte("alias a\n")}, "modules.builtin": {}},
		"a bad bracket": {"modules.dep": {}, "modules.alias": {Data: []byte("alias a[ b\n")}, "modules.builtin": {}},
	} {
		if _, err := modules.Read(files); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

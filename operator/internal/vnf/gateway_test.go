package vnf_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/vnf"
)

func gateway() *vnf.Config {
	config := router()
	config.Function = vnf.FunctionEncryptionGateway
	config.Ports[1].MTUBytes = 1560
	config.Routes = nil
	config.Gateway = &vnf.Gateway{
		Protocol: vnf.ProtocolWireGuard, Implementation: vnf.ImplementationAuto, Port: "east",
		Local: netip.MustParseAddr("198.18.1.1"), Peer: netip.MustParseAddr("198.18.1.2"),
		LocalNetworks:  []netip.Prefix{netip.MustParsePrefix("198.18.128.0/17")},
		RemoteNetworks: []netip.Prefix{netip.MustParsePrefix("198.19.128.0/17")},
		TunnelMTUBytes: 1500, ListenPort: 51820,
		Keys: vnf.KeyFiles{Private: vnf.KeyPrivate, PeerPublic: vnf.KeyPeerPublic, Preshared: vnf.KeyPreshared},
	}
	return config
}

func ipsecGateway() *vnf.Config {
	config := gateway()
	g := config.Gateway
	g.Protocol, g.Implementation, g.ListenPort = vnf.ProtocolIPsec, vnf.ImplementationKernel, 0
	g.SPIOut, g.SPIIn, g.Keys = 0x1000, 0x1001, vnf.KeyFiles{Out: vnf.KeyOut, In: vnf.KeyIn}
	return config
}

func TestGatewayRoundTrip(t *testing.T) {
	for _, config := range []*vnf.Config{gateway(), ipsecGateway(), firewall()} {
		data, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		got, err := vnf.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(config, got, byValue); diff != "" {
			t.Errorf("configuration (-want +got):\n%s", diff)
		}
	}
}

// TestGatewayAddresses checks that the error for an invalid address names its field.
func TestGatewayAddresses(t *testing.T) {
	data, err := json.Marshal(gateway())
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		`"local":"198.18.1.1"`:                 "encryptionGateway.local: ",
		`"remoteNetworks":["198.19.128.0/17"]`: "encryptionGateway.remoteNetworks[0]: ",
	} {
		broken := strings.Replace(string(data), from, strings.Replace(from, "198.1", "x98.1", 1), 1)
		if _, err := vnf.Parse([]byte(broken)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want it to start with %q", err, want)
		}
	}
}

func TestValidateGateway(t *testing.T) {
	cases := map[string]struct {
		config func() *vnf.Config
		change func(*vnf.Config)
		want   string
	}{
		"no gateway":         {gateway, func(c *vnf.Config) { c.Gateway = nil }, "encryptionGateway: is missing"},
		"router":             {gateway, func(c *vnf.Config) { c.Function = vnf.FunctionRouter }, "encryptionGateway: is for function"},
		"protocol":           {gateway, func(c *vnf.Config) { c.Gateway.Protocol = "TLS" }, "encryptionGateway.protocol: "},
		"implementation":     {gateway, func(c *vnf.Config) { c.Gateway.Implementation = "" }, "encryptionGateway.implementation: "},
		"IPsec in a program": {ipsecGateway, func(c *vnf.Config) { c.Gateway.Implementation = vnf.ImplementationUserspace }, "encryptionGateway.implementation: IPsec is the kernel's"},
		"threads of a kernel": {gateway, func(c *vnf.Config) { c.Gateway.Threads = 2 },
			"encryptionGateway.threads: 2"},
		"port":             {gateway, func(c *vnf.Config) { c.Gateway.Port = "north" }, "encryptionGateway.port: "},
		"local":            {gateway, func(c *vnf.Config) { c.Gateway.Local = netip.MustParseAddr("198.18.1.9") }, "encryptionGateway.local: "},
		"local IPv6":       {gateway, func(c *vnf.Config) { c.Gateway.Local = netip.MustParseAddr("2001:2:0:1::1") }, "encryptionGateway.local: "},
		"peer":             {gateway, func(c *vnf.Config) { c.Gateway.Peer = netip.MustParseAddr("198.18.1.9") }, "encryptionGateway.peer: "},
		"no networks":      {gateway, func(c *vnf.Config) { c.Gateway.RemoteNetworks = nil }, "encryptionGateway.remoteNetworks: "},
		"host bits":        {gateway, func(c *vnf.Config) { c.Gateway.LocalNetworks[0] = netip.MustParsePrefix("198.18.128.1/17") }, "encryptionGateway.localNetworks[0]: "},
		"network between":  {gateway, func(c *vnf.Config) { c.Gateway.LocalNetworks[0] = netip.MustParsePrefix("198.18.0.0/16") }, "encryptionGateway.localNetworks[0]: "},
		"network of world": {gateway, func(c *vnf.Config) { c.Gateway.LocalNetworks[0] = netip.MustParsePrefix("0.0.0.0/0") }, "encryptionGateway.localNetworks[0]: "},
		"tunnel too large": {gateway, func(c *vnf.Config) { c.Ports[1].MTUBytes = 1559 }, "encryptionGateway.tunnelMTUBytes: 1500 is not between 1280 and 1499"},
		"tunnel too small": {gateway, func(c *vnf.Config) { c.Gateway.TunnelMTUBytes = 1279 }, "encryptionGateway.tunnelMTUBytes: "},
		"listen port":      {gateway, func(c *vnf.Config) { c.Gateway.ListenPort = 0 }, "encryptionGateway.listenPort: "},
		"no key file":      {gateway, func(c *vnf.Config) { c.Gateway.Keys.Preshared = "" }, "encryptionGateway.keys.preshared: "},
		"key elsewhere":    {gateway, func(c *vnf.Config) { c.Gateway.Keys.Private = "../private" }, "encryptionGateway.keys.private: "},
		"reserved SPI":     {ipsecGateway, func(c *vnf.Config) { c.Gateway.SPIOut = 255 }, "encryptionGateway.spiOut: "},
		"same SPI":         {ipsecGateway, func(c *vnf.Config) { c.Gateway.SPIIn = c.Gateway.SPIOut }, "encryptionGateway.spiOut: "},
		"no IPsec key":     {ipsecGateway, func(c *vnf.Config) { c.Gateway.Keys.In = "" }, "encryptionGateway.keys.in: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := tc.config()
			tc.change(config)
			err := config.Validate()
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want it to start with %q", err, tc.want)
			}
		})
	}
}

// TestGatewaySysctls checks that WireGuard's interface inherits its parameters, because it is made when
// they can no longer be written.
func TestGatewaySysctls(t *testing.T) {
	inherited := 0
	for _, sysctl := range gateway().Sysctls() {
		if strings.Contains(sysctl.Key, ".default.") {
			inherited++
		}
	}
	if inherited != 5 || len(router().Sysctls()) != len(ipsecGateway().Sysctls()) {
		t.Errorf("%d are inherited, want 5, and none but with WireGuard", inherited)
	}
}

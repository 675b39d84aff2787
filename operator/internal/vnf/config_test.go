package vnf_test

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/vnf"
)

const routerJSON = `{
  "function": "Router",
  "name": "router-0",
  "ports": [
    {"name": "west", "interface": "net1", "mac": "02:00:00:00:00:02", "mtuBytes": 1500,
     "addresses": ["198.18.0.2/24", "2001:2::2/64"]},
    {"name": "east", "mac": "02:00:00:00:01:01", "mtuBytes": 1500,
     "addresses": ["198.18.1.1/24", "2001:2:0:1::1/64"]}
  ],
  "routes": [
    {"destination": "198.18.2.0/24", "via": "198.18.1.2", "port": "east"},
    {"destination": "2001:2:0:2::/64", "via": "2001:2:0:1::2", "port": "east"}
  ],
  "neighbors": [
    {"address": "198.18.0.1", "mac": "02:00:00:00:00:01", "port": "west"},
    {"address": "198.18.1.2", "mac": "02:00:00:00:01:02", "port": "east"},
    {"address": "2001:2:0:1::2", "mac": "02:00:00:00:01:02", "port": "east"}
  ]
}`

func router() *vnf.Config {
	prefix, addr := netip.MustParsePrefix, netip.MustParseAddr
	return &vnf.Config{
		Function: vnf.FunctionRouter,
		Name:     "router-0",
		Ports: []vnf.Port{
			{Name: "west", Interface: "net1", MAC: "02:00:00:00:00:02", MTUBytes: 1500, Addresses: []netip.Prefix{prefix("198.18.0.2/24"), prefix("2001:2::2/64")}},
			{Name: "east", MAC: "02:00:00:00:01:01", MTUBytes: 1500, Addresses: []netip.Prefix{prefix("198.18.1.1/24"), prefix("2001:2:0:1::1/64")}},
		},
		Routes: []vnf.Route{
			{Destination: prefix("198.18.2.0/24"), Via: addr("198.18.1.2"), Port: "east"},
			{Destination: prefix("2001:2:0:2::/64"), Via: addr("2001:2:0:1::2"), Port: "east"},
		},
		Neighbors: []vnf.Neighbor{
			{Address: addr("198.18.0.1"), MAC: "02:00:00:00:00:01", Port: "west"},
			{Address: addr("198.18.1.2"), MAC: "02:00:00:00:01:02", Port: "east"},
			{Address: addr("2001:2:0:1::2"), MAC: "02:00:00:00:01:02", Port: "east"},
		},
	}
}

var byValue = cmp.Options{
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(routerJSON), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := vnf.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(router(), got, byValue); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestRoundTrip(t *testing.T) {
	data, err := json.Marshal(router())
	if err != nil {
		t.Fatal(err)
	}
	got, err := vnf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(router(), got, byValue); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if router().Digest() != got.Digest() {
		t.Errorf("digests %s and %s differ", router().Digest(), got.Digest())
	}
	got.Ports[0].MTUBytes = 9000
	if router().Digest() == got.Digest() {
		t.Error("another configuration has the same digest")
	}
}

func TestParseErrors(t *testing.T) {
	cases := map[string]struct{ from, to, want string }{
		"unknown field":        {`"name": "router-0"`, `"name": "router-0", "rules": 5`, `unknown field "rules"`},
		"unknown nested field": {`"mtuBytes": 1500,`, `"mtuBytes": 1500, "speed": 1,`, `unknown field "speed"`},
		"trailing data":        {`"Router"`, `"Router"`, ""},
		"wrong type":           {`"mtuBytes": 1500,`, `"mtuBytes": "1500",`, "mtuBytes"},
		"no prefix length":     {"198.18.0.2/24", "198.18.0.2", `ports[0].addresses[0]`},
		"bad address":          {`"via": "198.18.1.2"`, `"via": "198.18.1"`, `routes[0].via`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(routerJSON, tc.from, tc.to, 1)
			if name == "trailing data" {
				text, tc.want = text+"{}", "more after the JSON document"
			}
			_, err := vnf.Parse([]byte(text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	prefix, addr := netip.MustParsePrefix, netip.MustParseAddr
	cases := map[string]struct {
		change func(*vnf.Config)
		want   string
	}{
		"unknown function":          {func(c *vnf.Config) { c.Function = "Switch" }, `function: "Switch" is unknown, want one of ["Router"`},
		"no function":               {func(c *vnf.Config) { c.Function = "" }, `function: "" is unknown`},
		"no name":                   {func(c *vnf.Config) { c.Name = "" }, "name: "},
		"one port":                  {func(c *vnf.Config) { c.Ports = c.Ports[:1] }, "ports: 1 given"},
		"port name":                 {func(c *vnf.Config) { c.Ports[0].Name = "West" }, `ports[0].name: "West"`},
		"port name twice":           {func(c *vnf.Config) { c.Ports[1].Name = "west" }, `ports[1].name: "west" is taken`},
		"interface too long":        {func(c *vnf.Config) { c.Ports[0].Interface = "sixteencharacter" }, "ports[0].interface: "},
		"interface leaves its file": {func(c *vnf.Config) { c.Ports[0].Interface = "../all" }, "ports[0].interface: "},
		"interface twice":           {func(c *vnf.Config) { c.Ports[1].Interface = "net1" }, `ports[1].interface: "net1" is taken`},
		"no MAC":                    {func(c *vnf.Config) { c.Ports[0].MAC = "" }, "ports[0].mac: "},
		"long MAC":                  {func(c *vnf.Config) { c.Ports[0].MAC = "02:00:00:00:00:00:00:01" }, "ports[0].mac: "},
		"group MAC":                 {func(c *vnf.Config) { c.Ports[0].MAC = "01:00:5e:00:00:01" }, "ports[0].mac: "},
		"zero MAC":                  {func(c *vnf.Config) { c.Ports[0].MAC = "00:00:00:00:00:00" }, "ports[0].mac: "},
		"MAC twice":                 {func(c *vnf.Config) { c.Ports[1].MAC = c.Ports[0].MAC }, "ports[1].mac: "},
		"no MTU":                    {func(c *vnf.Config) { c.Ports[0].MTUBytes = 0 }, "ports[0].mtuBytes: 0"},
		"MTU too large":             {func(c *vnf.Config) { c.Ports[1].MTUBytes = 65535 }, "ports[1].mtuBytes: 65535"},
		"VLAN 4095":                 {func(c *vnf.Config) { c.Ports[0].VLAN = 4095 }, "ports[0].vlan: 4095 is not between 1 and 4094"},
		"negative VLAN":             {func(c *vnf.Config) { c.Ports[1].VLAN = -1 }, "ports[1].vlan: -1"},
		"no room for the VLAN":      {func(c *vnf.Config) { c.Ports[0].Name, c.Ports[0].VLAN = "port-with-a-name", 1 }, "ports[0].vlan: its interface would be"},
		"no addresses":              {func(c *vnf.Config) { c.Ports[0].Addresses = nil }, "ports[0].addresses: "},
		"missing address":           {func(c *vnf.Config) { c.Ports[0].Addresses[1] = netip.Prefix{} }, "ports[0].addresses[1]: is missing"},
		"address of the world":      {func(c *vnf.Config) { c.Ports[0].Addresses[0] = prefix("10.0.0.1/24") }, "ports[0].addresses[0]: "},
		"network too wide":          {func(c *vnf.Config) { c.Ports[0].Addresses[0] = prefix("198.18.0.1/8") }, "ports[0].addresses[0]: "},
		"networks overlap":          {func(c *vnf.Config) { c.Ports[1].Addresses[0] = prefix("198.18.0.9/16") }, "ports[1].addresses[0]: "},
		"own networks overlap":      {func(c *vnf.Config) { c.Ports[0].Addresses[1] = prefix("198.18.0.9/24") }, "ports[0].addresses[1]: "},
		"neighbor port":             {func(c *vnf.Config) { c.Neighbors[0].Port = "north" }, `neighbors[0].port: no port is called "north"`},
		"neighbor missing":          {func(c *vnf.Config) { c.Neighbors[0].Address = netip.Addr{} }, "neighbors[0].address: is missing"},
		"neighbor elsewhere":        {func(c *vnf.Config) { c.Neighbors[0].Address = addr("198.18.9.1") }, "neighbors[0].address: "},
		"neighbor itself":           {func(c *vnf.Config) { c.Neighbors[0].Address = addr("198.18.0.2") }, "neighbors[0].address: "},
		"neighbor twice":            {func(c *vnf.Config) { c.Neighbors = append(c.Neighbors, c.Neighbors[0]) }, "neighbors[3].address: "},
		"neighbor MAC":              {func(c *vnf.Config) { c.Neighbors[0].MAC = "x" }, "neighbors[0].mac: "},
		"route port":                {func(c *vnf.Config) { c.Routes[0].Port = "" }, "routes[0].port: "},
		"route missing":             {func(c *vnf.Config) { c.Routes[0].Destination = netip.Prefix{} }, "routes[0].destination: is missing"},
		"default route":             {func(c *vnf.Config) { c.Routes[0].Destination = prefix("0.0.0.0/0") }, "routes[0].destination: "},
		"route host bits":           {func(c *vnf.Config) { c.Routes[0].Destination = prefix("198.18.2.1/24") }, "routes[0].destination: "},
		"route twice":               {func(c *vnf.Config) { c.Routes = append(c.Routes, c.Routes[0]) }, "routes[2].destination: "},
		"route to own network":      {func(c *vnf.Config) { c.Routes[0].Destination = prefix("198.18.0.0/24") }, `routes[0].destination: "198.18.0.0/24" is port "west"'s own`},
		"via missing":               {func(c *vnf.Config) { c.Routes[0].Via = netip.Addr{} }, "routes[0].via: is missing"},
		"via elsewhere":             {func(c *vnf.Config) { c.Routes[0].Via = addr("198.18.0.1") }, "routes[0].via: "},
		"via other family":          {func(c *vnf.Config) { c.Routes[0].Via = addr("2001:2:0:1::2") }, "routes[0].via: "},
		"via is not a neighbor":     {func(c *vnf.Config) { c.Routes[0].Via = addr("198.18.1.3") }, "routes[0].via: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := router()
			tc.change(config)
			err := config.Validate()
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want it to start with %q", err, tc.want)
			}
		})
	}
	if err := router().Validate(); err != nil {
		t.Errorf("the valid one: %v", err)
	}
}

func TestSysctls(t *testing.T) {
	for name, tc := range map[string]struct {
		ipv4, ipv6 bool
		want       []string
	}{
		"IPv4": {ipv4: true, want: []string{
			"net.ipv4.conf.net1.forwarding=1", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.net1.rp_filter=0",
		}},
		"IPv6": {ipv6: true, want: []string{
			"net.ipv6.conf.net1.disable_ipv6=0", "net.ipv6.conf.all.forwarding=1", "net.ipv6.conf.net1.forwarding=1", "net.ipv6.conf.net1.accept_ra=0",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, sysctl := range vnf.Sysctls(tc.ipv4, tc.ipv6) {
				got = append(got, sysctl.Name("net1")+"="+sysctl.Value)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("sysctls (-want +got):\n%s", diff)
			}
		})
	}
	tagged := router()
	tagged.Ports[1].VLAN = 100
	if !slices.Contains(tagged.Sysctls(), vnf.Sysctl{Key: "net.ipv4.conf.default.forwarding", Value: "1"}) ||
		slices.ContainsFunc(router().Sysctls(), func(s vnf.Sysctl) bool { return strings.Contains(s.Key, ".default.") }) {
		t.Errorf("the interface for a tag, and it alone, inherits: %v", tagged.Sysctls())
	}
	for name, want := range map[string]bool{"west": false, "east": true} {
		port := tagged.Ports[slices.IndexFunc(tagged.Ports, func(p vnf.Port) bool { return p.Name == name })]
		sysctls := tagged.PortSysctls(port)
		if got := slices.Contains(sysctls, vnf.Sysctl{Key: "net.ipv4.conf.IFNAME.forwarding", Value: "0"}) &&
			slices.Contains(sysctls, vnf.Sysctl{Key: "net.ipv6.conf.IFNAME.disable_ipv6", Value: "1"}); got != want {
			t.Errorf("port %s lets nothing pass that has no tag: %v, want %v", name, got, want)
		}
	}
	sysctl := vnf.Sysctl{Key: "net.ipv4.conf.IFNAME.forwarding", Value: "1"}
	if got, want := sysctl.Path("eth0.100"), "net/ipv4/conf/eth0.100/forwarding"; got != want {
		t.Errorf("path %q, want %q", got, want)
	}
}

//go:build linux

package server

import (
	"flag"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/trex/planning"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	allCapabilities = 1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_NET_RAW | 1<<unix.CAP_IPC_LOCK
	westAddress     = "0000:3b:02.0"
	eastAddress     = "0000:3b:02.1"
)

func streams(directions ...measure.Direction) []measure.Stream {
	var list []measure.Stream
	for _, direction := range directions {
		stream := measure.Stream{
			Direction: direction, SourceMAC: "02:00:00:00:00:01", DestinationMAC: "02:00:00:00:01:01",
			SourceAddress: netip.MustParseAddr("198.18.0.10"), DestinationAddress: netip.MustParseAddr("198.19.0.10"),
		}
		if direction == measure.Reverse {
			stream.SourceMAC, stream.DestinationMAC = "02:00:00:00:00:02", "02:00:00:00:01:02"
		}
		list = append(list, stream)
	}
	return list
}

func config(mode string) Config {
	c := Config{
		Settings: planning.Settings{Mode: mode, CoresPerPort: 1},
		Path: measure.Path{
			Ports:   [2]measure.Port{{Interface: "west"}, {Interface: "east"}},
			Streams: streams(measure.Forward, measure.Reverse),
		},
	}
	if mode == planning.DPDK {
		c.Settings.HugepagesMebibytes = 2048
		c.Settings.Resources = [2]string{"intel.com/west_vfs", "intel.com/east_vfs"}
	}
	return c
}

// cpus returns the CPUs of as many nodes as there are lists.
func cpus(nodes ...[]int) []CPU {
	var list []CPU
	for node, numbers := range nodes {
		for _, number := range numbers {
			list = append(list, CPU{number, node})
		}
	}
	return list
}

// linuxHost returns a host with two interfaces.
func linuxHost(count int) Host {
	host := Host{
		Capabilities: allCapabilities, LockedMemoryBytes: 8 << 20,
		Interfaces: map[string]Interface{"west": {MTU: 1500, Up: true}, "east": {MTU: 1500, Up: true}},
	}
	for number := range count {
		host.CPUs = append(host.CPUs, CPU{Number: number})
	}
	return host
}

func attached(name, address string) Attachment {
	a := Attachment{Interface: name}
	a.DeviceInfo.PCI.Address = address
	return a
}

// dpdkHost returns a host with two virtual functions on node 0.
func dpdkHost() Host {
	function := Device{Vendor: vendorIntel, Model: 0x154c, Driver: driverVFIO, VirtualFunction: true, IOMMUGroup: "81"}
	other := function
	other.IOMMUGroup = "82"
	return Host{
		Capabilities: allCapabilities, LockedMemoryBytes: math.MaxUint64,
		CPUs:        cpus([]int{2, 4, 6, 8}, []int{3, 5, 7, 9}),
		Hugepages:   []HugepageMount{{Directory: "/dev/hugepages", PageKibibytes: 1 << 20, NodePages: 8, LimitBytes: 2 << 30}},
		Attachments: []Attachment{attached("eth0", ""), attached("west", westAddress), attached("east", eastAddress)},
		Devices:     map[string]Device{westAddress: function, eastAddress: other},
		VFIO:        []string{"81", "82", "vfio"},
	}
}

func (h Host) with(change func(*Host)) Host {
	change(&h)
	return h
}

func eachDevice(h *Host, change func(*Device)) {
	for address, device := range h.Devices {
		change(&device)
		h.Devices[address] = device
	}
}

func TestConfigurationGoldens(t *testing.T) {
	for name, test := range map[string]struct {
		config Config
		host   Host
		change func(*Config)
	}{
		"af-packet-2-cpus": {config: config(planning.AFPacket), host: linuxHost(2)},
		"af-packet-8-cpus-jumbo": {config: config(planning.AFPacket), host: linuxHost(8).with(func(h *Host) {
			h.Interfaces["east"] = Interface{MTU: 9000, Up: true}
		}), change: func(c *Config) { c.Settings.CoresPerPort = 2 }},
		"virtual-functions": {config: config(planning.DPDK), host: dpdkHost()},
		"virtual-functions-many-cores": {config: config(planning.DPDK), host: dpdkHost(), change: func(c *Config) {
			c.Settings.CoresPerPort = 3
		}},
		"two-nics-two-nodes": {config: config(planning.DPDK), host: dpdkHost().with(func(h *Host) {
			eachDevice(h, func(d *Device) { d.VirtualFunction, d.Model = false, 0x1572 })
			east := h.Devices[eastAddress]
			east.Node = 1
			h.Devices[eastAddress] = east
		})},
		"e810": {config: config(planning.DPDK), host: dpdkHost().with(func(h *Host) {
			eachDevice(h, func(d *Device) { d.VirtualFunction, d.Model, d.Node = false, 0x1592, 1 })
		}), change: func(c *Config) { c.Settings.CoresPerPort = 2 }},
		"82576": {config: config(planning.DPDK), host: dpdkHost().with(func(h *Host) {
			eachDevice(h, func(d *Device) { d.VirtualFunction, d.Model = false, 0x10c9 })
		})},
		"mlx5": {config: config(planning.DPDK), host: dpdkHost().with(func(h *Host) {
			eachDevice(h, func(d *Device) {
				*d = Device{Vendor: 0x15b3, Model: 0x1017, Driver: driverMLX5}
			})
			h.VFIO, h.Verbs = nil, []string{"rdma_cm", "uverbs0", "uverbs1"}
		})},
		"stateful-vlan-extra": {config: config(planning.AFPacket), host: linuxHost(2), change: func(c *Config) {
			c.Stateful = true
			c.Path.Ports[1].VLAN = 200
			c.Settings.ExtraConfiguration = "low_end_core: 0\nmemory:\n  dp_flows: 1048576\nport_bandwidth_gb: 25\n"
		}},
		"vlan-no-hugepages": {config: config(planning.DPDK), host: dpdkHost(), change: func(c *Config) {
			c.Path.Ports[0].VLAN = 100
			c.Settings.HugepagesMebibytes = 0
		}},
		"one-direction": {config: config(planning.AFPacket), host: linuxHost(2), change: func(c *Config) {
			c.Path.Streams = streams(measure.Forward)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.change != nil {
				test.change(&test.config)
			}
			got, err := Configure(test.config, test.host)
			if err != nil {
				t.Fatal(err)
			}
			var notes strings.Builder
			for _, note := range got.Notes {
				fmt.Fprintf(&notes, "# %s\n", note)
			}
			text := fmt.Sprintf("# %s\n%s%s", strings.Join(got.Arguments, " "), notes.String(), got.File)
			golden := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The result reports what the extra configuration changes.
func TestExtraLowEnd(t *testing.T) {
	for extra, want := range map[string]bool{"low_end: false": false, "low_end: true": true, "rx_desc: 1024": true} {
		c := config(planning.AFPacket)
		c.Settings.ExtraConfiguration = extra
		got, err := Configure(c, linuxHost(2))
		if err != nil || got.LowEnd != want || (len(got.Notes) == 2) != !want {
			t.Errorf("%s: got %+v, %v", extra, got, err)
		}
	}
}

func TestMerge(t *testing.T) {
	content := map[string]any{"version": 2, "platform": map[string]any{"master_thread_id": 1, "rx_thread_id": 2}, "port_info": []any{"ours"}}
	for name, test := range map[string]struct {
		extra  string
		want   map[string]any
		reason string
	}{
		"nothing":        {extra: " \n", want: content},
		"a key is added": {extra: "rx_desc: 1024", want: map[string]any{"version": 2, "platform": content["platform"], "port_info": content["port_info"], "rx_desc": int64(1024)}},
		"a mapping is merged, a list is replaced": {
			extra: "platform: {rx_thread_id: 7}\nport_info: [theirs]",
			want:  map[string]any{"version": 2, "platform": map[string]any{"master_thread_id": 1, "rx_thread_id": int64(7)}, "port_info": []any{"theirs"}},
		},
		"a list":           {extra: "- rx_desc: 1024", reason: v1alpha1.ReasonInvalidGeneratorConfiguration},
		"no YAML":          {extra: "a: [", reason: v1alpha1.ReasonInvalidGeneratorConfiguration},
		"a key twice":      {extra: "a: 1\na: 2", reason: v1alpha1.ReasonInvalidGeneratorConfiguration},
		"interfaces":       {extra: "interfaces: [eth0]", reason: v1alpha1.ReasonInvalidGeneratorConfiguration},
		"the server's own": {extra: "zmq_rpc_port: 5501", reason: v1alpha1.ReasonInvalidGeneratorConfiguration},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := merge(content, test.extra)
			if measure.ReasonOf(err) != test.reason {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(normal(t, test.want), normal(t, got)); err == nil && diff != "" {
				t.Error(diff)
			}
		})
	}
	if diff := cmp.Diff(map[string]any{"master_thread_id": 1, "rx_thread_id": 2}, content["platform"]); diff != "" {
		t.Errorf("the user's mapping changed ours: %s", diff)
	}
}

// normal returns a content as it would be written.
func normal(t *testing.T, content map[string]any) string {
	t.Helper()
	written, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(written)
}

// A failure reports what is wrong with a pod by its reason, and by words that name it.
func TestPreflight(t *testing.T) {
	linux, dpdk := func() Host { return linuxHost(2) }, dpdkHost
	for name, test := range map[string]struct {
		mode   string
		host   Host
		change func(*Config)
		reason string
		words  []string
	}{
		"all is there":          {mode: planning.AFPacket, host: linux()},
		"all is there for DPDK": {mode: planning.DPDK, host: dpdk()},
		"resources instead of Multus": {mode: planning.DPDK, host: dpdk().with(func(h *Host) {
			h.Attachments = nil
			h.PCIVariables = map[string]string{"PCIDEVICE_INTEL_COM_WEST_VFS": westAddress, "PCIDEVICE_INTEL_COM_EAST_VFS": eastAddress, "PCIDEVICE_INTEL_COM_EAST_VFS_INFO": "{}"}
		})},
		"no root": {mode: planning.AFPacket, host: linux().with(func(h *Host) { h.UID = 65532 }), reason: v1alpha1.ReasonNotRoot, words: []string{"65532", "runAsUser"}},
		"two capabilities missing": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { h.Capabilities = 1 << unix.CAP_NET_RAW }),
			reason: v1alpha1.ReasonCapabilityMissing, words: []string{"add NET_ADMIN, IPC_LOCK to", "close TRex's TCP ports"}},
		"NET_RAW missing": {mode: planning.AFPacket, host: linux().with(func(h *Host) { h.Capabilities = 1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_IPC_LOCK }),
			reason: v1alpha1.ReasonCapabilityMissing, words: []string{"add NET_RAW to"}},
		"rings beyond the limit of locked memory": {mode: planning.AFPacket, host: linux().with(func(h *Host) { h.Capabilities &^= 1 << unix.CAP_IPC_LOCK }),
			reason: v1alpha1.ReasonCapabilityMissing, words: []string{"add IPC_LOCK to"}},
		"rings within the limit of locked memory": {mode: planning.AFPacket, host: linux().with(func(h *Host) {
			h.Capabilities &^= 1 << unix.CAP_IPC_LOCK
			h.LockedMemoryBytes = 32 << 20
		})},
		"rings in a pod with its own user namespace": {mode: planning.AFPacket, host: linux().with(func(h *Host) {
			h.UserNamespace = true
			h.Interfaces["west"] = Interface{MTU: 9000, Up: true}
		}), reason: v1alpha1.ReasonLockedMemoryLimit, words: []string{"88 MiB", "8 MiB"}},
		"no interface": {mode: planning.AFPacket, host: linux().with(func(h *Host) { delete(h.Interfaces, "east") }), reason: v1alpha1.ReasonPortMissing, words: []string{`"east"`}},
		"an interface down": {mode: planning.AFPacket, host: linux().with(func(h *Host) { h.Interfaces["west"] = Interface{} }),
			reason: v1alpha1.ReasonPortDown, words: []string{`"west"`}},
		"one port twice": {mode: planning.AFPacket, host: linux(), change: func(c *Config) { c.Path.Ports[1] = c.Path.Ports[0] }, reason: v1alpha1.ReasonInvalidPath},
		"no CPU":         {mode: planning.AFPacket, host: linux().with(func(h *Host) { h.CPUs = nil }), reason: v1alpha1.ReasonTooFewCores},
		"too few CPUs": {mode: planning.DPDK, host: dpdk(), change: func(c *Config) { c.Settings.CoresPerPort = 4 },
			reason: v1alpha1.ReasonTooFewCores, words: []string{"needs 10 CPUs", "has 8 of 8", "coresPerPort"}},
		"CPUs that TRex does not know": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { h.CPUs = cpus([]int{1, 2, 120, 121}) }),
			reason: v1alpha1.ReasonTooFewCores, words: []string{"has 2 of 4", "below number 120"}},
		"a node that TRex does not know": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { eachDevice(h, func(d *Device) { d.Node = 4 }) }), reason: v1alpha1.ReasonInvalidPath},
		"a device of no resource": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { h.Attachments = nil }),
			reason: v1alpha1.ReasonPortMissing, words: []string{"intel.com/west_vfs"}},
		"two devices of one resource": {mode: planning.DPDK, host: dpdk().with(func(h *Host) {
			h.Attachments, h.PCIVariables = nil, map[string]string{"PCIDEVICE_INTEL_COM_WEST_VFS": westAddress + "," + eastAddress}
		}), change: func(c *Config) { c.Settings.Resources[1] = c.Settings.Resources[0] },
			reason: v1alpha1.ReasonPortMissing, words: []string{westAddress, "network status"}},
		"a device of another node": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { delete(h.Devices, eastAddress) }),
			reason: v1alpha1.ReasonPortMissing, words: []string{eastAddress}},
		"one device for both ports": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { h.Attachments[2] = attached("east", westAddress) }), reason: v1alpha1.ReasonPortMissing},
		"two kinds of devices": {mode: planning.DPDK, host: dpdk().with(func(h *Host) {
			h.Devices[eastAddress] = Device{Vendor: vendorIntel, Driver: driverVFIO, IOMMUGroup: "82"}
		}),
			reason: v1alpha1.ReasonInvalidPath, words: []string{"virtual function"}},
		"a device of the kernel": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { eachDevice(h, func(d *Device) { d.Driver = "iavf" }) }),
			reason: v1alpha1.ReasonDeviceUnusable, words: []string{`"iavf"`, "vfio-pci"}},
		"a device without a driver": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { eachDevice(h, func(d *Device) { d.Driver = "" }) }), reason: v1alpha1.ReasonDeviceUnusable},
		"no container of VFIO": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { h.VFIO = []string{"81", "82"} }),
			reason: v1alpha1.ReasonDeviceUnusable, words: []string{"/dev/vfio/vfio"}},
		"no group of VFIO": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { h.VFIO = []string{"81", "vfio"} }),
			reason: v1alpha1.ReasonDeviceUnusable, words: []string{"/dev/vfio/82", eastAddress}},
		"no IOMMU": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { h.VFIO = []string{"noiommu-81", "noiommu-82", "vfio"} }),
			reason: v1alpha1.ReasonDeviceUnusable, words: []string{"IOMMU is off"}},
		"no verbs": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { eachDevice(h, func(d *Device) { d.Driver = driverMLX5 }) }),
			reason: v1alpha1.ReasonDeviceUnusable, words: []string{"uverbs"}},
		"no hugepages mounted": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { h.Hugepages = nil }), reason: v1alpha1.ReasonHugepagesMissing, words: []string{"/dev/hugepages"}},
		"no hugepages on the node": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { h.Hugepages[0].NodePages = 0 }),
			reason: v1alpha1.ReasonHugepagesMissing, words: []string{"none"}},
		"fewer hugepages than asked for": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { h.Hugepages[0].LimitBytes = 1 << 30 }),
			reason: v1alpha1.ReasonHugepagesMissing, words: []string{"2048 MiB", "1024 MiB"}},
		"a limit that the capability lifts": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { h.LockedMemoryBytes = 64 << 10 })},
		"a limit that it does not lift": {mode: planning.DPDK, host: dpdk().with(func(h *Host) { h.LockedMemoryBytes, h.UserNamespace = 8<<20, true }),
			reason: v1alpha1.ReasonLockedMemoryLimit, words: []string{"2048 MiB", "8 MiB"}},
		"connections in one direction": {mode: planning.AFPacket, host: linux(), change: func(c *Config) {
			c.Stateful, c.Path.Streams = true, streams(measure.Forward)
		}, reason: v1alpha1.ReasonInvalidPath},
		"no stream": {mode: planning.AFPacket, host: linux(), change: func(c *Config) { c.Path.Streams = nil }, reason: v1alpha1.ReasonInvalidPath},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(test.mode)
			if test.change != nil {
				test.change(&c)
			}
			c = c.withDefaults()
			ports, err := findPorts(c, test.host)
			if err == nil {
				err = check(c, test.host, ports)
			}
			if err == nil {
				_, err = configure(c, test.host, ports)
			}
			if (err == nil) != (test.reason == "") || measure.ReasonOf(err) != test.reason {
				t.Fatalf("got %v, want reason %q", err, test.reason)
			}
			for _, words := range test.words {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%q does not say %q", err, words)
				}
			}
		})
	}
}

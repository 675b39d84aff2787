//go:build linux

package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const (
	// publisherPort and rpcPort are TRex's own (platform_cfg.h).
	publisherPort = 4500
	rpcPort       = 4501

	// maxCPUs and maxNodes are limits compiled into TRex (MAX_THREADS_SUPPORTED and
	// MAX_SOCKETS_SUPPORTED in trex_defs.h).
	maxCPUs  = 120
	maxNodes = 4
	// ownThreads are the master and the receiving thread.
	ownThreads = 2

	// ringFrames is for each port and direction, with AFPacket: with fewer the generator
	// itself loses frames.
	ringFrames = 4096
	// ringFrameBytes is DPDK's own size, which has room for smallMTU with an Ethernet
	// header, a tag and the kernel's header.
	ringFrameBytes = 2048
	ringBlockBytes = 65_536
	smallMTU       = 1900
	// jumboFrameBytes and jumboBlockBytes are TRex's own for jumbo frames
	// (check_pdev_vdev_dummy in main_dpdk.cpp).
	jumboFrameBytes = 9280
	jumboBlockBytes = 593_920

	// receiveDescriptors is for a virtual function, for which TRex takes only 512
	// (RX_DESC_NUM_DATA_Q_VM); the driver itself reduces it to what it has.
	receiveDescriptors = 4096
	// memoryWithoutHugepages in MiB is what TRex takes for virtual devices.
	memoryWithoutHugepages = 1024

	// packetSocketMemory in MiB is enough for TRex's pools with two ports; TRex would
	// take 1024 for packet sockets.
	packetSocketMemory = 512

	vendorIntel = 0x8086
)

// modelsE810 are the model numbers of Intel E810 (ice_devids.h). TRex's own regression
// does not test its filters for them (release notes of 2.99 and 3.07).
var modelsE810 = []uint16{0x1591, 0x1592, 0x1593, 0x1599, 0x159a, 0x159b}

// modelsIGB are the model numbers of Intel's gigabit NICs that DPDK's driver e1000_igb drives (e1000_hw.h), without the I350:
// 82575, 82576, 82580, DH89xxCC, I210, I211 and I354. TRex writes the filters of the I350, and its manual (--software) says
// to do without for the others.
var modelsIGB = []uint16{
	0x0438, 0x043a, 0x043c, 0x0440, 0x10a7, 0x10a9, 0x10c9, 0x10d6, 0x10e6, 0x10e7, 0x10e8, 0x150a, 0x150d, 0x150e, 0x150f,
	0x1510, 0x1511, 0x1516, 0x1518, 0x1526, 0x1527, 0x1533, 0x1534, 0x1535, 0x1536, 0x1537, 0x1538, 0x1539, 0x157b, 0x157c,
	0x15f6, 0x1f40, 0x1f41, 0x1f45,
}

// fixedKeys of the configuration follow from the path, and the measurer depends on them.
var fixedKeys = []string{"interfaces", "interfaces_vdevs", "port_limit", "zmq_pub_port", "zmq_rpc_port", "telnet_port", "ezqm_ch_port"}

// Configuration is what the server starts with.
type Configuration struct {
	// File is the content of trex_cfg.yaml, Arguments the command line.
	File      []byte
	Arguments []string
	// Addresses are the PCI addresses of the path's ports, west first; empty for packet sockets.
	Addresses [2]string
	// WholeNICs says that the ports are NICs whose MAC addresses nothing sets.
	WholeNICs bool
	// LowEnd says that all threads share one CPU and sleep between polls of the ports, so
	// that delays are more TRex's than the path's.
	LowEnd bool
	// Software says that TRex, and not the NIC, sorts and counts what arrives.
	Software bool
	// Threads is the number of sending threads.
	Threads int
	// Notes are sentences about choices that differ from the request, or that affect the
	// figures: for measure.Description's Fallbacks.
	Notes []string
}

// Configure makes the server's configuration from a driver's settings and what the pod
// has. It is pure.
func Configure(c Config, host Host) (Configuration, error) {
	c = c.withDefaults()
	ports, err := findPorts(c, host)
	if err != nil {
		return Configuration{}, err
	}
	return configure(c, host, ports)
}

func configure(c Config, host Host, ports [2]trexPort) (Configuration, error) {
	made := Configuration{
		Addresses: [2]string{ports[0].address, ports[1].address}, WholeNICs: c.dpdk() && !ports[0].device.VirtualFunction,
	}
	content := map[string]any{"version": 2, "interfaces": interfaces(c, ports)}
	info, err := portInfo(c)
	if err != nil {
		return made, err
	}
	content["port_info"] = info
	made.setDevices(c, ports, content)
	made.countThreads(c)
	if err := made.placeThreads(c, host, ports, content); err != nil {
		return made, err
	}
	if content, err = merge(content, c.Settings.ExtraConfiguration); err != nil {
		return made, err
	}
	if lowEnd, set := content["low_end"].(bool); set && lowEnd != made.LowEnd {
		made.LowEnd = lowEnd
		made.note("the extra configuration sets low_end to %t: with it, TRex's threads share a CPU and sleep up to 1 ms between checks of the ports, which is in every delay", lowEnd)
	}
	file, err := yaml.Marshal([]any{content})
	if err != nil {
		return made, fmt.Errorf("writing TRex's configuration: %w", err)
	}
	made.File = file
	made.Arguments = made.arguments(c, ports)
	return made, nil
}

// interfaces returns the ports by TRex's names: PCI addresses, or DPDK's virtual devices
// for packet sockets.
func interfaces(c Config, ports [2]trexPort) []any {
	var list []any
	for i, port := range ports {
		if c.dpdk() {
			list = append(list, port.address)
			continue
		}
		device := fmt.Sprintf("--vdev=net_af_packet%d,iface=%s,framecnt=%d,", i, port.name, ringFrames)
		frame, block := port.ring()
		device += fmt.Sprintf("framesz=%d,blocksz=%d,", frame, block)
		// Without it, frames wait in the interface's queue and count as sent.
		list = append(list, device+"qdisc_bypass=1")
	}
	return list
}

// ring returns the size of a packet socket's frames and of the blocks that hold them.
func (p trexPort) ring() (frameBytes, blockBytes int) {
	if p.mtu > smallMTU {
		return jumboFrameBytes, jumboBlockBytes
	}
	return ringFrameBytes, ringBlockBytes
}

// portInfo gives each port its MAC and the one that it sends to. The plan knows both, so
// nothing is resolved and nothing waits for ARP.
func portInfo(c Config) ([]any, error) {
	var own, next [2]string
	for _, stream := range c.Path.Streams {
		port := 0
		if stream.Direction == measure.Reverse {
			port = 1
		}
		own[port], next[port] = stream.SourceMAC, stream.DestinationMAC
	}
	var list []any
	for port := range own {
		entry := map[string]any{}
		switch {
		case own[port] != "" && next[port] != "":
			entry["src_mac"], entry["dest_mac"] = own[port], next[port]
		case c.Stateful:
			return nil, failure(v1alpha1.ReasonInvalidPath, "give the path a stream in each direction, with both MACs",
				"connections need both directions, and nothing says where port %q sends to", c.Path.Ports[port].Interface)
		case own[1-port] == "":
			return nil, failure(v1alpha1.ReasonInvalidPath, "give the path a stream with both MACs", "no stream says what the ports' MACs are")
		default:
			// It sends nothing, but TRex requires a destination for every port.
			entry["dest_mac"] = own[1-port]
		}
		if vlan := c.Path.Ports[port].VLAN; c.Stateful && vlan != 0 {
			entry["vlan"] = vlan
		}
		list = append(list, entry)
	}
	return list, nil
}

// countThreads sets how many threads send. TRex's belong to a pair of ports and send at
// both, so N at each port are 2 N.
func (made *Configuration) countThreads(c Config) {
	perPort := max(1, c.Settings.CoresPerPort)
	made.Threads = 2 * perPort
	switch {
	case !c.dpdk():
		made.Threads = 1
		if perPort > 1 {
			made.note("coresPerPort is %d, and packet sockets have one queue: one thread sends at both ports", perPort)
		}
	case made.Software && perPort == 1:
		// One queue, which the receiving thread reads itself (CDpdkMode_ONE_QUE in trex_modes.cpp).
		made.Threads = 1
		made.note("one thread sends at both ports: with more, software passes timed frames from thread to thread, which is in their delays")
	case made.Software:
		made.note("with %d threads and no filters of the NIC, software passes timed frames from thread to thread, which is in their delays", made.Threads)
	}
}

// placeThreads gives TRex its CPUs: the first of the pod's to the master, the second to
// the receiving thread, and of the rest those of the ports' NUMA node to the sending
// threads.
func (made *Configuration) placeThreads(c Config, host Host, ports [2]trexPort, content map[string]any) error {
	var usable []CPU
	for _, cpu := range host.CPUs {
		if cpu.Number < maxCPUs {
			usable = append(usable, cpu)
		}
	}
	needed := ownThreads + made.Threads
	if !c.dpdk() && len(usable) < needed {
		if len(host.CPUs) == 0 {
			return failure(v1alpha1.ReasonTooFewCores, "give the traffic pod a CPU", "the traffic pod has no CPU")
		}
		// The last one, because other work uses the first by default.
		core := host.CPUs[len(host.CPUs)-1].Number
		content["low_end"], content["low_end_core"] = true, core
		made.LowEnd = true
		made.note("the pod has %d CPUs of the %d that TRex's threads need: they share CPU %d and sleep up to 1 ms between checks of the ports (low_end), which is in every delay", len(usable), needed, core)
		return nil
	}
	if len(usable) < needed {
		return failure(v1alpha1.ReasonTooFewCores, "give the traffic pod more CPUs, or lower coresPerPort",
			"TRex needs %d CPUs below number %d (one for its master, one to receive, %d to send), and the pod has %d of %d", needed, maxCPUs, made.Threads, len(usable), len(host.CPUs))
	}
	node, rest := usable[ownThreads].Node, slices.Clone(usable[ownThreads:])
	if c.dpdk() {
		node = ports[0].device.Node
		if other := ports[1].device.Node; other != node {
			made.note("port %q is on NUMA node %d and port %q on node %d: TRex keeps the frames of both on node %d, which costs port %q speed", ports[0].name, node, ports[1].name, other, node, ports[1].name)
		}
	}
	if node >= maxNodes {
		return failure(v1alpha1.ReasonInvalidPath, "use a device of a lower node", "port %q is on NUMA node %d, and TRex supports nodes 0 to %d", ports[0].name, node, maxNodes-1)
	}
	near := func(cpu CPU) bool { return cpu.Node == node }
	slices.SortStableFunc(rest, func(a, b CPU) int {
		switch {
		case near(a) == near(b):
			return 0
		case near(a):
			return -1
		}
		return 1
	})
	var threads []any
	far := 0
	for _, cpu := range rest[:made.Threads] {
		threads = append(threads, cpu.Number)
		if !near(cpu) {
			far++
		}
	}
	if far > 0 {
		made.note("%d of the %d CPUs that send are not on NUMA node %d, where the frames are: ask for CPUs of one node (topology manager)", far, made.Threads, node)
	}
	if !c.dpdk() {
		content["limit_memory"] = packetSocketMemory
	}
	content["c"] = made.Threads
	content["platform"] = map[string]any{
		"master_thread_id": usable[0].Number,
		"rx_thread_id":     usable[1].Number,
		"dual_if":          []any{map[string]any{"socket": node, "threads": threads}},
	}
	return nil
}

// setDevices sets what depends on the kind of the devices and of the memory.
func (made *Configuration) setDevices(c Config, ports [2]trexPort, content map[string]any) {
	if !c.dpdk() {
		made.Software = true
		return
	}
	device := ports[0].device
	switch {
	case device.VirtualFunction:
		made.Software = true
		content["rx_desc"] = receiveDescriptors
		made.note("the ports are virtual functions, whose filters are the physical function's: TRex sorts and counts what arrives by software")
	case device.Vendor == vendorIntel && slices.Contains(modelsE810, device.Model):
		made.Software = true
		made.note("the ports are Intel E810, whose filters TRex's own tests leave out: TRex sorts and counts what arrives by software")
	case device.Vendor == vendorIntel && slices.Contains(modelsIGB, device.Model):
		made.Software = true
		made.note("the ports are gigabit NICs of Intel that are no I350, for whose filters alone TRex is made: TRex sorts and counts what arrives by software")
	}
	if c.Settings.HugepagesMebibytes > 0 {
		content["limit_memory"] = c.Settings.HugepagesMebibytes
		return
	}
	content["ext_dpdk_opt"] = []any{"--no-huge", "-m", fmt.Sprint(memoryWithoutHugepages)}
	made.note("there are no hugepages: TRex's memory is in small pages, which costs speed")
}

func (made *Configuration) arguments(c Config, ports [2]trexPort) []string {
	arguments := []string{"-i", "--cfg", c.configurationPath(), "--iom", "0", "--no-key", "--no-termio"}
	if c.Stateful {
		arguments = append(arguments, "--astf")
	} else {
		arguments = append(arguments, "--hdrh")
		if c.Path.HasVLAN() {
			arguments = append(arguments, "--vlan")
		}
	}
	if c.dpdk() && made.Software {
		arguments = append(arguments, "--software")
	}
	if made.WholeNICs {
		// Frames return to the plan's MAC addresses.
		arguments = append(arguments, "--prom")
	}
	if ports[0].device.Driver == driverMLX5 {
		arguments = append(arguments, "--mlx5-so")
	}
	return arguments
}

func (made *Configuration) note(format string, args ...any) {
	made.Notes = append(made.Notes, fmt.Sprintf(format, args...))
}

// merge applies a user's mapping to the configuration: it merges mappings key by key, and
// replaces anything else.
func merge(content map[string]any, extra string) (map[string]any, error) {
	if strings.TrimSpace(extra) == "" {
		return content, nil
	}
	refuse := func(format string, args ...any) error {
		return failure(v1alpha1.ReasonInvalidGeneratorConfiguration, "correct extraConfiguration: a mapping by TRex's own names, such as rx_desc: 4096",
			"the extra configuration for TRex cannot be used: %w", fmt.Errorf(format, args...))
	}
	var user map[string]any
	if err := yaml.UnmarshalStrict([]byte(extra), &user); err != nil {
		return nil, refuse("it is no mapping: %w", err)
	}
	for _, key := range fixedKeys {
		if _, set := user[key]; set {
			return nil, refuse("%q is not its to set, as ports and the server's address follow from the testbed", key)
		}
	}
	return overlay(content, user), nil
}

func overlay(below, above map[string]any) map[string]any {
	result := maps.Clone(below)
	for key, value := range above {
		lower, wasMap := result[key].(map[string]any)
		upper, isMap := value.(map[string]any)
		if wasMap && isMap {
			value = overlay(lower, upper)
		}
		result[key] = value
	}
	return result
}

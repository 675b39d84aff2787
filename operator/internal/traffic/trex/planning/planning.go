// Package planning is what the operator knows about TRex: its limits, what it refuses,
// its settings and what its pod needs. It does not import the driver.
package planning

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator"
	"vnfbench.io/operator/internal/measure"
)

// Name is the driver's.
const Name = v1alpha1.DriverTRex

const (
	// MaxFrameBytes is the largest frame, check sequence included, that TRex takes for a
	// stream: MAX_PKT_SIZE of its captureFile.h. Every MTU that the API allows is less.
	MaxFrameBytes = 9*1024 + 22 + measure.FrameCheckSequenceBytes

	// maxExtraConfigurationBytes bounds what a testbed adds to TRex's configuration.
	maxExtraConfigurationBytes = 4096
	// maxDirectoryBytes bounds what TRex may write into the node's file system.
	maxDirectoryBytes = 64 << 20
)

// Generator is TRex. Its streams are whole packets, each field of a frame takes a
// separate random value, and it reports the last value of RFC 3550's jitter and no difference
// of one frame and the next. Its stateful mode has a TCP implementation, which sends no VLAN tags
// here.
var Generator = &generator.Generator{
	Name:     Name,
	Limits:   generator.Limits{MaxFrameBytes: MaxFrameBytes, Stateful: &generator.StatefulLimits{CongestionControls: CongestionControls}},
	OwnImage: &generator.OwnImage{Guide: "how-to/trex.md of the vnfbench documentation", Rebuild: "make trex-image"},
	// For the server, its packet buffers in mode AFPacket, and the measurer.
	DefaultMemory: "1Gi",
	Check: func(testbed *v1alpha1.Testbed) *measure.Failure {
		_, failure := extraConfiguration(testbed)
		return failure
	},
	Pod:      pod,
	Settings: settings,
}

// reservedConfiguration is what only the measurer configures: which ports TRex takes, and
// where it listens. A server elsewhere would be open to others.
var reservedConfiguration = []string{"ezqm_ch_port", "interfaces", "interfaces_vdevs", "port_limit", "telnet_port", "zmq_pub_port", "zmq_rpc_port"}

func usesDPDK(testbed *v1alpha1.Testbed) bool {
	asked := testbed.Spec.Generator.TRex
	return asked != nil && asked.Mode == v1alpha1.TRexDPDK
}

// capabilities are those of the server and of the measurer that starts it.
//
// NET_RAW opens the packet sockets of mode AFPacket, and the raw queues of NICs that
// share themselves with the kernel (mlx5). NET_ADMIN sets the ports' promiscuous mode and
// lets the measurer close the server's control ports in the pod's network namespace.
// IPC_LOCK keeps in place what NIC or kernel and TRex share, beyond the limit of locked
// memory: hugepages with mode DPDK, and with mode AFPacket the sockets' rings, of 16 MiB
// a port, which DPDK locks too (MAP_LOCKED in rte_eth_af_packet.c). TRex requires user 0.
var capabilities = []corev1.Capability{"IPC_LOCK", "NET_ADMIN", "NET_RAW"}

func pod(testbed *v1alpha1.Testbed) generator.Pod {
	p := generator.Pod{
		Capabilities: capabilities,
		Directories: []generator.Directory{
			{Name: "scratch", Path: "/tmp", MaxBytes: maxDirectoryBytes},
			// It holds the sockets and files of DPDK's runtime.
			{Name: "dpdk", Path: "/var/run/dpdk", MaxBytes: maxDirectoryBytes},
		},
		OwnsPorts: usesDPDK(testbed),
	}
	if p.OwnsPorts && testbed.Spec.Generator.TRex.Hugepages != nil {
		pages := testbed.Spec.Generator.TRex.Hugepages
		p.Hugepages = &generator.Hugepages{PageSize: pages.PageSize, Bytes: pages.Memory.Bytes()}
	}
	return p
}

func settings(testbed *v1alpha1.Testbed, ports [2]generator.Port) (any, error) {
	asked := testbed.Spec.Generator.TRex
	if asked == nil {
		return nil, measure.Failf(v1alpha1.ReasonInvalidGeneratorConfiguration, "set the testbed's spec.generator.trex",
			"testbed %q has driver %s without its settings", testbed.Name, Name)
	}
	extra, failure := extraConfiguration(testbed)
	if failure != nil {
		return nil, failure
	}
	s := Settings{Mode: string(asked.Mode), CoresPerPort: int(asked.CoresPerPort), ExtraConfiguration: extra}
	if pages := pod(testbed).Hugepages; pages != nil {
		s.HugepagesMebibytes = pages.Bytes >> 20
	}
	if !usesDPDK(testbed) {
		return s, nil
	}
	// Mode DPDK needs a device plugin's device at each port. Admission refuses all
	// attachments that never have one.
	for i, port := range ports {
		if port.ResourceName == "" {
			return nil, measure.Failf(v1alpha1.ReasonResourceMissing,
				fmt.Sprintf("annotate the network %q with k8s.v1.cni.cncf.io/resourceName, or use another attachment in the testbed's spec.ports.%s", port.Network, port.Side),
				"generator.trex.mode DPDK takes a device that a device plugin gives, but the network of port %s names no resource", port.Side)
		}
		s.Resources[i] = port.ResourceName
	}
	return s, nil
}

// extraConfiguration returns what the testbed adds to TRex's configuration, as YAML with
// sorted keys, or "" if it adds nothing.
func extraConfiguration(testbed *v1alpha1.Testbed) (string, *measure.Failure) {
	asked := testbed.Spec.Generator.TRex
	if asked == nil || asked.ExtraConfiguration == "" {
		return "", nil
	}
	invalid := func(remedy, format string, arguments ...any) *measure.Failure {
		return measure.Failf(v1alpha1.ReasonInvalidGeneratorConfiguration, remedy,
			"the testbed's spec.generator.trex.extraConfiguration "+format, arguments...)
	}
	var mapping map[string]any
	if err := yaml.Unmarshal([]byte(asked.ExtraConfiguration), &mapping); err != nil {
		return "", invalid("make it a mapping", "is none: %w", err)
	}
	if len(mapping) == 0 {
		return "", nil
	}
	for _, key := range reservedConfiguration {
		if _, found := mapping[key]; found {
			return "", invalid(fmt.Sprintf("leave %s out; the ports are those of spec.ports", key),
				"has %s, which the measurer alone sets, like all of %s", key, strings.Join(reservedConfiguration, ", "))
		}
	}
	text, err := yaml.Marshal(mapping)
	if err != nil {
		return "", invalid("make it a mapping of numbers, texts and lists", "cannot be written as YAML: %w", err)
	}
	if len(text) > maxExtraConfigurationBytes {
		return "", invalid(fmt.Sprintf("shorten it to %d bytes", maxExtraConfigurationBytes), "has %d bytes as YAML", len(text))
	}
	return string(text), nil
}

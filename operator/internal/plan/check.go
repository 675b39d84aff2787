package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

const (
	// headerBytes is what a frame adds to its IP packet: Ethernet II and the check sequence.
	headerBytes = 14 + measure.FrameCheckSequenceBytes

	// minMTUBytes is what IPv6 asks of every link (RFC 8200 section 5),
	// and functions carry both families.
	minMTUBytes = 1280
)

func fail(reason, remedy, format string, arguments ...any) error {
	return &measure.Failure{Reason: reason, Remedy: remedy, Err: fmt.Errorf(format, arguments...)}
}

func checkAttachments(in Input) error {
	offered := in.Testbed.Spec.SystemUnderTest.Attachments
	for _, function := range in.Run.Spec.Experiment.Chain {
		for _, port := range []struct {
			name       string
			attachment v1alpha1.Attachment
		}{
			{InterfaceWest, function.EffectiveAttachment(function.West)},
			{InterfaceEast, function.EffectiveAttachment(function.East)},
		} {
			if slices.Contains(offered, port.attachment) {
				continue
			}
			return fail(v1alpha1.ReasonAttachmentNotOffered,
				fmt.Sprintf("ask for one of these in the run's spec.experiment.chain, or add %s to the testbed's spec.systemUnderTest.attachments if its nodes have it", port.attachment),
				"port %s of function %q asks for attachment %s, but testbed %q offers %v",
				port.name, function.Name, port.attachment, in.Testbed.Name, offered)
		}
	}
	return nil
}

// checkRealtime checks that the testbed offers what a virtual machine asks for: its vCPUs run
// before every other thread of the node.
func checkRealtime(in Input) error {
	for i := range in.Run.Spec.Experiment.Chain {
		f := &in.Run.Spec.Experiment.Chain[i]
		if f.Platform == nil || f.Platform.Realtime != v1alpha1.RealtimeEnabled || in.Testbed.Spec.SystemUnderTest.Realtime == v1alpha1.RealtimeEnabled {
			continue
		}
		return fail(v1alpha1.ReasonRealtimeNotOffered,
			fmt.Sprintf("set platform.realtime of function %q to Disabled, or the testbed's spec.systemUnderTest.realtime to Enabled", f.Name),
			"function %q asks for platform.realtime, which testbed %q does not offer", f.Name, in.Testbed.Name)
	}
	return nil
}

func checkFrames(in Input) error {
	if err := checkMTU("the testbed's spec.ports.mtuBytes", int(in.Testbed.Spec.Ports.MTUBytes)); err != nil {
		return err
	}
	for _, function := range in.Run.Spec.Experiment.Chain {
		for _, port := range []struct {
			name string
			mtu  *int32
		}{{InterfaceWest, function.West.MTUBytes}, {InterfaceEast, function.East.MTUBytes}} {
			if port.mtu == nil {
				continue
			}
			if err := checkMTU(fmt.Sprintf("%s.mtuBytes of function %q in the run's spec.experiment.chain", port.name, function.Name), int(*port.mtu)); err != nil {
				return err
			}
		}
	}
	if !in.Run.Spec.Experiment.Measurements.HaveFrames() {
		return nil
	}
	traffic := in.Run.Spec.Experiment.Traffic
	for i, size := range traffic.Sizes() {
		field := "frameBytes"
		if i >= len(traffic.FrameBytes) {
			field = "frameRanges"
		}
		if err := checkFrame(in, field, int(size)); err != nil {
			return err
		}
	}
	if err := checkPackets(in); err != nil {
		return err
	}
	return checkMixes(in)
}

func checkMTU(field string, mtu int) error {
	if mtu >= minMTUBytes {
		return nil
	}
	return fail(v1alpha1.ReasonFrameTooLarge, fmt.Sprintf("raise %s to at least %d", field, minMTUBytes),
		"%s is %d, but functions carry IPv6 too, which asks every link for packets of %d bytes (RFC 8200 section 5)",
		field, mtu, minMTUBytes)
}

// checkFrame compares a frame size of a field of the traffic with everything that carries it.
func checkFrame(in Input, field string, size int) error {
	mtu := int(in.Testbed.Spec.Ports.MTUBytes)
	if size > mtu+headerBytes {
		return fail(v1alpha1.ReasonFrameTooLarge,
			fmt.Sprintf("lower the run's spec.experiment.traffic.%s, or raise the testbed's spec.ports.mtuBytes if its ports carry more", field),
			"frames of %d bytes do not fit the ports of testbed %q: with mtuBytes %d they carry frames of at most %d bytes",
			size, in.Testbed.Name, mtu, mtu+headerBytes)
	}
	for _, function := range in.Run.Spec.Experiment.Chain {
		for _, port := range []struct {
			name string
			mtu  int
		}{{InterfaceWest, mtuOf(function.West, in.Testbed)}, {InterfaceEast, mtuOf(function.East, in.Testbed)}} {
			if size > port.mtu+headerBytes {
				return fail(v1alpha1.ReasonFrameTooLarge,
					fmt.Sprintf("lower the run's spec.experiment.traffic.%s, or raise %s.mtuBytes of function %q in spec.experiment.chain", field, port.name, function.Name),
					"frames of %d bytes do not fit port %s of function %q: with mtuBytes %d it carries frames of at most %d bytes",
					size, port.name, function.Name, port.mtu, port.mtu+headerBytes)
			}
		}
	}
	if most := maxFrameBytes(in); size > most {
		return fail(v1alpha1.ReasonFrameTooLarge, fmt.Sprintf("lower the run's spec.experiment.traffic.%s to at most %d, or send larger packets in fragments with spec.experiment.traffic.packets", field, most),
			"frames of %d bytes are more than the %s driver can send, which is %d", size, in.Testbed.Spec.Generator.Driver, most)
	}
	return nil
}

// checkNetworks checks that Multus is there, because it attaches every port of a run, and the
// networks that the testbed names.
func checkNetworks(in Input) error {
	if in.Networks == nil {
		return fail(v1alpha1.ReasonNetworkAttachmentMissing, "install Multus on the cluster",
			"the cluster does not know the kind NetworkAttachmentDefinition of k8s.cni.cncf.io/v1, by which pods get their traffic ports")
	}
	var missing []string
	for _, side := range []struct {
		name string
		port v1alpha1.TestbedPort
	}{{InterfaceWest, in.Testbed.Spec.Ports.West}, {InterfaceEast, in.Testbed.Spec.Ports.East}} {
		if side.port.Attachment != v1alpha1.PortNetworkAttachmentDefinition {
			continue
		}
		field := "spec.ports." + side.name + ".networkAttachmentDefinition."
		network := side.port.NetworkAttachmentDefinition
		missing = append(missing, missingNetwork(in, network.GeneratorRef, field+"generatorRef")...)
		if network.DeviceRef != nil {
			missing = append(missing, missingNetwork(in, *network.DeviceRef, field+"deviceRef")...)
		}
	}
	for i, network := range in.Testbed.Spec.Ports.CalibrationNetworks {
		missing = append(missing, missingNetwork(in, network, fmt.Sprintf("spec.ports.calibrationNetworks[%d]", i))...)
	}
	if len(missing) == 0 {
		return nil
	}
	return fail(v1alpha1.ReasonNetworkAttachmentMissing,
		fmt.Sprintf("create them, or correct the testbed's spec.ports of %q", in.Testbed.Name),
		"there is no NetworkAttachmentDefinition %s that the operator may see", strings.Join(missing, ", "))
}

func missingNetwork(in Input, network v1alpha1.NetworkReference, field string) []string {
	var end End
	if joinNetwork(in, &end, network); in.Networks[end.NetworkKey()] {
		return nil
	}
	return []string{fmt.Sprintf("%q in namespace %q (%s)", network.Name, cmp.Or(network.Namespace, in.Run.Namespace), field)}
}

// checkRepeats refuses more repeats than the API's schema allows. The trials of a run that a cluster with an older schema has taken with
// more would not fit into memory before checkSize can refuse them.
func checkRepeats(in Input) error {
	if repeats := in.Run.Spec.Experiment.Measurements.Repeats; repeats > v1alpha1.MaxRepeats {
		return fail(v1alpha1.ReasonInvalidConfiguration, "lower the run's spec.experiment.measurements.repeats",
			"measurements.repeats is %d, and %d is the most", repeats, v1alpha1.MaxRepeats)
	}
	return nil
}

// checkSize refuses a run whose results would be full before it ends, hours later.
func checkSize(instructions measure.Instructions) error {
	expected := procedure.ExpectedBytes(instructions)
	if expected <= measure.MaximumResultsBytes {
		return nil
	}
	return fail(v1alpha1.ReasonResultsTooLarge,
		"lower the run's spec.experiment.traffic.frameBytes, or what makes trials in spec.experiment.measurements (repeats, or the settings of that stage), and make more runs",
		"the trials of all %d frame sizes take about %d KiB, most of them in stage %s, and the results hold %d KiB",
		len(instructions.Sizes), expected>>10, procedure.LargestStage(instructions), measure.MaximumResultsBytes>>10)
}

package report

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// trafficFacts say how the traffic differs from one flow of equal frames, each
// direction with the same load; nothing where it does not.
func trafficFacts(t v1alpha1.Traffic) []fact {
	var facts []fact
	if t.Flows > 1 {
		facts = append(facts, fact{"Flows", flowsInWords(t)})
	}
	for _, mix := range t.IMIX {
		facts = append(facts, fact{"Mix " + mix.Name, mixInWords(mix)})
	}
	for _, packet := range t.Packets {
		facts = append(facts, fact{fmt.Sprintf("Packet of %d bytes", packet.PayloadBytes),
			fmt.Sprintf("sent in IP fragments, goes by %d frame bytes; its loads, rates and counts are those of whole packets", packet.FrameBytes(t.IPFamily))})
	}
	return facts
}

// mixInWords has the sizes with their weights and, since the order matters to
// a device, how they follow.
func mixInWords(mix v1alpha1.FrameMix) string {
	var parts []string
	for _, frame := range mix.Weighted() {
		parts = append(parts, fmt.Sprintf("%d of %d bytes", frame.Weight, frame.FrameBytes))
	}
	return fmt.Sprintf("%s, evenly spread, %d bytes in the mean", strings.Join(parts, ", "), mix.MeanFrameBytes())
}

// frameName is the size of a result's frames, with the name of their mix or
// the payload of their packet.
func frameName(frame v1alpha1.FrameResult) string {
	if p := frame.Packet; p != nil {
		return packetName(frame.FrameBytes, p.PayloadBytes)
	}
	if frame.Mix == "" {
		return count(frame.FrameBytes)
	}
	return fmt.Sprintf("%s %d", frame.Mix, frame.FrameBytes)
}

func packetName[T, U ~int | ~int32](frameBytes T, payloadBytes U) string {
	return fmt.Sprintf("packet %d %d", payloadBytes, frameBytes)
}

// sentName is the same of a trial.
func sentName(trial measure.Trial) string {
	if p := trial.Packet; p != nil {
		return packetName(trial.FrameBytes, p.PayloadBytes)
	}
	if trial.Mix == nil {
		return count(trial.FrameBytes)
	}
	return fmt.Sprintf("%s %d", trial.Size, trial.FrameBytes)
}

func flowsInWords(t v1alpha1.Traffic) string {
	fields := make([]string, len(t.FlowVariation))
	for i, field := range t.FlowVariation {
		fields[i] = string(field)
	}
	order := "one after the other"
	if t.FlowOrder == v1alpha1.FlowsRandom {
		order = fmt.Sprintf("in random order from seed %d", t.FlowSeed)
	}
	return fmt.Sprintf("%d of each direction, told apart by %s, %s", t.Flows, strings.Join(fields, " and "), order)
}

// asymmetric says that the reverse direction carries a share of the load.
func asymmetric(t v1alpha1.Traffic) bool {
	return t.ReversePercent > 0 && t.ReversePercent < 100 &&
		t.Directions != v1alpha1.DirectionsForward && t.Directions != v1alpha1.DirectionsReverse
}

func rateScope(t v1alpha1.Traffic) RateScope {
	if asymmetric(t) {
		return ForwardDirection
	}
	return EachDirection
}

func ratesInWords(t v1alpha1.Traffic) string {
	if asymmetric(t) {
		return fmt.Sprintf("of the forward direction; the reverse one carries %d %% of them", t.ReversePercent)
	}
	return "of each direction"
}

package report

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// trafficFacts returns how the traffic differs from one flow of equal frames, each
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
			fmt.Sprintf("sent in IP fragments, is named %s; its loads, rates and counts are those of whole packets", packet.SizeName())})
	}
	return facts
}

// mixInWords returns the sizes with their weights and, because the order matters to
// a device, their sequence.
func mixInWords(mix v1alpha1.FrameMix) string {
	var parts []string
	for _, frame := range mix.Weighted() {
		parts = append(parts, fmt.Sprintf("%d of %d bytes", frame.Weight, frame.FrameBytes))
	}
	return fmt.Sprintf("%s, evenly spread, %d bytes on average", strings.Join(parts, ", "), mix.MeanFrameBytes())
}

// frameName returns a size's name for people, with the bytes where they are not the name.
func frameName(frame v1alpha1.FrameResult) string {
	return namedSize(frame.Size, int(frame.FrameBytes))
}

// sizeWords returns the same within a sentence.
func sizeWords(frame v1alpha1.FrameResult) string { return frameName(frame) + " bytes" }

func namedSize(size string, frameBytes int) string {
	if bytes := count(frameBytes); size != bytes {
		return size + " " + bytes
	}
	return size
}

// sentName returns the same for a trial.
func sentName(trial measure.Trial) string {
	return namedSize(trial.Size, trial.FrameBytes)
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
	return fmt.Sprintf("%d of each direction, distinguished by %s, %s", t.Flows, strings.Join(fields, " and "), order)
}

// asymmetric reports whether the reverse direction carries a share of the load.
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

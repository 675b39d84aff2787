package measure

import "fmt"

// FlowField is a part of the headers that can distinguish flows.
type FlowField string

const (
	FlowSourceAddress      FlowField = "SourceAddress"
	FlowDestinationAddress FlowField = "DestinationAddress"
	FlowSourcePort         FlowField = "SourcePort"
	FlowDestinationPort    FlowField = "DestinationPort"
)

// MaximumFlows is the largest number of flows in a stream.
const MaximumFlows = 1_000_000

// FlowFields are all fields with the number of their values: source ports from 1024,
// destination ports from 1 to 49151 (RFC 4814 section 4.5), and the hosts of the network
// that the plan routes. Destination addresses have one value less than possible, a prime:
// no two fields wrap at the same time before MaximumFlows, so any two that count up
// together distinguish all flows.
var FlowFields = []struct {
	Field  FlowField
	Values int
}{
	{FlowSourceAddress, 32_766},
	{FlowDestinationAddress, 32_749},
	{FlowSourcePort, 65_536 - FirstSourcePort},
	{FlowDestinationPort, 49_152 - FirstDestinationPort},
}

// The first values of varied ports.
const (
	FirstSourcePort      = 1024
	FirstDestinationPort = 1
)

// Flows are many flows in one stream. Flow n has, in each field that varies, the stream's
// own value plus n, which wraps after the field's last value.
type Flows struct {
	// Count is 2 to MaximumFlows.
	Count int `json:"count"`
	// Fields lists each field that varies once.
	Fields []FlowField `json:"fields"`
	// Random takes each frame's flow from a pseudo-random sequence of the seed,
	// the same in every trial; otherwise flows follow one after the other.
	Random bool   `json:"random,omitempty"`
	Seed   uint64 `json:"seed,omitempty"`
}

// Check returns why a stream cannot have these flows.
func (f Flows) Check() error {
	if f.Count < 1 || f.Count > MaximumFlows {
		return fmt.Errorf("%d flows: there can be 1 to %d", f.Count, MaximumFlows)
	}
	seen := map[FlowField]bool{}
	highest := 1
	for _, field := range f.Fields {
		values := field.values()
		if values == 0 || seen[field] {
			return fmt.Errorf("field %q of the flows is unknown or there twice", field)
		}
		seen[field] = true
		highest = max(highest, values)
	}
	if len(seen) < 2 && f.Count > highest {
		return fmt.Errorf("%d flows in %v, which has %d values", f.Count, f.Fields, highest)
	}
	return nil
}

func (f FlowField) values() int {
	for _, known := range FlowFields {
		if known.Field == f {
			return known.Values
		}
	}
	return 0
}

// Values returns the number of different values of a field in these flows; 1 if it does not
// vary.
func (f Flows) Values(field FlowField) int {
	for _, varied := range f.Fields {
		if varied == field {
			return min(f.Count, field.values())
		}
	}
	return 1
}

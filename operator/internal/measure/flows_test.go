package measure

import "testing"

// TestTwoFieldsTellAllFlowsApart checks the promise of FlowFields: any two fields wrap at
// the same time only after MaximumFlows.
func TestTwoFieldsTellAllFlowsApart(t *testing.T) {
	divisor := func(a, b int) int {
		for b != 0 {
			a, b = b, a%b
		}
		return a
	}
	for i, a := range FlowFields {
		for _, b := range FlowFields[i+1:] {
			if together := a.Values / divisor(a.Values, b.Values) * b.Values; together < MaximumFlows {
				t.Errorf("%s and %s repeat after %d flows", a.Field, b.Field, together)
			}
		}
	}
}

func TestFlowsCheck(t *testing.T) {
	for name, c := range map[string]struct {
		flows Flows
		good  bool
	}{
		"two ports":            {Flows{Count: 2, Fields: []FlowField{FlowSourcePort}}, true},
		"all source ports":     {Flows{Count: 64512, Fields: []FlowField{FlowSourcePort}}, true},
		"too many for a field": {Flows{Count: 64513, Fields: []FlowField{FlowSourcePort}}, false},
		"a million in two":     {Flows{Count: MaximumFlows, Fields: []FlowField{FlowSourceAddress, FlowDestinationAddress}}, true},
		"more than a million":  {Flows{Count: MaximumFlows + 1, Fields: []FlowField{FlowSourceAddress, FlowSourcePort}}, false},
		"none":                 {Flows{Fields: []FlowField{FlowSourcePort}}, false},
		"no field":             {Flows{Count: 2}, false},
		"a field twice":        {Flows{Count: 2, Fields: []FlowField{FlowSourcePort, FlowSourcePort}}, false},
		"an unknown field":     {Flows{Count: 2, Fields: []FlowField{"Color"}}, false},
	} {
		if err := c.flows.Check(); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

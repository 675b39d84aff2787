//go:build linux

package kernel

import (
	"slices"
	"testing"

	"vnfbench.io/operator/internal/vnf"
)

// TestEveryFunctionHasItsPart checks that only the router does no more than forward.
func TestEveryFunctionHasItsPart(t *testing.T) {
	for _, name := range vnf.Functions() {
		if _, found := parts[name]; found == (name == vnf.FunctionRouter) {
			t.Errorf("function %s has a part: %t", name, found)
		}
	}
	for name := range parts {
		if !slices.Contains(vnf.Functions(), name) {
			t.Errorf("%s is not a function", name)
		}
	}
}

// Package registry lists the traffic generators that testbeds may name. A new one is a
// line here, and one in cmd/measurer, which opens its driver.
package registry

import (
	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator"
	trex "vnfbench.io/operator/internal/traffic/trex/planning"
	xdp "vnfbench.io/operator/internal/traffic/xdp/planning"
)

var generators = []*generator.Generator{
	xdp.Generator,
	trex.Generator,
}

// All returns the generators, the API's default first.
func All() []*generator.Generator { return generators }

// Of returns the generator with a name, the API's default if the name is empty, or nil if
// there is none.
func Of(name v1alpha1.GeneratorDriver) *generator.Generator {
	for _, g := range generators {
		if g.Name == name || name == "" {
			return g
		}
	}
	return nil
}

// Offering names the generators whose limits fit.
func Offering(fits func(generator.Limits) bool) []v1alpha1.GeneratorDriver {
	var names []v1alpha1.GeneratorDriver
	for _, g := range generators {
		if fits(g.Limits) {
			names = append(names, g.Name)
		}
	}
	return names
}

package main

import (
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
)

// severalLimits reports whether a class has no one limit: it depends on the load where a search
// begins, or on the time.
func (c Class) severalLimits() bool {
	return slices.Contains([]string{"two bands", "less loss at more load", "slowing down"}, c.Name)
}

// above returns why the intervals of a class hold the truth more often than in 97 %, and false
// where they must not.
func (c Class) above(method v1alpha1.SearchMethod) (why string, known bool) {
	why, known = reasonsAbove[c.Name][method]
	return why, known
}

// Reasons why an interval that is rightly made holds the truth more often than it says.
const (
	// limitAtEnd: the limit of every device of the class is at one place of its brackets, so an
	// interval holds it always or never.
	limitAtEnd = "the search tries the very rate that the device forwards, so the limit is the lower end of every bracket"
	// lessThanWidth: a change that the width hides is no drift.
	lessThanWidth = "the device changes by less than a width in five searches, and the interval holds all of that"
	// noiseWithin: brackets that are alike say too little of the noise.
	noiseWithin = "noise within the width puts the limit at an end of its brackets, and an interval that leaves out 5 % of them misses it too often"
	// noiseLowers: the limits that repeats find have a skewed distribution.
	noiseLowers = "noise ends a search too low and hardly ever too high, and the interval reaches to the highest upper bound"
)

// reasonsFew say why the few intervals of a class that withholds almost all miss the truth. What is right of such a class is
// that they are withheld.
var reasonsFew = map[string]map[v1alpha1.SearchMethod]string{
	"slowing down": {v1alpha1.MethodRFC2544: "five repeats with three pairs of equal bounds are too likely by chance to be called a drift"},
}

var reasonsAbove = map[string]map[v1alpha1.SearchMethod]string{
	"hard cap":               {v1alpha1.MethodMLRsearch: limitAtEnd},
	"two bands":              {v1alpha1.MethodMLRsearch: limitAtEnd},
	"less loss at more load": {v1alpha1.MethodMLRsearch: limitAtEnd},
	"slowing down":           {v1alpha1.MethodMLRsearch: lessThanWidth},
	"cap, quiet":             {v1alpha1.MethodMLRsearch: noiseWithin, v1alpha1.MethodRFC2544: noiseWithin},
	"cap, mild noise":        {v1alpha1.MethodMLRsearch: noiseWithin, v1alpha1.MethodRFC2544: noiseWithin},
	"knee, quiet":            {v1alpha1.MethodMLRsearch: noiseWithin, v1alpha1.MethodRFC2544: noiseWithin},
	"knee, mild noise":       {v1alpha1.MethodMLRsearch: noiseWithin, v1alpha1.MethodRFC2544: noiseWithin},
	"cap, strong noise":      {v1alpha1.MethodMLRsearch: noiseLowers, v1alpha1.MethodRFC2544: noiseLowers},
	"knee, strong noise":     {v1alpha1.MethodMLRsearch: noiseLowers},
	"stalls":                 {v1alpha1.MethodMLRsearch: noiseLowers, v1alpha1.MethodRFC2544: noiseLowers},
}

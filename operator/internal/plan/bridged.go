package plan

import "vnfbench.io/operator/api/v1alpha1"

// isBridging reports whether a function joins its segments on layer 2, so that the functions on
// both sides of it are next to each other.
func isBridging(function v1alpha1.NetworkFunction) bool {
	return plannerOf(function.Function).bridges(function)
}

// network returns the number of the IP network of a segment: segments that bridging functions
// join are one network, with the number of the westernmost.
func network(chain []v1alpha1.NetworkFunction, segment int) int {
	for segment > 0 && isBridging(chain[segment-1]) {
		segment--
	}
	return segment
}

// nextWest returns the port that a frame reaches to the west over a segment, and nextEast the
// one to the east: that of the next function that routes, or the generator's.
func nextWest(chain []v1alpha1.NetworkFunction, segments []Segment, segment int) End {
	return segments[network(chain, segment)].West
}

func nextEast(chain []v1alpha1.NetworkFunction, segments []Segment, segment int) End {
	for segment < len(chain) && isBridging(chain[segment]) {
		segment++
	}
	return segments[segment].East
}

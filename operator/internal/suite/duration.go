package suite

import "vnfbench.io/operator/api/v1alpha1"

// EstimatedSeconds returns how long all measurements take by the plans of their cells.
func EstimatedSeconds(cells []v1alpha1.SuiteCell) int64 {
	var sum int64
	for i := range cells {
		sum += cells[i].EstimatedSeconds * int64(len(cells[i].Measurements))
	}
	return sum
}

// RemainingSeconds returns how long the measurements take that have not ended. The plans leave out what they cannot know, as
// the start of a chain; so the measurements that have ended say how much longer than planned one takes.
func RemainingSeconds(cells []v1alpha1.SuiteCell) int64 {
	var planned, taken, left int64
	for i := range cells {
		for _, m := range cells[i].Measurements {
			switch {
			case !Ended(m.State):
				left += cells[i].EstimatedSeconds
			case m.Seconds > 0 && m.State == v1alpha1.MeasurementSucceeded:
				planned, taken = planned+cells[i].EstimatedSeconds, taken+m.Seconds
			}
		}
	}
	if planned > 0 {
		left = int64(float64(left) * float64(taken) / float64(planned))
	}
	return left
}

// Ended reports whether a measurement will not be made any more.
func Ended(state v1alpha1.MeasurementState) bool {
	switch state {
	case v1alpha1.MeasurementSucceeded, v1alpha1.MeasurementFailed, v1alpha1.MeasurementSkipped:
		return true
	}
	return false
}

// StateOf returns the state of a cell from those of its measurements.
func StateOf(measurements []v1alpha1.SuiteMeasurement) v1alpha1.MeasurementState {
	count := map[v1alpha1.MeasurementState]int{}
	for _, m := range measurements {
		count[m.State]++
	}
	switch {
	case count[v1alpha1.MeasurementRunning] > 0:
		return v1alpha1.MeasurementRunning
	case count[v1alpha1.MeasurementPending] == len(measurements):
		return v1alpha1.MeasurementPending
	case count[v1alpha1.MeasurementPending] > 0:
		return v1alpha1.MeasurementRunning
	case count[v1alpha1.MeasurementFailed] > 0:
		return v1alpha1.MeasurementFailed
	case count[v1alpha1.MeasurementSkipped] > 0:
		return v1alpha1.MeasurementSkipped
	}
	return v1alpha1.MeasurementSucceeded
}

package v1alpha1

// idleFramesPerSecond is the load called idle.
const idleFramesPerSecond = 1000

// MeasuredLoads returns the loads that are measured: the run's own, or those of its preset. The
// policies in config/admission have the same names.
func (l *Latency) MeasuredLoads() []LatencyLoad {
	if len(l.Loads) > 0 {
		return l.Loads
	}
	rate := int64(idleFramesPerSecond)
	idle := LatencyLoad{Name: "idle", FramesPerSecond: &rate}
	share := func(name, goal string, percent int32) LatencyLoad {
		return LatencyLoad{Name: name, Goal: goal, Percent: &percent}
	}
	switch l.Preset {
	case PresetCSIT:
		return []LatencyLoad{idle, share("pdr10", "PDR", 10), share("pdr50", "PDR", 50), share("pdr90", "PDR", 90)}
	case PresetNDR95:
		return []LatencyLoad{idle, share("ndr95", "NDR", 95)}
	case PresetRFC2544:
		return []LatencyLoad{share("ndr100", "NDR", 100)}
	}
	return []LatencyLoad{idle, share("pdr50", "PDR", 50), share("pdr90", "PDR", 90)}
}

package search

import "time"

// Lab returns the pair of goals for everyday use: NDR without loss and PDR with 0.1 %, trials of
// 1 s, bounds within 2 %. RFC 2544 section 24 asks for 60 s, so a report has to name the
// deviation.
func Lab() []Goal {
	goal := Goal{RelativeWidth: 0.02, FinalTrial: time.Second, DurationSum: time.Second}
	return pair(goal, 0.001)
}

// RFC2544 returns the goal that RFC 9971 states as unconditionally compliant with RFC 2544
// section 24, with a width of the caller's choice: RFC 2544 gives no stop rule. Section 24 lets
// shorter trials search: set InitialTrial and PrecedingTargets, and only the loads near the
// answer take 60 s.
func RFC2544(width float64) Goal {
	return Goal{Name: "RFC2544", RelativeWidth: width, FinalTrial: time.Minute, DurationSum: time.Minute}
}

// TST009 returns the goal that RFC 9971 states for ETSI GS NFV-TST 009's binary search with loss
// verification, max(r) = 2, z = infinity.
func TST009(width float64) Goal {
	return Goal{Name: "TST009", RelativeWidth: width, ExceedRatio: 0.5, FinalTrial: time.Minute, DurationSum: 2 * time.Minute}
}

// CSIT returns the pair of goals of the FD.io CSIT project: NDR and PDR with 0.5 %.
func CSIT() []Goal {
	goal := Goal{
		RelativeWidth: 0.005, ExceedRatio: 0.5, FinalTrial: time.Second, DurationSum: 21 * time.Second,
		InitialTrial: time.Second, PrecedingTargets: 2,
	}
	return pair(goal, 0.005)
}

func pair(goal Goal, partialLoss float64) []Goal {
	ndr, pdr := goal, goal
	ndr.Name = "NDR"
	pdr.Name, pdr.LossRatio = "PDR", partialLoss
	return []Goal{ndr, pdr}
}

package report

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
)

func frameLossRateSection(doc Document) section {
	s := section{title: "Frame loss rate", columns: []column{
		number("Size"), number("% of maximum"), number("Intended kfps"), number("Offered kfps"), number("Forwarded kfps"), number("Loss %"),
		left(pointDoubts),
	}}
	for _, frame := range doc.Results {
		curve := frame.FrameLossRate
		if curve == nil {
			continue
		}
		s.notes = append(s.notes, fmt.Sprintf("%s: 100 %% is %s kfps, %s; %s.", sizeWords(frame),
			kiloFrames(curve.MaximumFramesPerSecond), maximumOrigin(curve.MaximumOrigin), curveEnd(curve.End)))
		for _, p := range curve.Points {
			s.rows = append(s.rows, []string{
				frameName(frame), count(p.Percent), kiloFrames(p.IntendedFramesPerSecond), kiloFrames(p.OfferedFramesPerSecond),
				kiloFrames(p.ForwardingFramesPerSecond), percentOfMillion(p.LossPartsPerMillion), orNone(codes(p.Doubts)),
			})
		}
	}
	return dropIfEmpty(s, pointDoubts)
}

// pointDoubts is the head of the column with the doubts about a point's trial.
const pointDoubts = "Doubts"

func maximumOrigin(origin v1alpha1.MaximumOrigin) string {
	switch origin {
	case v1alpha1.MaximumSpec:
		return "as the run asks"
	case v1alpha1.MaximumCalibration:
		return "what the generator reached without a device"
	}
	return "line rate"
}

func curveEnd(end v1alpha1.LossCurveEnd) string {
	if end == v1alpha1.EndTwoTrialsWithoutLoss {
		return "the last two trials lost nothing"
	}
	return "the lowest load was reached before two trials in a row lost nothing"
}

func frameLossRateDeviations(spec *v1alpha1.FrameLossRate) []string {
	if spec == nil {
		return nil
	}
	if got := milliseconds(spec.TrialMilliseconds); got != 0 && got < rfc2544Trial {
		return []string{fmt.Sprintf("frame loss rate: trials last %s, RFC 2544 section 24 asks for %s", brief(got), brief(rfc2544Trial))}
	}
	return nil
}

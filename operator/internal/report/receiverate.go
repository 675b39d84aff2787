package report

func receiveRateSection(doc Document, l letters) section {
	s := section{title: "Forwarding rate at maximum load", columns: []column{
		number("Size"), number("Intended kfps"), number("Mean kfps"), number("Min kfps"), number("Max kfps"), number("Stdev kfps"),
		number("Trials"), number("Loss ppm"),
	}}
	for _, frame := range doc.Results {
		r := frame.ReceiveRate
		if r == nil {
			continue
		}
		intended, loss := "maximum", int64(0)
		if r.IntendedFramesPerSecond > 0 {
			intended = kiloFrames(r.IntendedFramesPerSecond)
		}
		for _, trial := range r.Trials {
			loss = max(loss, trial.LossPartsPerMillion)
		}
		mean := kiloFrames(r.MeanFramesPerSecond)
		if loss == 0 {
			mean = l.atLeast + mean
		}
		s.rows = append(s.rows, []string{
			frameName(frame), intended, mean, kiloFrames(r.MinFramesPerSecond), kiloFrames(r.MaxFramesPerSecond),
			kiloFrames(r.StandardDeviationFramesPerSecond), count(len(r.Trials)), count(loss),
		})
	}
	if len(s.rows) > 0 {
		s.notes = []string{"The loss is that of the worst trial."}
	}
	return s
}

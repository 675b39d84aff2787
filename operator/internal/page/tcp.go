package page

import (
	"math"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plot"
)

// tcp returns TCP's goodput over the number of connections, and over the time of the latest repeat.
func (r run) tcp() (out []Figure) {
	if r.TCP == nil {
		return nil
	}
	var goodput, sent []plot.Layer
	n := 0
	for i, direction := range []string{"Forward", "Reverse"} {
		line, values := plot.Line{Name: inDirection(direction), Style: i, Marked: true}, plot.Marks{Name: "each repeat", Style: 2 + i, Marker: plot.Plus}
		for _, s := range first(r.TCP.Streams, maxDrawn) {
			for _, d := range s.Directions {
				if d.Direction != direction {
					continue
				}
				n++
				line.Points = append(line.Points, plot.Point{X: float64(s.Streams), Y: float64(d.GoodputBitsPerSecond) / 1e6})
				for _, statistics := range d.Statistics {
					if statistics.Metric == v1alpha1.MetricTCPGoodput {
						for _, v := range first(statistics.Values, maxPoints) {
							values.Points = append(values.Points, plot.Point{X: float64(s.Streams), Y: float64(v) / 1e6})
						}
					}
				}
				intervals := plot.Line{Name: inDirection(direction) + ", " + r.about(v1alpha1.FigureKey{Streams: s.Streams}), Style: len(sent), Steps: true}
				for _, at := range first(d.Intervals, maxPoints) {
					intervals.Points = append(intervals.Points, plot.Point{X: float64(at.StartMilliseconds) / 1e3, Y: float64(at.SentBitsPerSecond) / 1e6})
				}
				if len(intervals.Points) > 1 {
					sent = append(sent, intervals)
				}
			}
		}
		if len(line.Points) > 0 {
			goodput = append(goodput, line)
		}
		if len(values.Points) > 0 {
			goodput = append(goodput, values)
		}
	}
	out = draw("TCP goodput over the number of connections", count(n, "figure")+". Goodput is the payload that the receiving program read.", plot.Chart{
		Description: "The goodput of all connections of a direction together.",
		X:           plot.Axis{Label: "connections", FromZero: true, Whole: true}, Y: plot.Axis{Label: "goodput, Mbit/s", FromZero: true}, Layers: goodput,
	})
	return append(out, draw("TCP over time, the latest repeat", "What the sending program wrote in each interval.", plot.Chart{
		Description: "The rate that was sent in each interval.",
		X:           plot.Axis{Label: "time, s", FromZero: true}, Y: plot.Axis{Label: "sent, Mbit/s", FromZero: true}, Layers: sent,
	})...)
}

// connections returns how many connections were established of those that were intended.
func (r run) connections() []Figure {
	if r.Connections == nil {
		return nil
	}
	var names []string
	intended, established := plot.Marks{Name: "intended", Style: 6, Marker: plot.Diamond}, plot.Marks{Name: "established", Style: 0, Marker: plot.Dot}
	repeats := plot.Marks{Name: "each repeat", Style: 2, Marker: plot.Plus}
	for row, l := range first(r.Connections.Loads, maxDrawn) {
		names = append(names, l.Name)
		mark := func(m *plot.Marks, value int64) {
			m.Points = append(m.Points, plot.Point{X: float64(value), Y: float64(row)})
		}
		if l.EstablishedConnectionsPerSecond == nil {
			continue
		}
		mark(&intended, l.IntendedConnectionsPerSecond)
		mark(&established, *l.EstablishedConnectionsPerSecond)
		for _, statistics := range l.Statistics {
			for _, v := range first(statistics.Values, maxPoints) {
				mark(&repeats, v)
			}
		}
	}
	layers := []plot.Layer{intended, established}
	if len(repeats.Points) > 0 {
		layers = append(layers, repeats)
	}
	return draw("Connections established", count(len(names), "load")+". Loads that hold connections are in the table alone.", plot.Chart{
		Description: "For each load how many connections per second were intended and established.",
		X:           plot.Axis{Label: "connections/s", FromZero: true}, Y: plot.Axis{Categories: names}, Layers: layers,
	})
}

// differences returns the section of what neighbors and time changed.
func (r run) differences() Section {
	s := Section{ID: "differences", Title: "Neighbors and baseline"}
	if r.NoisyNeighbors != nil {
		var d differences
		for _, c := range r.NoisyNeighbors.Comparison {
			d.add(r.metricOf(c.FigureKey), c.DifferencePartsPerMillion, c.DifferenceLowPartsPerMillion, c.DifferenceHighPartsPerMillion)
		}
		s.Figures = append(s.Figures, d.figure("What the neighbors changed", "Each figure with the neighbors against the same without them. Where there is an interval, it is the 95 % interval of pairs of repeats.")...)
	}
	if r.Baseline != nil {
		var d differences
		for _, f := range r.Baseline.Figures {
			d.add(r.metricOf(f.FigureKey), f.DifferencePartsPerMillion, nil, nil)
		}
		s.Figures = append(s.Figures, d.figure("Against the baseline "+r.Baseline.RunRef.Name, "Each figure of this run against that of the earlier run. Whether a difference is more than chance is in the table.")...)
	}
	return s
}

// differences are shares by which figures changed.
type differences struct {
	names, texts []string
	values       plot.Marks
	intervals    plot.Intervals
}

// add adds a difference in parts per million, which may be unknown, as may its interval.
func (d *differences) add(name string, difference, low, high *int64) {
	if difference == nil || len(d.names) == maxDrawn {
		return
	}
	row := len(d.names)
	d.names = append(d.names, name)
	value := float64(*difference) / 1e4
	d.values.Points, d.texts = append(d.values.Points, plot.Point{X: value, Y: float64(row)}), append(d.texts, signed(value)+" %")
	if low != nil && high != nil {
		d.intervals.Items = append(d.intervals.Items, plot.Interval{Category: row, Low: float64(*low) / 1e4, High: float64(*high) / 1e4})
	}
}

func (d *differences) figure(caption, note string) []Figure {
	d.values.Name, d.values.Style, d.values.Marker = "difference", 0, plot.Diamond
	d.intervals.Name, d.intervals.Style = "95 % interval", 1
	layers := []plot.Layer{plot.Rule{Style: 6, At: 0, Vertical: true}}
	if len(d.intervals.Items) > 0 {
		layers = append(layers, d.intervals)
	}
	return draw(caption, count(len(d.names), "figure")+". "+note, plot.Chart{
		Description: "By how much each figure differs.",
		X:           plot.Axis{Label: "difference, %", FromZero: true}, Y: plot.Axis{Categories: d.names}, Values: d.texts, Layers: append(layers, d.values),
	})
}

// signed writes a share with its sign.
func signed(percent float64) string {
	percent = math.Round(percent*10) / 10
	if percent > 0 {
		return "+" + plot.Number(percent)
	}
	return plot.Number(percent)
}

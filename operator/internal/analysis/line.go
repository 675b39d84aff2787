package analysis

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"vnfbench.io/operator/internal/statistics"
)

// LineFit is a straight line through points, by least squares.
type LineFit struct {
	// Slope is in units of Y for one of X, Intercept is Y at X = 0.
	Slope     Estimate `json:"slope"`
	Intercept Estimate `json:"intercept"`
	// N is the number of points, R2 the share of the variance that the line explains.
	N  int     `json:"n"`
	R2 float64 `json:"r2"`
	// LackOfFit is how likely a straight line leaves at least this much of the levels' means, by the F test against the scatter of their repeats;
	// nil without repeats. Below 0.01 the points are not on a line, and the slope is only that of the whole range.
	LackOfFit *float64 `json:"lackOfFit,omitempty"`
}

// IsLine reports whether nothing says that the points are not on a straight line.
func (f LineFit) IsLine() bool { return f.LackOfFit == nil || *f.LackOfFit >= lackOfFitLevel }

// Line fits a straight line to three points or more, at two values of X or more. Its error is ErrTooFew for fewer.
func Line(points []Point) (LineFit, error) {
	if err := check(points, 3, 2); err != nil {
		return LineFit{}, err
	}
	x, y := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		x[i], y[i] = p.X, p.Y
	}
	intercept, slope := stat.LinearRegression(x, y, nil, false)
	n, degrees := float64(len(points)), len(points)-2
	middle, squaresX, residual := stat.Mean(x, nil), 0.0, 0.0
	for i := range x {
		off := y[i] - intercept - slope*x[i]
		residual += off * off
		squaresX += (x[i] - middle) * (x[i] - middle)
	}
	t := statistics.StudentT(degrees) * math.Sqrt(residual/float64(degrees))
	fit := LineFit{
		Slope: around(slope, t/math.Sqrt(squaresX)), Intercept: around(intercept, t*math.Sqrt(1/n+middle*middle/squaresX)),
		N: len(points), R2: 1,
	}
	if residual > 0 {
		fit.R2 = stat.RSquared(x, y, nil, intercept, slope)
	}
	fit.LackOfFit = lackOfFit(points, residual, 2)
	return fit, nil
}

package analysis

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"vnfbench.io/operator/internal/statistics"
)

// Law is the Universal Scalability Law fitted to a rate over a number of workers N (N. J. Gunther, Guerrilla Capacity Planning, 2007,
// chapter 4): rate(N) = One * N / (1 + Contention * (N - 1) + Coherency * N * (N - 1)).
type Law struct {
	// One is the rate of one worker, in the unit of the rate.
	One Estimate `json:"one"`
	// Contention is the share of the work that no two do at once, Coherency what each pair costs to agree. None is below 0.
	Contention Estimate `json:"contention"`
	Coherency  Estimate `json:"coherency"`
	// Peak is the number of workers at which the fitted rate is highest; nil where the interval of Coherency reaches 0, or that
	// of the peak has no end, so that none is shown.
	Peak *Estimate `json:"peak,omitempty"`
	// N is the number of points, R2 the share of the variance that the law explains.
	N  int     `json:"n"`
	R2 float64 `json:"r2"`
	// LackOfFit is how likely the law leaves at least this much of the levels' means, by the F test against the scatter of their repeats; nil where it
	// cannot be tested. Below 0.01 the points do not follow the law, as where a fixed limit caps the rate.
	LackOfFit *float64 `json:"lackOfFit,omitempty"`
}

// IsLaw reports whether nothing says that the points do not follow the law.
func (l Law) IsLaw() bool { return l.LackOfFit == nil || *l.LackOfFit >= lackOfFitLevel }

// parameters are One, Contention and Coherency.
const parameters = 3

// rate returns that of so many workers by the law.
func rate(p []float64, n float64) float64 { return p[0] * n / (1 + p[1]*(n-1) + p[2]*n*(n-1)) }

const (
	// maxIterations and smallestStep end the fit, maxDamping is where no step makes it better.
	maxIterations = 500
	smallestStep  = 1e-12
	maxDamping    = 1e12
	// negligible is what no number of workers shows of a coefficient.
	negligible = 1e-9
)

// FitLaw fits the law to four points or more at three numbers of workers or more, all of them at least 1 and with rates above 0. It minimizes the
// squares of the residuals by the method of K. Levenberg and D. W. Marquardt, with neither coefficient below 0. The intervals are those of the linear
// approximation at the minimum, cut at 0. Where a coefficient is at 0 it is left out of it, and 0 stands for both ends of its interval: the
// points do not show it, and say nothing of how large it may be.
func FitLaw(points []Point) (Law, error) {
	if err := check(points, parameters+1, parameters); err != nil {
		return Law{}, err
	}
	if err := checkRates(points); err != nil {
		return Law{}, err
	}
	one := 0.0
	for _, p := range points {
		one = max(one, p.Y/p.X)
	}
	// Rates as shares of the largest one of a worker have no unit, and coefficients of the same size as the others.
	shares := make([]Point, len(points))
	for i, p := range points {
		shares[i] = Point{p.X, p.Y / one}
	}
	fitted, squares, err := minimize(shares, []float64{1, 0.01, 1e-5})
	if err != nil {
		return Law{}, err
	}
	free := []int{0}
	for i := 1; i < parameters; i++ {
		if fitted[i] > negligible {
			free = append(free, i)
		} else {
			fitted[i] = 0
		}
	}
	covariance, err := covarianceOf(shares, fitted, free, squares)
	if err != nil {
		return Law{}, err
	}
	t := statistics.StudentT(len(points) - len(free))
	estimate := func(i int, unit float64) Estimate {
		value, half := fitted[i]*unit, t*math.Sqrt(covariance[i][i])*unit
		return Estimate{value, max(0, value-half), value + half}
	}
	out := Law{One: estimate(0, one), Contention: estimate(1, 1), Coherency: estimate(2, 1), N: len(points), R2: 1}
	if spread := spreadOf(shares); spread > 0 {
		out.R2 = 1 - squares/spread
	}
	if contention, coherency := fitted[1], fitted[2]; out.Coherency.Low > 0 && contention < 1 {
		// The derivatives of the logarithm of the peak, √((1 - contention) / coherency), by both coefficients.
		a, b := -0.5/(1-contention), -0.5/coherency
		variance := a*a*covariance[1][1] + 2*a*b*covariance[1][2] + b*b*covariance[2][2]
		if peak := times(math.Sqrt((1-contention)/coherency), t*math.Sqrt(max(0, variance))); !math.IsInf(peak.High, 0) {
			out.Peak = &peak
		}
	}
	out.LackOfFit = lackOfFit(shares, squares, len(free))
	return out, nil
}

// spreadOf returns the sum of squares around the mean of all rates.
func spreadOf(points []Point) (squares float64) {
	mean := 0.0
	for _, p := range points {
		mean += p.Y / float64(len(points))
	}
	for _, p := range points {
		squares += (p.Y - mean) * (p.Y - mean)
	}
	return squares
}

// minimize returns the parameters with the least sum of squares, and that sum.
func minimize(points []Point, start []float64) ([]float64, float64, error) {
	p, damping := start, 1e-3
	least := residuals(points, p)
	for range maxIterations {
		gradient, curvature := normal(points, p)
		var moved []float64
		squares := math.Inf(1)
		for ; damping <= maxDamping; damping *= 10 {
			if moved = step(p, gradient, curvature, damping); moved == nil {
				continue
			}
			if squares = residuals(points, moved); squares <= least {
				break
			}
		}
		if damping > maxDamping {
			return p, least, nil
		}
		change := 0.0
		for i := range p {
			change = max(change, math.Abs(moved[i]-p[i])/max(math.Abs(p[i]), 1e-9))
		}
		p, least, damping = moved, squares, max(damping/10, 1e-15)
		if change < smallestStep {
			return p, least, nil
		}
	}
	return nil, 0, fmt.Errorf("the fit has not converged in %d steps", maxIterations)
}

// step returns the parameters after a damped step; nil where the damping is too small for one.
func step(p []float64, gradient *mat.VecDense, curvature *mat.SymDense, damping float64) []float64 {
	damped := mat.NewSymDense(parameters, nil)
	for i := range parameters {
		for j := i; j < parameters; j++ {
			value := curvature.At(i, j)
			if i == j {
				value += damping * max(value, 1e-30)
			}
			damped.SetSym(i, j, value)
		}
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(damped) {
		return nil
	}
	by := mat.NewVecDense(parameters, nil)
	// A system that is nearly singular has a step, too: whether it is a good one is seen from the residuals.
	_ = cholesky.SolveVecTo(by, gradient)
	return []float64{p[0] + by.AtVec(0), max(0, p[1]+by.AtVec(1)), max(0, p[2]+by.AtVec(2))}
}

// residuals returns the sum of squares; infinite where the law has no value.
func residuals(points []Point, p []float64) float64 {
	squares := 0.0
	for _, point := range points {
		off := point.Y - rate(p, point.X)
		squares += off * off
	}
	if math.IsNaN(squares) {
		return math.Inf(1)
	}
	return squares
}

// derivatives returns those of the law by its parameters.
func derivatives(p []float64, n float64) [parameters]float64 {
	d := 1 + p[1]*(n-1) + p[2]*n*(n-1)
	return [parameters]float64{n / d, -p[0] * n * (n - 1) / (d * d), -p[0] * n * n * (n - 1) / (d * d)}
}

// normal returns both sides of the normal equations. A coefficient that is at 0 and would go below it does not move.
func normal(points []Point, p []float64) (*mat.VecDense, *mat.SymDense) {
	gradient, curvature := mat.NewVecDense(parameters, nil), mat.NewSymDense(parameters, nil)
	for _, point := range points {
		d, off := derivatives(p, point.X), point.Y-rate(p, point.X)
		for i := range parameters {
			gradient.SetVec(i, gradient.AtVec(i)+d[i]*off)
			for j := i; j < parameters; j++ {
				curvature.SetSym(i, j, curvature.At(i, j)+d[i]*d[j])
			}
		}
	}
	for i := 1; i < parameters; i++ {
		if p[i] == 0 && gradient.AtVec(i) < 0 {
			gradient.SetVec(i, 0)
			for j := range parameters {
				if j != i {
					curvature.SetSym(i, j, 0)
				}
			}
		}
	}
	return gradient, curvature
}

// covarianceOf returns that of the free parameters by the linear approximation, and 0 for the others.
func covarianceOf(points []Point, p []float64, free []int, squares float64) ([parameters][parameters]float64, error) {
	var out [parameters][parameters]float64
	information := mat.NewSymDense(len(free), nil)
	for _, point := range points {
		d := derivatives(p, point.X)
		for a, i := range free {
			for b := a; b < len(free); b++ {
				information.SetSym(a, b, information.At(a, b)+d[i]*d[free[b]])
			}
		}
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(information) {
		return out, fmt.Errorf("%w: they do not tell the coefficients apart", ErrTooFew)
	}
	var covariance mat.SymDense
	if err := cholesky.InverseTo(&covariance); err != nil {
		return out, fmt.Errorf("%w: they hardly tell the coefficients apart: %w", ErrTooFew, err)
	}
	for a, i := range free {
		for b, j := range free {
			out[i][j] = covariance.At(a, b) * squares / float64(len(points)-len(free))
		}
	}
	return out, nil
}

package analysis

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"vnfbench.io/operator/internal/statistics"
)

// Scalability is the Universal Scalability Law fitted to a rate over a number of workers N (N. J. Gunther, Guerrilla Capacity Planning, 2007,
// chapter 4): rate(N) = One * N / (1 + Contention * (N - 1) + Coherency * N * (N - 1)).
type Scalability struct {
	// One is the rate of one worker, in the unit of the rate.
	One Estimate `json:"one"`
	// Contention is the share of the work that no two do at once, Coherency what each pair costs to agree. None is below 0.
	Contention Estimate `json:"contention"`
	Coherency  Estimate `json:"coherency"`
	N          int      `json:"n"`
	R2         float64  `json:"r2"`
	// Peak is the number of workers at which the rate is highest, and PeakRate the rate there; nil where the fitted rate grows without end.
	Peak     *float64 `json:"peak,omitempty"`
	PeakRate *float64 `json:"peakRate,omitempty"`
	// Limit is the rate that it approaches without coherency cost; nil without contention.
	Limit *float64 `json:"limit,omitempty"`
}

// At returns the fitted rate of a number of workers.
func (s Scalability) At(workers float64) float64 {
	return usl([]float64{s.One.Value, s.Contention.Value, s.Coherency.Value}, workers)
}

func usl(p []float64, n float64) float64 {
	return p[0] * n / (1 + p[1]*(n-1) + p[2]*n*(n-1))
}

const (
	// maxIterations and smallestStep end the fit, maxDamping is where no step makes it better.
	maxIterations = 500
	smallestStep  = 1e-12
	maxDamping    = 1e12
)

// Scale fits the law to four points or more at three numbers of workers or more, all of them at least 1 and with rates above 0. It minimizes the squares
// of the residuals by the method of K. Levenberg and D. W. Marquardt, with neither coefficient below 0. The intervals are those of the linear
// approximation at the minimum. Where a coefficient is at 0 it is left out of it, and its interval begins and ends there: the points do not show it.
func Scale(points []Point) (Scalability, error) {
	if err := check(points, 4, 3); err != nil {
		return Scalability{}, err
	}
	one, total := 0.0, 0.0
	for _, p := range points {
		if p.X < 1 || p.Y <= 0 {
			return Scalability{}, fmt.Errorf("the point of %g workers has the rate %g: give at least one worker, and a rate above 0", p.X, p.Y)
		}
		one, total = max(one, p.Y/p.X), total+p.Y
	}
	fitted, squares, err := minimize(points, []float64{one, 0.01, 1e-5})
	if err != nil {
		return Scalability{}, err
	}
	free := []int{0}
	for i := 1; i < 3; i++ {
		if fitted[i] > 0 {
			free = append(free, i)
		}
	}
	errors, err := standardErrors(points, fitted, free, squares)
	if err != nil {
		return Scalability{}, err
	}
	t := statistics.StudentT(len(points) - len(free))
	estimate := func(i int) Estimate { return around(fitted[i], t*errors[i]) }
	out := Scalability{One: estimate(0), Contention: estimate(1), Coherency: estimate(2), N: len(points)}
	spread, mean := 0.0, total/float64(len(points))
	for _, p := range points {
		spread += (p.Y - mean) * (p.Y - mean)
	}
	if out.R2 = 1; spread > 0 {
		out.R2 = 1 - squares/spread
	}
	contention, coherency := fitted[1], fitted[2]
	if coherency > 0 && contention < 1 {
		peak := math.Sqrt((1 - contention) / coherency)
		rate := out.At(peak)
		out.Peak, out.PeakRate = &peak, &rate
	}
	if contention > 0 {
		limit := fitted[0] / contention
		out.Limit = &limit
	}
	return out, nil
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
			damped := mat.NewSymDense(3, nil)
			for i := range 3 {
				for j := i; j < 3; j++ {
					value := curvature.At(i, j)
					if i == j {
						value += damping * max(value, 1e-30)
					}
					damped.SetSym(i, j, value)
				}
			}
			var cholesky mat.Cholesky
			if !cholesky.Factorize(damped) {
				continue
			}
			step := mat.NewVecDense(3, nil)
			// A system that is nearly singular has a step, too: whether it is a good one is seen from the residuals.
			_ = cholesky.SolveVecTo(step, gradient)
			moved = []float64{p[0] + step.AtVec(0), max(0, p[1]+step.AtVec(1)), max(0, p[2]+step.AtVec(2))}
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

// residuals returns the sum of squares; infinite where the law has no value.
func residuals(points []Point, p []float64) float64 {
	squares := 0.0
	for _, point := range points {
		off := point.Y - usl(p, point.X)
		squares += off * off
	}
	if math.IsNaN(squares) {
		return math.Inf(1)
	}
	return squares
}

// slopes returns the derivatives of the law by its parameters.
func slopes(p []float64, n float64) [3]float64 {
	d := 1 + p[1]*(n-1) + p[2]*n*(n-1)
	return [3]float64{n / d, -p[0] * n * (n - 1) / (d * d), -p[0] * n * n * (n - 1) / (d * d)}
}

// normal returns both sides of the normal equations. A coefficient that is at 0 and would go below it does not move.
func normal(points []Point, p []float64) (*mat.VecDense, *mat.SymDense) {
	gradient, curvature := mat.NewVecDense(3, nil), mat.NewSymDense(3, nil)
	for _, point := range points {
		d, off := slopes(p, point.X), point.Y-usl(p, point.X)
		for i := range 3 {
			gradient.SetVec(i, gradient.AtVec(i)+d[i]*off)
			for j := i; j < 3; j++ {
				curvature.SetSym(i, j, curvature.At(i, j)+d[i]*d[j])
			}
		}
	}
	for i := 1; i < 3; i++ {
		if p[i] == 0 && gradient.AtVec(i) < 0 {
			gradient.SetVec(i, 0)
			for j := range 3 {
				if j != i {
					curvature.SetSym(i, j, 0)
				}
			}
		}
	}
	return gradient, curvature
}

// standardErrors returns those of the free parameters by the linear approximation, and 0 for the others.
func standardErrors(points []Point, p []float64, free []int, squares float64) ([3]float64, error) {
	var out [3]float64
	degrees := len(points) - len(free)
	information := mat.NewSymDense(len(free), nil)
	for _, point := range points {
		d := slopes(p, point.X)
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
		out[i] = math.Sqrt(covariance.At(a, a) * squares / float64(degrees))
	}
	return out, nil
}

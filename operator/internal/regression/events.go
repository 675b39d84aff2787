package regression

// Run is one scheduled run of a series.
type Run struct {
	// Value is the natural logarithm of the figure, with its sign changed where less is better: a fall is bad.
	Value float64
	// Platform is the digest of what the device ran on; empty where it is not known.
	Platform string
	// Calibration is the logarithm of the generator's level; NaN where it is not known.
	Calibration float64
	// Deployed is the same for runs that deployed the same; empty where it is not known.
	Deployed string
}

// deployedAs reports whether both runs are known to have deployed the same.
func (r Run) deployedAs(other Run) bool { return r.Deployed != "" && r.Deployed == other.Deployed }

// Kind is what an event says.
type Kind string

const (
	// Regression and Improvement are confirmed changes of the device.
	Regression  Kind = "Regression"
	Improvement Kind = "Improvement"
	// Minor is a confirmed change of less than half of the effect. It is remembered, so that several add up.
	Minor Kind = "Minor"
	// Same means that interleaved runs exclude a change of the effect.
	Same Kind = "Same"
	// Inconclusive means that no number of pairs that is allowed answered the question.
	Inconclusive Kind = "Inconclusive"
	// Unconfirmed means that a suspicion waits for interleaved runs.
	Unconfirmed Kind = "Unconfirmed"
	// Closed means that a suspicion was given up without an answer: too many runs went by, or the next question arose.
	Closed Kind = "Closed"
	// Shift means that the old version measures another level than before: the environment moved, and the device did not.
	Shift Kind = "EnvironmentShift"
	// Break means that the platform or the generator changed, and no interleaved runs connect both sides.
	Break Kind = "Break"
)

// Cause is what raised a question.
type Cause string

const (
	// Step is a difference between the last runs and those before.
	Step Cause = "Step"
	// Slow is a difference between the last runs and the level that was last accepted.
	Slow Cause = "Slow"
	// PlatformChanged and GeneratorMoved are breaks that are known from the runs themselves.
	PlatformChanged Cause = "PlatformChanged"
	GeneratorMoved  Cause = "GeneratorMoved"
)

// Direction is that of a suspected change.
type Direction int

const (
	Fall Direction = -1
	Both Direction = 0
	Rise Direction = 1
)

// Question asks for interleaved runs of two versions. Runs are numbered from 0.
type Question struct {
	Cause     Cause
	Direction Direction
	// First to At are the suspicious runs.
	First, At int
	// Old and New are the runs whose versions are compared.
	Old, New int
}

// isBreak reports whether the question connects two sides that do not compare by their history.
func (q Question) isBreak() bool { return q.Cause == PlatformChanged || q.Cause == GeneratorMoved }

// isUnanswered reports whether interleaved runs did not answer a question, and no later run asks it again.
func (e Event) isUnanswered() bool {
	return e.Kind == Closed || e.Kind == Break || e.Kind == Inconclusive && e.isBreak()
}

// Event is what the walk found after a run.
type Event struct {
	Question
	Kind Kind
	// Size is new over old, as a logarithm. The interval from Low to High holds it. That of a Break is what the runs around it say.
	Size, Low, High float64
	// Chance is how likely equal versions differ at least that much.
	Chance float64
	// Pairs is how many pairs were made, Wanted how many the next look takes; 0 where more do not help.
	Pairs, Wanted int
	// Earliest and Latest are the first and the last run with which a change that is confirmed may have begun: First fits best, and the
	// runs do not tell the others from it.
	Earliest, Latest int
	// GeneratorDiffers says that there is no answer because the generator was not the same for both sides of the pairs.
	GeneratorDiffers bool
	// HeldExplains says that there is no answer because other work had the core that sends for longer on one side of the pairs, which may explain the
	// difference.
	HeldExplains bool
}

package regression

import (
	"time"

	"vnfbench.io/operator/internal/series"
)

// Verdict is the answer for one series after its last run.
type Verdict string

const (
	// VerdictPass means that no change of half the effect was confirmed since the level that was last accepted.
	VerdictPass Verdict = "Pass"
	// VerdictRegression means that interleaved runs show that the device became worse, and no one has accepted that.
	VerdictRegression Verdict = "Regression"
	// VerdictImprovement is the same for better.
	VerdictImprovement Verdict = "Improvement"
	// VerdictInconclusive means that the last run leaves a question open; the reason says which.
	VerdictInconclusive Verdict = "Inconclusive"
	// VerdictNotEnoughData means that the last run could not be compared with anything: there are too few runs since the series, its
	// platform or its level began.
	VerdictNotEnoughData Verdict = "NotEnoughData"
)

// Reason says why a verdict is what it is.
type Reason string

const (
	ReasonNoChange     Reason = "NoChange"
	ReasonConfirmed    Reason = "Confirmed"
	ReasonSlowChange   Reason = "SlowChange"
	ReasonFewRuns      Reason = "FewRuns"
	ReasonPlatform     Reason = "PlatformChanged"
	ReasonGenerator    Reason = "GeneratorMoved"
	ReasonUnconfirmed  Reason = "Unconfirmed"
	ReasonNoise        Reason = "TooNoisy"
	ReasonNoValue      Reason = "NoValue"
	ReasonBelowFloor   Reason = "BelowFloor"
	ReasonFamilyChance Reason = "ChanceOfFamily"

	// The operator, which makes the interleaved runs of suites, gives these reasons instead of Unconfirmed.
	ReasonNotDeployable      Reason = "NotDeployable"
	ReasonConfirmationFailed Reason = "ConfirmationFailed"
	ReasonConfirmationLimit  Reason = "ConfirmationLimit"
)

// Change is a confirmed change of a series.
type Change struct {
	// Run is the first run of the new level as far as the runs show it, Execution what it is a part of, Subject what it tested. Others are
	// what else the change may have begun with: the runs do not tell which. Before is what was tested just before all of them.
	Run       string           `json:"run"`
	Execution string           `json:"execution,omitempty"`
	Subject   series.Subject   `json:"subject,omitzero"`
	Others    []series.Subject `json:"others,omitempty"`
	Before    series.Subject   `json:"before,omitzero"`
	// ConfirmedAt is the run after which the change was confirmed.
	ConfirmedAt string `json:"confirmedAt"`
	// Change is that of the figure in parts per million; the interval from Low to High holds it.
	ChangePartsPerMillion int64 `json:"changePartsPerMillion"`
	LowPartsPerMillion    int64 `json:"lowPartsPerMillion"`
	HighPartsPerMillion   int64 `json:"highPartsPerMillion"`
	// Chance is how likely equal versions differ at least that much, over all looks.
	Chance float64 `json:"chance"`
	Pairs  int     `json:"pairs"`
	Cause  Cause   `json:"cause"`
	Kind   Kind    `json:"kind"`
	// Acknowledged names the kind of the acknowledgement; empty where there is none.
	Acknowledged AcknowledgementKind `json:"acknowledged,omitempty"`

	// place is where the change is, from and until are the times of its first run and of the one that confirmed it.
	place
	from, until time.Time
}

// Request asks for interleaved runs: Pairs of them in all, each a new deployment, in the order old new, new old, old
// new. Their points have a leg with this run, cause and old run.
type Request struct {
	Run   string `json:"run"`
	Cause Cause  `json:"cause"`
	// OldRun and NewRun are the runs whose subjects are deployed.
	OldRun     string         `json:"oldRun"`
	NewRun     string         `json:"newRun"`
	OldSubject series.Subject `json:"oldSubject,omitzero"`
	NewSubject series.Subject `json:"newSubject,omitzero"`
	Pairs      int            `json:"pairs"`
	// Complete is how many pairs have a value on both sides.
	Complete int `json:"complete,omitempty"`
	// LossPartsPerMillion is by how much the new version is suspected to be worse; below 0 it is better. It is 0 where the runs do not say it.
	LossPartsPerMillion int64 `json:"lossPartsPerMillion,omitempty"`
}

// Judgment is what is known of one series.
type Judgment struct {
	series.Key
	Verdict Verdict `json:"verdict"`
	Reason  Reason  `json:"reason"`
	// Message is one sentence.
	Message string `json:"message"`
	// Runs is how many runs have a value, WithoutValue how many have none. OlderVersions is how many tested an older version than a run before
	// them, and are left out.
	Runs          int `json:"runs"`
	WithoutValue  int `json:"withoutValue"`
	OlderVersions int `json:"olderVersions,omitempty"`
	// VariationPartsPerMillion is the standard deviation between runs of one level, as a share of the value.
	VariationPartsPerMillion int64 `json:"variationPartsPerMillion"`
	// LossPartsPerMillion is by how much a Regression is worse than the best level since the one that was last accepted.
	LossPartsPerMillion int64 `json:"lossPartsPerMillion,omitempty"`
	// Change is the one that decides; absent where none does.
	Change *Change `json:"change,omitempty"`
	// Changes are all confirmed changes, the first one first.
	Changes []Change `json:"changes,omitempty"`
	Request *Request `json:"request,omitempty"`
	// BelowFloor names the run that showed only what the device does at least, where the last runs are worse than that.
	BelowFloor string `json:"belowFloor,omitempty"`
	// Open says that a question, or a fall without an answer, is open, and that the last run is no floor at the level before it.
	Open bool `json:"open,omitempty"`

	// execution is that of the last run, with its namespace.
	execution string
	// closed are the places of questions without an answer, of breaks and of falls from a floor, which can be accepted too.
	closed []place
}

package suite

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/controller/suiterun"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/schedule"
	"vnfbench.io/operator/internal/suite"
)

// scope is everything that was read for one reconciliation of one suite.
type scope struct {
	now   time.Time
	suite *v1alpha1.BenchmarkSuite
	// executions are the suite's own that exist, in the order of their numbers.
	executions []*v1alpha1.BenchmarkSuiteRun
	// awaitsArchive keeps executions until they are archived.
	awaitsArchive bool
	// digest is that of the template.
	digest string
	// cells is the number of cells, 0 with a problem.
	cells int
	// image is the one whose labels describe the subject, or "".
	image string
	// schedule is empty without one, and with a problem.
	schedule schedule.Schedule
	// problem says why the suite cannot be executed, or is nil.
	problem *reporting.Cause
	// unusable says why the labels of the image cannot be used, or is nil. The schedule continues.
	unusable *reporting.Cause
	// confirmation is the one that the status names, if it exists.
	confirmation *v1alpha1.BenchmarkSuiteRun
	// judged is the digest of spec.regression and of the latest execution; "" without either.
	judged string
	// known is what the status says of executions, with those that are newer than it.
	known v1alpha1.BenchmarkSuiteStatus
}

// notReady says why the suite is not ready, or is nil.
func (s *scope) notReady() *reporting.Cause { return cmp.Or(s.problem, s.unusable) }

// timeZone returns that of the schedule.
func (s *scope) timeZone() string { return cmp.Or(s.suite.Spec.TimeZone, "UTC") }

// maxNumber is the highest number of an execution: who may write executions can give one any name.
const maxNumber = 1_000_000_000

// numberOf returns the number of an execution, or 0 if its name has none.
func (s *scope) numberOf(execution string) int64 {
	text, found := strings.CutPrefix(execution, s.suite.Name+"-")
	number, err := strconv.ParseInt(text, 10, 64)
	if !found || err != nil || number < 1 || number > maxNumber || executionName(s.suite, number) != execution {
		return 0
	}
	return number
}

func executionName(object *v1alpha1.BenchmarkSuite, number int64) string {
	return fmt.Sprintf("%s-%d", object.Name, number)
}

// fold adds to what is known the executions that were made, and that the status does not have yet: the operator
// ended between both writes.
func (s *scope) fold() error {
	s.known = *s.suite.Status.DeepCopy()
	for _, execution := range s.executions {
		number := s.numberOf(execution.Name)
		if number <= s.known.Executions {
			continue
		}
		digest, err := suite.Digest(&execution.Spec.Template)
		if err != nil {
			return err
		}
		s.known.Executions = number
		s.known.LastExecution = describe(execution, digest)
		if s.known.LastExecution.Trigger == v1alpha1.TriggerAnnotation {
			s.known.LastRunNow = runNow(execution)
		}
		// Who may write executions can change their annotations: what is no time says nothing.
		if at, err := time.Parse(time.RFC3339, execution.Annotations[v1alpha1.AnnotationScheduledTime]); err == nil {
			s.known.LastScheduleTime = &metav1.Time{Time: at}
		}
	}
	if latest := s.latest(); latest != nil && latest.Status.Subject != nil {
		// The execution read the labels after it was made.
		s.known.LastExecution.Revision = latest.Status.Subject.Revision
	}
	return nil
}

func describe(execution *v1alpha1.BenchmarkSuiteRun, digest string) *v1alpha1.SuiteExecution {
	trigger := v1alpha1.SuiteTrigger(execution.Labels[v1alpha1.LabelTrigger])
	switch trigger {
	case v1alpha1.TriggerRevision, v1alpha1.TriggerSchedule, v1alpha1.TriggerAnnotation:
	default:
		// Who may write executions can change their labels, and the status takes no other text.
		trigger = v1alpha1.TriggerChange
	}
	return &v1alpha1.SuiteExecution{Name: execution.Name, Trigger: trigger, TemplateDigest: digest, Revision: revisionOf(execution.Subject())}
}

// runNow returns the value of the annotation that asks for an execution, as the status has it.
func runNow(object metav1.Object) string {
	return excerpt.Line(object.GetAnnotations()[v1alpha1.AnnotationRunNow], v1alpha1.MaxRunNowBytes)
}

func revisionOf(subject *v1alpha1.Subject) string {
	if subject == nil {
		return ""
	}
	return subject.Revision
}

// revision returns that of the template: what it gives, or what the labels of its image said. It is "" while neither is known.
func (s *scope) revision() string {
	given := s.suite.Spec.Template.Subject
	if given != nil && given.Revision == "" && given.FromImage != nil && s.isRead() {
		return s.known.ImageRevision.Revision
	}
	if given == nil {
		return ""
	}
	return given.Revision
}

// isRead reports whether the status has the revision of the image that the template names.
func (s *scope) isRead() bool {
	return s.known.ImageRevision != nil && s.known.ImageRevision.TemplateDigest == s.digest
}

// isToRead reports whether runOn Revision needs the labels of the image: the template is another one than that of the latest execution, and gives
// no revision. A tag that stays is not asked for again.
func (s *scope) isToRead() bool {
	last := s.known.LastExecution
	return s.suite.Spec.RunOn == v1alpha1.RunOnRevision && !s.suite.Spec.Suspend && s.image != "" && s.suite.Spec.Template.Subject.Revision == "" &&
		!s.isRead() && (last == nil || last.TemplateDigest != s.digest)
}

// isMeasured reports whether a revision, "" where it is not known yet, is that of the latest execution, so that its outcome holds.
func (s *scope) isMeasured(revision string) bool {
	last := s.known.LastExecution
	return revision != "" && last != nil && last.Revision == revision
}

// knownOfLabels returns what the status says of labels that could not be read or used, so that it stays until they are read again. Those of another
// generation may be of another image.
func (s *scope) knownOfLabels() (blocked, unusable *reporting.Cause) {
	known := func(kind string, reasons ...string) *reporting.Cause {
		c := meta.FindStatusCondition(s.suite.Status.Conditions, kind)
		if c == nil || !slices.Contains(reasons, c.Reason) || c.ObservedGeneration != s.suite.Generation {
			return nil
		}
		return &reporting.Cause{Reason: c.Reason, Message: c.Message}
	}
	return known(v1alpha1.ConditionSucceeded, v1alpha1.ReasonImageLabelsUnreadable), known(v1alpha1.ConditionReady, v1alpha1.ReasonImageLabelsInvalid, v1alpha1.ReasonRegistryNotAllowed)
}

// active returns the latest execution that has not ended, or the confirmation of one, or nil.
func (s *scope) active() *v1alpha1.BenchmarkSuiteRun {
	if s.confirmation != nil && !suiterun.Ended(s.confirmation) {
		return s.confirmation
	}
	for i := len(s.executions) - 1; i >= 0; i-- {
		if e := s.executions[i]; !suiterun.Ended(e) {
			return e
		}
	}
	return nil
}

// latest returns the execution that the status names as the last, or nil if it was deleted.
func (s *scope) latest() *v1alpha1.BenchmarkSuiteRun {
	for _, e := range s.executions {
		if s.known.LastExecution != nil && e.Name == s.known.LastExecution.Name {
			return e
		}
	}
	return nil
}

// changeDue returns the trigger of a change that was not executed yet, or "".
func (s *scope) changeDue() v1alpha1.SuiteTrigger {
	last := s.known.LastExecution
	revision := s.revision()
	switch s.suite.Spec.RunOn {
	case v1alpha1.RunOnNever:
	case v1alpha1.RunOnRevision:
		if s.isRead() && last != nil && last.TemplateDigest == s.digest {
			// The execution read the labels again, and the tag may have been moved meanwhile.
			return ""
		}
		if revision != "" && (last == nil || last.Revision != revision) {
			return v1alpha1.TriggerRevision
		}
	default:
		if last == nil || last.TemplateDigest != s.digest {
			return v1alpha1.TriggerChange
		}
	}
	return ""
}

// line returns the schedule with its time zone, as the status has it; "" without one.
func (s *scope) line() string {
	if s.suite.Spec.Schedule == "" {
		return ""
	}
	return s.suite.Spec.Schedule + " " + s.timeZone()
}

// isNewLine reports whether the schedule is another one than that of the status: its times before now are none. Those of a new suite count from its
// creation. The status of an older operator has no schedule, and the next time of one.
func (s *scope) isNewLine() bool {
	isOfOlder := s.known.ObservedSchedule == "" && s.known.NextScheduleTime != nil
	return s.known.ObservedGeneration > 0 && s.known.ObservedSchedule != s.line() && !isOfOlder
}

// scheduledTime returns the time of the schedule that was not acted on yet, or zero.
func (s *scope) scheduledTime() time.Time {
	if s.schedule.Schedule == nil || s.isNewLine() {
		return time.Time{}
	}
	after := s.suite.CreationTimestamp.Time
	if last := s.known.LastScheduleTime; last != nil {
		after = last.Time
	}
	return s.schedule.Latest(after, s.now)
}

// asked returns the confirmation that the status names, or nil.
func (s *scope) asked() *v1alpha1.AskedConfirmation {
	if s.known.Regression == nil {
		return nil
	}
	return s.known.Regression.Confirmation
}

// toJudge returns the name of the execution after which the series are judged, once it has ended: the latest one, also where it was deleted
// after it had been judged, because its measurements are kept. It is "" for none.
func (s *scope) toJudge() string {
	switch latest, judged := s.latest(), s.known.Regression; {
	case s.suite.Spec.Regression == nil:
		return ""
	case latest != nil && suiterun.Ended(latest) && latest.DeletionTimestamp.IsZero():
		return latest.Name
	case latest == nil && judged != nil && s.known.LastExecution != nil && judged.Execution == s.known.LastExecution.Name:
		return judged.Execution
	}
	return ""
}

// isToJudge reports whether the latest execution was not judged yet with these settings and these confirmations.
func (s *scope) isToJudge() bool {
	if s.toJudge() == "" {
		return false
	}
	if s.known.Regression == nil || s.known.Regression.Digest != s.judged {
		return true
	}
	asked := s.asked()
	isGone := s.confirmation == nil && asked != nil && asked.UID != ""
	return asked != nil && (asked.Problem != "" || isGone || s.confirmation != nil && suiterun.Ended(s.confirmation))
}

// isToConfirm reports whether the confirmation that the status names is to be made.
func (s *scope) isToConfirm() bool {
	asked := s.asked()
	return s.suite.Spec.Regression != nil && !s.suite.Spec.Suspend && asked != nil && asked.UID == "" && s.latest() != nil
}

// confirms reports whether spec.regression asks for confirmations.
func (s *scope) confirms() bool {
	spec := s.suite.Spec.Regression
	return spec != nil && ptr.Deref(spec.Confirm, true)
}

// isAbandoned reports whether spec.regression no longer asks for the active confirmation.
func (s *scope) isAbandoned() bool {
	return s.confirmation != nil && !suiterun.Ended(s.confirmation) && s.confirmation.DeletionTimestamp.IsZero() && !s.confirms()
}

// Package records reads from a cluster what a document is made of besides the object itself: the plan and the trials of a run, and the
// outcomes of an execution's runs.
//
// Who may write ConfigMaps in a namespace can change these. What is not the run's, or cannot be read, is named and left out.
package records

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/trialstore"
)

// Lost is the error of a plan or of trials that are not there, not the run's, or damaged. Another look does not help.
type Lost struct{ Err error }

func (l Lost) Error() string { return l.Err.Error() }

func (l Lost) Unwrap() error { return l.Err }

// errForeign says that an object has the name of one of the run's, and is another's.
var errForeign = errors.New("it does not belong to the run: another writer made it")

// Read reads the plan and the trials of a run; there are none for a run that has stored none yet. version is that of the program that reads. With an
// error of type Lost, the source has neither.
func Read(ctx context.Context, reader client.Reader, run *v1alpha1.BenchmarkRun, version string) (report.Source, error) {
	source := report.Source{Version: version}
	if run.Status.ResultsRef == nil {
		return source, nil
	}
	results, err := configMap(ctx, reader, run, run.Status.ResultsRef.Name)
	if c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionArchived); apierrors.IsNotFound(err) && c != nil && c.Status == metav1.ConditionTrue {
		return source, fmt.Errorf("the trials are no longer in the cluster, and the archive of results has them: %s: %w", c.Message, err)
	}
	if err != nil {
		return source, fmt.Errorf("reading the trials from ConfigMap %q: %w", run.Status.ResultsRef.Name, err)
	}
	trials, err := trialstore.Read(results, func(name string, _ types.UID) (*corev1.ConfigMap, error) {
		chunk, err := configMap(ctx, reader, run, name)
		if err != nil && !errors.As(err, new(Lost)) {
			err = trialstore.Unanswered{Err: err}
		}
		return chunk, err
	})
	if err != nil {
		if !errors.As(err, new(trialstore.Unanswered)) {
			err = Lost{err}
		}
		return source, fmt.Errorf("reading the trials of ConfigMap %q: %w", results.Name, err)
	}
	// A document with trials and without a plan cannot be replayed, and says so.
	planned, err := planOf(ctx, reader, run)
	if err != nil {
		return source, err
	}
	inputs, err := report.NewInputs(planned.Data[plan.KeyPlan], results.Data)
	if err != nil {
		return source, Lost{err}
	}
	source.Trials, source.Inputs = trials, inputs
	return source, nil
}

// Plan reads the plan of a run; nil where it has none.
func Plan(ctx context.Context, reader client.Reader, run *v1alpha1.BenchmarkRun) (*plan.Plan, error) {
	planned, err := planOf(ctx, reader, run)
	if err != nil || len(planned.Data) == 0 {
		return nil, err
	}
	made, err := plan.Parse([]byte(planned.Data[plan.KeyPlan]))
	if err != nil {
		return nil, Lost{err}
	}
	return made, nil
}

// planOf reads the ConfigMap of a run's plan, which is empty where there is none.
func planOf(ctx context.Context, reader client.Reader, run *v1alpha1.BenchmarkRun) (*corev1.ConfigMap, error) {
	name := plan.NamesOf(run).Plan
	planned, err := configMap(ctx, reader, run, name)
	if apierrors.IsNotFound(err) {
		planned, err = &corev1.ConfigMap{}, nil
	}
	if err == nil {
		err = own(run, planned)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the plan from ConfigMap %q: %w", name, err)
	}
	return planned, nil
}

// configMap reads a ConfigMap of a run. The names of a run's have its UID in them, so that no other run has them.
func configMap(ctx context.Context, reader client.Reader, run *v1alpha1.BenchmarkRun, name string) (*corev1.ConfigMap, error) {
	found := &corev1.ConfigMap{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: name}, found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, Lost{err}
	case err != nil:
		return nil, err
	}
	if owner := metav1.GetControllerOf(found); owner == nil || owner.UID != run.UID {
		return nil, Lost{errForeign}
	}
	return found, nil
}

// own returns an error where a plan is not the one that the operator made: the run's status has the digest of that.
func own(run *v1alpha1.BenchmarkRun, planned *corev1.ConfigMap) error {
	if known := run.Status.Plan; len(planned.Data) > 0 && known != nil && known.StoredDigest != "" && known.StoredDigest != plan.Sum(planned.Data) {
		return Lost{errors.New("it is not the one that the operator made")}
	}
	return nil
}

// RunsInPage is how many runs are read at a time. Each has all its figures.
const RunsInPage = 50

// Outcomes returns what the document of an execution takes from those of its runs that exist, by their names.
func Outcomes(ctx context.Context, reader client.Reader, execution *v1alpha1.BenchmarkSuiteRun) (map[string]report.RunOutcome, error) {
	found := map[string]report.RunOutcome{}
	for next := ""; ; {
		var page v1alpha1.BenchmarkRunList
		err := reader.List(ctx, &page, client.InNamespace(execution.Namespace), client.MatchingLabels{v1alpha1.LabelSuiteRun: execution.Name}, client.Limit(RunsInPage), client.Continue(next))
		if err != nil {
			return nil, fmt.Errorf("listing the runs of BenchmarkSuiteRun %q: %w", execution.Name, err)
		}
		for i := range page.Items {
			if metav1.IsControlledBy(&page.Items[i], execution) {
				found[page.Items[i].Name] = report.OutcomeOf(&page.Items[i])
			}
		}
		if next = page.Continue; next == "" {
			return found, nil
		}
	}
}

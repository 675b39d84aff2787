package archiving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/archive"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/records"
	"vnfbench.io/operator/internal/report"
)

// runs reconciles BenchmarkRuns.
type runs struct{ *Archiver }

// scope is everything that was read of a run.
type scope struct {
	run    *v1alpha1.BenchmarkRun
	source report.Source
	// lost says why there are no trials; nil where they are as the measurer stored them.
	lost error
}

// decision is a document and what the condition says when the archive has it, or why there is none.
type decision struct {
	key  string
	text []byte
	// reason and note are those of the condition when the document is stored, without key and size.
	reason, note string
	// refused is what the condition says where there is no document. It may be nil there too: then it says nothing yet.
	refused *outcome
	// wait is when to look again at an object that has no document yet; 0: it will not have one.
	wait time.Duration
}

// Reconcile archives a run, if it is to be archived.
func (r *runs) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s, err := r.observe(ctx, request)
	if s != nil && apierrors.IsForbidden(err) {
		is := failed(v1alpha1.ReasonRecordsForbidden, "give the service account of the results service the right to get ConfigMaps in this namespace; it is tried again at least every %s: %v", lastRetry, err)
		r.Metrics.failed(is.Reason)
		return ctrl.Result{}, errors.Join(err, r.setCondition(ctx, s.run, s.run.Status.Conditions, is))
	}
	if err != nil || s == nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return r.act(ctx, s.run, s.run.Status.Conditions, decide(s))
}

// observe reads everything, or returns nil where there is nothing to do. With an error over the records of a run it returns the run.
func (r *runs) observe(ctx context.Context, request ctrl.Request) (*scope, error) {
	run := &v1alpha1.BenchmarkRun{}
	// The cache may be late, and has no figures.
	if err := r.Reader.Get(ctx, request.NamespacedName, run); err != nil {
		return nil, err
	}
	if !awaits(run) {
		return nil, nil
	}
	s := &scope{run: run}
	var err error
	if s.source, err = records.Read(ctx, r.Reader, run, r.Version); errors.As(err, new(records.Lost)) {
		s.lost, err = err, nil
	}
	return s, err
}

// decide makes the document. It is pure, and the same run gives the same bytes.
func decide(s *scope) decision {
	d := decision{key: archive.RunKey(s.run.Namespace, s.run.Name, string(s.run.UID)), reason: v1alpha1.ReasonStored}
	var err error
	if s.lost == nil {
		if d.text, d.note, err = describe(s.run, s.source); err == nil {
			return d
		}
		s.lost = err
	}
	// The figures are in the status, and stay true.
	d.reason, d.note = v1alpha1.ReasonStoredWithoutTrials, "without the trials and the plan: "+s.lost.Error()
	if d.text, _, err = describe(s.run, report.Source{Version: s.source.Version}); err != nil {
		d.refused = refusal(err)
	}
	return d
}

// describe returns a document that can be read, and what there is to say about it. Who may write ConfigMaps can store records that no procedure makes:
// a panic over them is an error of theirs.
func describe(run *v1alpha1.BenchmarkRun, from report.Source) (text []byte, note string, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("the records cannot be evaluated: %v", problem)
		}
	}()
	doc, err := report.Build(run, from, endOf(run))
	if err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	if err := document.Write(&out, doc, true); err != nil {
		return nil, "", err
	}
	if _, err := document.Read(bytes.NewReader(out.Bytes())); err != nil {
		return nil, "", err
	}
	if len(doc.Trials) > 0 {
		if done, err := report.Replay(doc); err != nil {
			note = fmt.Sprintf("its figures cannot be worked out again: %v", err)
		} else if n := len(done.Differences); n > 0 {
			note = fmt.Sprintf("its trials give other values than the status, %d of them: kubectl vnfbench replay names each", n)
		}
	}
	return out.Bytes(), note, nil
}

// endOf returns when a run ended, which is the time of its document: the same run then gives the same bytes.
func endOf(run *v1alpha1.BenchmarkRun) time.Time {
	return ptr.Deref(run.Status.CompletionTime, run.CreationTimestamp).Time
}

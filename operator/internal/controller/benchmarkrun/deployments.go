package benchmarkrun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

// A deployment is one launch of the chain. Its objects have its number as a label, so that those
// of an earlier one are known by themselves, whatever was interrupted. It is added to the results
// in the write that opens the chain; each trial names the deployment that it was made with.
//
// The measurer asks for another deployment by the least number that it takes, in its progress.
// The controller then closes the chain, deletes it, launches the next and opens that.

// maxDeployments is the API's bound; the results keep as many.
const maxDeployments = 32

// maxFunctions is the API's bound of a deployment's functions.
const maxFunctions = 8

// deploymentsText returns the deployments as the results keep them: without the oldest, where those would make a value that
// is not read.
func deploymentsText(all []measure.Deployment) (string, error) {
	for {
		text, err := json.Marshal(all)
		if err != nil {
			return "", err
		}
		if err = measure.CheckValue(string(text)); err == nil || len(all) < 2 {
			return string(text), err
		}
		all = all[1:]
	}
}

// deployment returns the number of the deployment that the chain's objects belong to: the one that
// is open, or else the next.
func (r *records) deployment() int {
	number := 0
	if n := len(r.deployments); n > 0 {
		number = r.deployments[n-1].Number
	}
	if r.chainOpen {
		return number
	}
	return number + 1
}

// wantsAnother reports whether the measurer waits for a later deployment than the one that is open.
func (r *records) wantsAnother() bool {
	return r.chainOpen && r.progress != nil && r.progress.Deployment > r.deployment()
}

// isOld reports whether an object belongs to an earlier deployment, or is being deleted.
func (s *scope) isOld(object client.Object) bool {
	return object.GetLabels()[v1alpha1.LabelDeployment] != strconv.Itoa(s.records.deployment()) || !object.GetDeletionTimestamp().IsZero()
}

// oldChain returns what is left of earlier deployments. The launcher of a virtual machine goes with
// it.
func (s *scope) oldChain() []client.Object {
	var old []client.Object
	for i := range s.vms {
		if vm := &s.vms[i]; s.isOld(vm) {
			old = append(old, vm)
		}
	}
	for i := range s.chainPods {
		if pod := &s.chainPods[i]; !s.ofVM(pod) && s.isOld(pod) {
			old = append(old, pod)
		}
	}
	return old
}

// decideReplacement deletes what is left of earlier deployments and waits until it is gone, for at
// most startupSeconds.
func decideReplacement(s *scope, old []client.Object) decision {
	var first *problem
	for _, object := range old {
		left := leavingProblem(kindOf(object), object, s.startup())
		if left == nil {
			return replaceChain(s)
		}
		if first == nil || left.deadline.Before(first.deadline) {
			first = left
		}
	}
	if first.expired(s.now) {
		return fail(&cause{first.reason, withEvents(first.message, s.events)})
	}
	return decision{action: actWait, after: first.deadline.Sub(s.now), chain: &cause{v1alpha1.ReasonRedeploying, first.message}}
}

func replaceChain(s *scope) decision {
	number := s.records.deployment()
	if s.records.chainOpen {
		number++
	}
	return decision{action: actReplaceChain, chain: newCause(v1alpha1.ReasonRedeploying, "the chain is deleted, to be launched again as deployment %d", number)}
}

func kindOf(object client.Object) string {
	if _, isPod := object.(*corev1.Pod); isPod {
		return "pod"
	}
	return "virtual machine"
}

// replaceChain closes the chain before it is deleted.
func (r *Reconciler) replaceChain(ctx context.Context, s *scope) error {
	if s.records.chainOpen {
		if err := r.closeChainGate(ctx, s, s.records.version); err != nil {
			return err
		}
	}
	return r.stopChain(ctx, s)
}

// stopChain deletes the chain's virtual machines and pods. Their Secrets go first: the next gateways
// count from 0 again, and need keys that were never used.
func (r *Reconciler) stopChain(ctx context.Context, s *scope) error {
	if err := r.deleteSecrets(ctx, s); err != nil {
		return err
	}
	for i := range s.vms {
		if !s.vms[i].DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.Client.Delete(ctx, &s.vms[i], client.Preconditions{UID: &s.vms[i].UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting virtual machine %q: %w", s.vms[i].Name, err)
		}
	}
	return r.deletePods(ctx, s, s.chainPods)
}

// deletePods deletes pods, and shortens the time to end of those that another writer deleted with a longer one.
func (r *Reconciler) deletePods(ctx context.Context, s *scope, pods []corev1.Pod) error {
	for i := range pods {
		if isEnding(&pods[i]) || s.ofVM(&pods[i]) {
			continue
		}
		if err := r.Client.Delete(ctx, &pods[i], client.GracePeriodSeconds(graceOf(&pods[i])), client.Preconditions{UID: &pods[i].UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting pod %q: %w", pods[i].Name, err)
		}
	}
	return nil
}

// numbered returns the chain's workloads, whose objects have the deployment's number.
func (s *scope) numbered() []chain.Workload {
	workloads := s.chainWorkloads()
	for _, w := range workloads {
		labels := w.Object.GetLabels()
		labels[v1alpha1.LabelDeployment] = strconv.Itoa(s.records.deployment())
		w.Object.SetLabels(labels)
	}
	return workloads
}

// opened returns the deployments with the one that is ready now.
func (s *scope) opened() []measure.Deployment {
	now := measure.Deployment{Number: s.records.deployment(), ReadyAt: s.now.UTC()}
	for _, report := range s.reports() {
		f := measure.DeployedFunction{
			Name: report.Name, VirtualMachine: report.VirtualMachine != nil, Node: report.Node, ImageID: report.ImageID,
		}
		if vm := s.vm(f.Name); vm != nil {
			f.UID = string(vm.UID)
		} else if pod := s.function(f.Name); pod != nil {
			f.UID = string(pod.UID)
		}
		now.Functions = append(now.Functions, f)
	}
	all := append(slices.Clone(s.records.deployments), now)
	return all[max(0, len(all)-maxDeployments):]
}

// deployments returns what the status says about them.
func (w *writer) deployments() []v1alpha1.Deployment {
	all := w.records.deployments
	if w.action == actOpenChain {
		all = w.opened()
	}
	var out []v1alpha1.Deployment
	for _, d := range all[max(0, len(all)-maxDeployments):] {
		// As an API server gives it back: a time that is another one each time would be a decision, which is stored at once.
		report := v1alpha1.Deployment{Number: int32(d.Number), ReadyTime: metav1.NewTime(d.ReadyAt.UTC().Truncate(time.Second))}
		for _, r := range w.records.trials {
			if r.Deployment == d.Number {
				report.Trials++
			}
		}
		for _, f := range d.Functions {
			deployed := v1alpha1.DeployedFunction{
				Name: f.Name, Runtime: v1alpha1.RuntimePod, UID: excerpt.Line(f.UID, maxUIDBytes), Node: excerpt.Line(f.Node, maxNodeBytes),
				ImageID: excerpt.Line(f.ImageID, maxImageIDBytes),
			}
			if f.VirtualMachine {
				deployed.Runtime = v1alpha1.RuntimeVirtualMachine
			}
			report.Functions = append(report.Functions, deployed)
		}
		out = append(out, report)
	}
	return out
}

// deploymentWarnings warns of each function whose image is another one in a later deployment.
func (w *writer) deploymentWarnings() []v1alpha1.Warning {
	var out []v1alpha1.Warning
	first := map[string]v1alpha1.DeployedFunction{}
	warned := map[string]bool{}
	for _, d := range w.status.Deployments {
		for _, f := range d.Functions {
			if f.ImageID == "" {
				continue
			}
			before, known := first[f.Name]
			if !known {
				first[f.Name] = f
			}
			if !known || warned[f.Name] || before.ImageID == f.ImageID {
				continue
			}
			warned[f.Name] = true
			out = append(out, v1alpha1.Warning{Code: v1alpha1.WarningDeploymentsDiffer, Message: sentence(
				"Function %q has another image since deployment %d: %s, before %s. Figures over both are not those of one program. Name images by their digests.",
				f.Name, d.Number, digestOf(f.ImageID), digestOf(before.ImageID))})
		}
	}
	return out
}

// digestOf returns the end of an image's ID that differs where the image does.
func digestOf(imageID string) string {
	return excerpt.Line(imageID[strings.LastIndex(imageID, "@")+1:], maxDigestBytes)
}

package v1alpha1_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestManyOwnersAreRefused: a request can have tens of thousands of owners, with which it would take a second to look at all.
func TestManyOwnersAreRefused(t *testing.T) {
	for _, manifest := range []string{goodRun, executionOf(goodSuite)} {
		for number, want := range map[int]string{100: "", 101: "more than 100 owners: remove some", 20_000: "more than 100 owners: remove some"} {
			o := object(t, manifest, nil)
			o.SetOwnerReferences(owners(number))
			if err := create(o); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%d owners of a %s: %v, want %q", number, o.GetKind(), err, want)
			}
		}
	}
}

// owners returns owners of another API.
func owners(number int) (out []metav1.OwnerReference) {
	for i := range number {
		out = append(out, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: types.UID(fmt.Sprint(i))})
	}
	return out
}

// TestManyOwnersOfBeforeAreKept: an object that was stored with more owners than are compared, before the policy was there, gets and loses none
// by a user who may only write it.
func TestManyOwnersOfBeforeAreKept(t *testing.T) {
	rule := func(verb, resource string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{"vnfbench.io"}, Resources: []string{resource}, Verbs: []string{verb}}
	}
	editor := as(t, "edits-owned-runs", rule("update", "benchmarkruns"))
	operator := as(t, "finalizes-owned-runs", rule("update", "benchmarkruns"), rule("update", "benchmarksuites/finalizers"))
	controls := true
	ours := metav1.OwnerReference{APIVersion: "vnfbench.io/v1alpha1", Kind: "BenchmarkSuiteRun", Name: "nightly-1", UID: "u", Controller: &controls}
	theirs := withoutOwnerPolicy(t, "owned-by-others", owners(101))
	suites := withoutOwnerPolicy(t, "owned-by-a-suite", append(owners(100), ours))
	update := func(c client.Client, o *unstructured.Unstructured, to []metav1.OwnerReference, label string) error {
		o = o.DeepCopy()
		o.SetOwnerReferences(to)
		o.SetLabels(map[string]string{"vnfbench.io/suite": label})
		return c.Update(context.Background(), o, client.DryRunAll)
	}
	for name, test := range map[string]struct {
		run     *unstructured.Unstructured
		to      []metav1.OwnerReference
		label   string
		message string
	}{
		"all are kept":           {theirs, owners(101), "nightly", ""},
		"fewer are left":         {theirs, owners(100), "nightly", ""},
		"a forged one":           {theirs, append(owners(100), ours), "nightly", "more than 100 owners"},
		"a forged one of 100":    {theirs, append(owners(99), ours), "nightly", "more than 100 owners"},
		"the suite's are kept":   {suites, append(owners(100), ours), "nightly", ""},
		"the suite's is removed": {suites, owners(101), "nightly", "more than 100 owners"},
		"the suite's alone":      {suites, []metav1.OwnerReference{ours}, "nightly", "more than 100 owners"},
		"no owner":               {suites, nil, "nightly", "more than 100 owners"},
		"the label":              {suites, append(owners(100), ours), "other", "metadata.labels[vnfbench.io/suite]"},
	} {
		err := update(editor, test.run, test.to, test.label)
		if (err == nil) != (test.message == "") || err != nil && !(apierrors.IsForbidden(err) && strings.Contains(err.Error(), test.message)) {
			t.Errorf("%s: %v, want %q", name, err, test.message)
		}
		if err := update(operator, test.run, test.to, test.label); err != nil {
			t.Errorf("%s, as the operator: %v", name, err)
		}
	}
}

// withoutOwnerPolicy stores a run of a suite with owners while the policy does not apply.
func withoutOwnerPolicy(t *testing.T, name string, refs []metav1.OwnerReference) *unstructured.Unstructured {
	t.Helper()
	all, err := policies()
	if err != nil {
		t.Fatal(err)
	}
	binding := all[slices.IndexFunc(all, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "ValidatingAdmissionPolicyBinding" && o.GetName() == "vnfbench-benchmarksuite-owner"
	})]
	ctx := context.Background()
	tooMany := object(t, goodRun, nil)
	tooMany.SetOwnerReferences(owners(101))
	until := func(refused bool) {
		t.Helper()
		if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			return (create(tooMany) != nil) == refused, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Delete(ctx, binding.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Create(ctx, binding); err != nil {
			t.Fatal(err)
		}
		until(true)
	}()
	until(false)
	o := object(t, goodRun, map[string]string{"metadata.name": name, "metadata.labels": `{vnfbench.io/suite: nightly}`})
	o.SetOwnerReferences(refs)
	if err := server.Create(ctx, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Delete(ctx, o); err != nil {
			t.Error(err)
		}
	})
	return o
}

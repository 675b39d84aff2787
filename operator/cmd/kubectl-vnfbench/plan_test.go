package main

import (
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestPlanOffline plans runs of files without a cluster.
func TestPlanOffline(t *testing.T) {
	for name, test := range map[string]struct {
		input string
		args  []string
		code  int
		want  []string
	}{
		"table":        {labTestbed + "---" + manifest, nil, exitSucceeded, []string{"BenchmarkRun default/router on Testbed lab: about", "assumed", "198.18.0.2/24", "(the operator's) measurer", "bridge "}},
		"JSON":         {labTestbed + "---" + manifest, []string{"-o", "json"}, exitSucceeded, []string{`"kind": "RunPlans"`, `"estimatedSeconds": `, `"role": "Generator"`}},
		"no Testbed":   {manifest, nil, exitFailed, []string{"has no Testbed of it"}},
		"wrong":        {labTestbed + "---" + manifest + "    flows: 1\n", nil, exitFailed, []string{"the manifest is wrong", "spec.experiment.flows"}},
		"not offered":  {labTestbed + "---" + strings.Replace(manifest, "function: Router", "function: Router, runtime: VirtualMachine", 1), nil, exitFailed, []string{v1alpha1.ReasonAttachmentNotOffered}},
		"no run":       {labTestbed, nil, exitError, []string{"has no BenchmarkRun"}},
		"not a format": {labTestbed, []string{"-o", "yaml"}, exitError, []string{"unknown format"}},
	} {
		code, out, errOut := commandOver(t, nil, test.input, append([]string{"plan", "-", "--offline"}, test.args...)...)
		if code != test.code {
			t.Errorf("%s: exit code %d, want %d:\n%s%s", name, code, test.code, out, errOut)
		}
		for _, want := range test.want {
			if !strings.Contains(out+errOut, want) {
				t.Errorf("%s: %q is absent:\n%s%s", name, want, out, errOut)
			}
		}
	}
	if code, _, errOut := commandOver(t, nil, "", "plan", "router", "--offline"); code != exitError || !strings.Contains(errOut, "is the name of a run") {
		t.Errorf("a run offline: exit code %d: %s", code, errOut)
	}
}

package scripts

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

const (
	upMachine     = "lab up --hardware"
	upVirtual     = "lab up --hardware --kubevirt"
	listTests     = "go test -list "
	labTests      = "go test -count=1 -timeout 20m -run Hardware -v ./e2e"
	hardwareTests = "go test -count=1 -timeout 120m -run Hardware "
)

// TestHardware checks what make e2e-hardware runs where something is missing, how it ends, and what its last line says.
func TestHardware(t *testing.T) {
	all := answer{Out: "TestHardwareRouter\nTestHardwareVirtualMachine\nTestHardwareTRex\nTestHardwareCustomContainer\nok  \tvnfbench.io/test/e2e\n"}
	tests := map[string]struct {
		given answers
		code  int
		want  string // at the beginning of the last line
		calls []string
		never []string
	}{
		"everything but TRex": {
			want: "e2e-hardware: NOT RUN: TestHardwareTRex: set TREX_TARBALL",
			calls: []string{listTests, "prerequisites.sh debian testpmd guest", upVirtual, labTests, "make --no-print-directory install KUBEVIRT=1",
				hardwareTests + "-skip ^TestHardwareTRex$ -v ./..."},
			never: []string{"make --no-print-directory trex-image"},
		},
		"no KubeVirt": {
			given: answers{upVirtual: {Code: 3}},
			want:  "e2e-hardware: NOT RUN: TestHardwareVirtualMachine: there can be no KubeVirt",
			calls: []string{upVirtual, upMachine, labTests, "make --no-print-directory install KUBEVIRT=",
				hardwareTests + "-skip ^TestHardwareTRex$|^TestHardwareVirtualMachine$ -v ./..."},
			never: []string{"make --no-print-directory install KUBEVIRT=1"},
		},
		"no KubeVirt, and a test that fails": {
			given: answers{upVirtual: {Code: 3}, hardwareTests: {Code: 1}},
			code:  1, want: "e2e-hardware: NOT RUN: TestHardwareVirtualMachine: ",
		},
		"no KubeVirt for the only test": {
			given: answers{listTests: {Out: "TestHardwareVirtualMachine\n"}, upVirtual: {Code: 3}},
			code:  3, want: "e2e-hardware: NOT RUN: TestHardwareVirtualMachine: ", never: []string{"make ", labTests},
		},
		"no TRex for the only test": {
			given: answers{listTests: {Out: "TestHardwareTRex\n"}},
			code:  3, want: "e2e-hardware: NOT RUN: TestHardwareTRex: ", never: []string{"make ", "lab "},
		},
		"no test of virtual machines": {
			given: answers{listTests: {Out: "TestHardwareRouter\n"}},
			calls: []string{"prerequisites.sh debian", upMachine, "make --no-print-directory install KUBEVIRT=", hardwareTests + "-v ./..."},
			never: []string{upVirtual, "prerequisites.sh debian guest"},
		},
		"no emulated machine": {
			given: answers{upMachine: {Code: 3}, upVirtual: {Code: 3}},
			code:  3, want: "e2e-hardware: NOT RUN: there can be no emulated machine", never: []string{"make "},
		},
		"a lab that fails": {given: answers{upVirtual: {Code: 1}}, code: 1, never: []string{"make ", labTests}},
		"a package that is missing": {
			given: answers{"prerequisites.sh debian": {Code: 1}},
			code:  3, want: "e2e-hardware: NOT RUN: this machine lacks", never: []string{"lab "},
		},
		"a pattern that no test has": {
			given: answers{listTests: {Out: "ok  \tvnfbench.io/test/e2e\n"}},
			code:  1, want: "e2e-hardware: test/e2e has no test 'Hardware': correct HARDWARE_TESTS", never: []string{"lab "},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := with(answers{listTests: all, "lab kubeconfig": {Out: "/dev/null"}}, test.given)
			output, calls, err := run(t, "e2e-extended.sh hardware", given, "LAB=lab", "BIN=bin", "MAKE=make", "TESTS=Hardware")
			code := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != test.code {
				t.Errorf("it ended with code %d, want %d:\n%s", code, test.code, output)
			}
			printed := strings.Split(strings.TrimSpace(output), "\n")
			if last := printed[len(printed)-1]; !strings.HasPrefix(last, test.want) {
				t.Errorf("the last line is %q, want %q", last, test.want)
			}
			checkCalls(t, calls, test.calls, test.never)
		})
	}
}

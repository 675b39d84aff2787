package cgroup_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/cgroup"
)

// Variables of the process that enters the node's groups for a test.
const (
	enterGroup = "ENTER_GROUP"
	enterCPUs  = "ENTER_CPUS"
)

func TestMain(m *testing.M) {
	group := os.Getenv(enterGroup)
	if group == "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	count, err := enterAndCount(group, os.Getenv(enterCPUs))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(count)
}

// enterAndCount enters a group and returns how many CPUs the thread may use in it.
func enterAndCount(group, cpus string) (int, error) {
	plan, err := cgroup.PlanSelf(group)
	if err != nil {
		return 0, err
	}
	if err := cgroup.Create(plan); err != nil {
		return 0, err
	}
	if err := cgroup.Enter(plan, cpus); err != nil {
		return 0, err
	}
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return 0, err
	}
	return allowed.Count(), nil
}

// TestEnter needs root, as the lab does. On a machine with one CPU both cases are the same.
func TestEnter(t *testing.T) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	first := -1
	for cpu := 0; first < 0; cpu++ {
		if all.IsSet(cpu) {
			first = cpu
		}
	}
	for cpus, want := range map[string]int{"": all.Count(), fmt.Sprint(first): 1} {
		t.Run("CPUs "+cpus, func(t *testing.T) {
			group := fmt.Sprintf("vnfbench-test-%d-%d", os.Getpid(), want)
			t.Cleanup(func() {
				if err := cgroup.Remove(context.Background(), group); err != nil {
					t.Error(err)
				}
			})
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), enterGroup+"="+group, enterCPUs+"="+cpus)
			out, err := child.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != fmt.Sprint(want) {
				t.Errorf("the process may use %q CPUs (error %v), want %d", got, err, want)
			}
		})
	}
}

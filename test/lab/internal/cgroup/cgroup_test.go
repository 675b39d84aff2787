package cgroup_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/test/lab/internal/cgroup"
)

func TestPlan(t *testing.T) {
	const mountTail = " rw,relatime - "
	tests := map[string]struct {
		memberships, mountinfo string
		want                   []cgroup.Hierarchy
	}{
		"version 1, one controller each, own group below the root": {
			memberships: "5:name=systemd:/\n4:memory:/user/7\n1:cpu:/\n0::/\n",
			mountinfo: "27 1 254:0 / / rw - ext4 /dev/vda rw\n" +
				"32 31 0:29 / /sys/fs/cgroup/cpu" + mountTail + "cgroup cgroup rw,cpu\n" +
				"35 31 0:32 / /sys/fs/cgroup/memory" + mountTail + "cgroup cgroup rw,memory\n" +
				"40 31 0:37 / /sys/fs/cgroup/systemd" + mountTail + "cgroup cgroup rw,name=systemd\n" +
				"41 31 0:38 / /sys/fs/cgroup/unified" + mountTail + "cgroup2 cgroup2 rw\n",
			want: []cgroup.Hierarchy{
				{Name: "cpu", Options: "cpu", Dir: "/sys/fs/cgroup/cpu/lab"},
				{Name: "memory", Options: "memory", Dir: "/sys/fs/cgroup/memory/user/7/lab"},
				{Name: "systemd", Options: "none,name=systemd", Dir: "/sys/fs/cgroup/systemd/lab"},
			},
		},
		"version 1, joint controllers and optional fields": {
			memberships: "2:cpu,cpuacct:/user.slice\n",
			mountinfo:   "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n",
			want: []cgroup.Hierarchy{
				{Name: "cpu,cpuacct", Options: "cpu,cpuacct", Dir: "/sys/fs/cgroup/cpu,cpuacct/user.slice/lab"},
			},
		},
		"version 1 in a container that sees only its own groups": {
			memberships: "2:cpu:/docker/0123/inner\n",
			mountinfo:   "30 25 0:26 /docker/0123 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
			want:        []cgroup.Hierarchy{{Name: "cpu", Options: "cpu", Dir: "/sys/fs/cgroup/cpu/inner/lab"}},
		},
		"version 2: below the root, whatever the own group": {
			memberships: "0::/user.slice/user-0.slice/terminal.scope\n",
			mountinfo:   "30 25 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
			want:        []cgroup.Hierarchy{{Name: "unified", Dir: "/sys/fs/cgroup/lab"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := cgroup.Plan(strings.NewReader(test.memberships), strings.NewReader(test.mountinfo), "lab")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("unexpected plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanFails(t *testing.T) {
	tests := map[string]struct{ memberships, mountinfo string }{
		"nothing is mounted":     {"1:cpu:/\n", "27 1 254:0 / / rw - ext4 /dev/vda rw\n"},
		"a strange membership":   {"cpu\n", ""},
		"a strange mount":        {"1:cpu:/\n", "27 1\n"},
		"another hierarchy only": {"1:cpu:/\n", "30 25 0:26 / /sys/fs/cgroup/x rw - cgroup cgroup rw,memory\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := cgroup.Plan(strings.NewReader(test.memberships), strings.NewReader(test.mountinfo), "lab")
			if err == nil {
				t.Errorf("got the plan %v and no error", got)
			}
		})
	}
}

package cpu

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"vnfbench.io/operator/internal/vnf"
)

// hierarchy is one mounted control group file system, and where in it this
// process is.
type hierarchy struct {
	mountPoint, mountRoot string
	group                 string
}

// readContainer reads the process's control group: version 1's cpuacct where
// there is one, else version 2.
func readContainer(root fs.FS) (vnf.ContainerTime, error) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return vnf.ContainerTime{}, fmt.Errorf("reading the control group: %w", err)
	}
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return vnf.ContainerTime{}, fmt.Errorf("reading the control group: %w", err)
	}
	v1, v2 := parseGroups(string(groups))
	if v1 != "" {
		for _, h := range findHierarchies(string(mounts), "cgroup", "cpuacct", v1) {
			if container, err := readV1(root, h.directory()); err == nil {
				return container, nil
			}
		}
	}
	if v2 != "" {
		for _, h := range findHierarchies(string(mounts), "cgroup2", "", v2) {
			if container, err := readV2(root, h.directory()); err == nil {
				return container, nil
			}
		}
	}
	return vnf.ContainerTime{}, errors.New("reading the control group: no mounted hierarchy counts this process's time")
}

// parseGroups finds in /proc/self/cgroup, "number:controllers:path" (cgroups(7)),
// the paths of cpuacct and of version 2; empty means none.
func parseGroups(text string) (v1, v2 string) {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[0] == "0" && parts[1] == "" {
			v2 = parts[2]
		}
		if slices.Contains(strings.Split(parts[1], ","), "cpuacct") {
			v1 = parts[2]
		}
	}
	return v1, v2
}

// findHierarchies finds in /proc/self/mountinfo (proc_pid_mountinfo(5)) the
// mounts of a type and, for version 1, of a controller.
func findHierarchies(text, kind, controller, group string) []hierarchy {
	var found []hierarchy
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		mount, super := strings.Fields(before), strings.Fields(after)
		if !ok || len(mount) < 5 || len(super) < 3 || super[0] != kind {
			continue
		}
		if controller != "" && !slices.Contains(strings.Split(super[2], ","), controller) {
			continue
		}
		found = append(found, hierarchy{mountRoot: mount[3], mountPoint: mount[4], group: group})
	}
	return found
}

// directory returns the group's place in the file tree. A container's mount
// usually begins at its own group. Where the two do not match, because the
// mount is from another control group namespace, the mount is the group.
func (h hierarchy) directory() string {
	relative := "/"
	if h.mountRoot == "/" {
		relative = h.group
	} else if rest, ok := strings.CutPrefix(h.group, h.mountRoot); ok && (rest == "" || rest[0] == '/') {
		relative = rest
	}
	return strings.TrimPrefix(path.Join(h.mountPoint, relative), "/")
}

func readV1(root fs.FS, directory string) (vnf.ContainerTime, error) {
	user, err := readCounter(root, path.Join(directory, "cpuacct.usage_user"))
	if err != nil {
		return vnf.ContainerTime{}, err
	}
	system, err := readCounter(root, path.Join(directory, "cpuacct.usage_sys"))
	if err != nil {
		return vnf.ContainerTime{}, err
	}
	return vnf.ContainerTime{UserNanoseconds: user, SystemNanoseconds: system}, nil
}

func readCounter(root fs.FS, file string) (uint64, error) {
	data, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
}

func readV2(root fs.FS, directory string) (vnf.ContainerTime, error) {
	data, err := fs.ReadFile(root, path.Join(directory, "cpu.stat"))
	if err != nil {
		return vnf.ContainerTime{}, err
	}
	values := map[string]uint64{}
	for line := range strings.Lines(string(data)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if value, err := strconv.ParseUint(text, 10, 64); err == nil {
			values[name] = value
		}
	}
	user, hasUser := values["user_usec"]
	system, hasSystem := values["system_usec"]
	if !hasUser || !hasSystem {
		return vnf.ContainerTime{}, fmt.Errorf("%s: user_usec or system_usec is missing", directory)
	}
	const nanosecondsPerMicrosecond = 1000
	return vnf.ContainerTime{
		UserNanoseconds:   user * nanosecondsPerMicrosecond,
		SystemNanoseconds: system * nanosecondsPerMicrosecond,
	}, nil
}

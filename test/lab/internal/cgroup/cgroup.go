// Package cgroup gives the lab's node a separate control group in every hierarchy. The kernel's
// description of the caller's groups goes in; directories to create, to join and to remove come
// out.
//
// On version 1 the node's groups are children of the caller's groups. On version 2 a group with
// processes cannot delegate controllers, so the node's group is a child of the hierarchy's root.
package cgroup

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Hierarchy is one mounted control group hierarchy and the node's group in it.
type Hierarchy struct {
	// Name is the last part of the mount point, such as "cpu" or "systemd".
	Name string `json:"name"`
	// Options are the mount options that choose a version 1 hierarchy, such
	// as "cpu,cpuacct" or "none,name=systemd"; empty means version 2.
	Options string `json:"options,omitempty"`
	// Dir is the node's group.
	Dir string `json:"dir"`
}

// Unified reports whether the hierarchy is version 2.
func (h Hierarchy) Unified() bool { return h.Options == "" }

// mount is the relevant part of one line of /proc/self/mountinfo.
type mount struct {
	root, point, kind string
	options           []string
}

// Plan finds the hierarchies and names the node's group in each. It reads the
// formats of /proc/self/cgroup and /proc/self/mountinfo.
func Plan(memberships, mountinfo io.Reader, group string) ([]Hierarchy, error) {
	paths, err := parseMemberships(memberships)
	if err != nil {
		return nil, fmt.Errorf("reading the caller's control groups: %w", err)
	}
	mounts, err := parseMounts(mountinfo)
	if err != nil {
		return nil, fmt.Errorf("reading the mounted control groups: %w", err)
	}
	plan := planLegacy(paths, mounts, group)
	if len(plan) == 0 {
		plan = planUnified(mounts, group)
	}
	if len(plan) == 0 {
		return nil, fmt.Errorf("no control group hierarchy is mounted")
	}
	return plan, nil
}

// planLegacy plans for version 1. A version 2 hierarchy that is mounted as well has no controller
// that the node needs.
func planLegacy(paths map[string]string, mounts []mount, group string) []Hierarchy {
	var plan []Hierarchy
	seen := map[string]bool{}
	for _, m := range mounts {
		if m.kind != "cgroup" || seen[m.point] {
			continue
		}
		controllers, own, found := match(m, paths)
		if !found {
			continue
		}
		seen[m.point] = true
		below := strings.TrimPrefix(own, strings.TrimSuffix(m.root, "/"))
		plan = append(plan, Hierarchy{
			Name:    filepath.Base(m.point),
			Options: mountOptions(controllers),
			Dir:     filepath.Join(m.point, below, group),
		})
	}
	return plan
}

func planUnified(mounts []mount, group string) []Hierarchy {
	for _, m := range mounts {
		if m.kind == "cgroup2" {
			return []Hierarchy{{Name: "unified", Dir: filepath.Join(m.point, group)}}
		}
	}
	return nil
}

// match finds the hierarchy of a mount among the memberships, whose keys are
// lists such as "cpu,cpuacct".
func match(m mount, paths map[string]string) (controllers, path string, found bool) {
	for controllers, path := range paths {
		if controllers == "" {
			continue
		}
		first, _, _ := strings.Cut(controllers, ",")
		for _, option := range m.options {
			if option == first {
				return controllers, path, true
			}
		}
	}
	return "", "", false
}

func mountOptions(controllers string) string {
	if strings.HasPrefix(controllers, "name=") {
		return "none," + controllers
	}
	return controllers
}

// parseMemberships reads lines such as "4:memory:/user/1".
func parseMemberships(r io.Reader) (map[string]string, error) {
	paths := map[string]string{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), ":", 3)
		if len(fields) != 3 {
			return nil, fmt.Errorf("unexpected line %q", lines.Text())
		}
		paths[fields[1]] = fields[2]
	}
	return paths, lines.Err()
}

// parseMounts reads the control group mounts from lines such as
// "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu".
func parseMounts(r io.Reader) ([]mount, error) {
	var mounts []mount
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		head, tail, found := strings.Cut(lines.Text(), " - ")
		left, right := strings.Fields(head), strings.Fields(tail)
		if !found || len(left) < 5 || len(right) < 3 {
			return nil, fmt.Errorf("unexpected line %q", lines.Text())
		}
		if right[0] != "cgroup" && right[0] != "cgroup2" {
			continue
		}
		mounts = append(mounts, mount{
			root: left[3], point: left[4], kind: right[0],
			options: strings.Split(right[2], ","),
		})
	}
	return mounts, lines.Err()
}

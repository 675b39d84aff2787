// Package doctor checks whether this machine can run the lab. Checks go in; findings, each with its
// remedy, come out.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"vnfbench.io/test/lab/internal/kubevirt"
)

// Verdict is the result of a check.
type Verdict string

const (
	// OK means that nothing needs to be done.
	OK Verdict = "ok"
	// Warning means that the lab runs, but something may not work in it.
	Warning Verdict = "warning"
	// Missing means that the lab cannot run.
	Missing Verdict = "MISSING"
)

// Finding is what a check found.
type Finding struct {
	// Subject is what the check examined.
	Subject string
	Verdict Verdict
	// Detail is what was found.
	Detail string
	// Remedy is what to do about it; empty if there is nothing to do.
	Remedy string
}

// Machine says where the lab is to run.
type Machine struct {
	// Dir is the directory of the lab's cache and state; it may not exist.
	Dir string
	// KubeVirt says that the lab is to have virtual machines.
	KubeVirt bool
	// Hardware says that the lab is to have the emulated machine.
	Hardware bool
}

// check examines one thing.
type check func(ctx context.Context, m Machine) Finding

var checks = []check{
	checkRoot, checkDebian, checkGo, checkPackages, checkKernel, checkNamespaces,
	checkFilesystems, checkStateFilesystem, checkControlGroups, checkLinks,
	checkBridgeNetfilter, checkDisk, checkMemory, checkInotify,
}

// Examine makes all checks.
func Examine(ctx context.Context, m Machine) []Finding {
	findings := make([]Finding, 0, len(checks))
	for _, c := range checks {
		findings = append(findings, c(ctx, m))
	}
	if m.KubeVirt {
		findings = append(findings, checkGuests(kubevirt.Examine()))
	}
	if m.Hardware {
		findings = append(findings, checkEmulation(offered(m.Dir))...)
	}
	return findings
}

// ErrUnfit is the error of a machine that lacks something.
var ErrUnfit = errors.New("this machine cannot run the lab")

// Worst returns an error that names everything that is missing.
func Worst(findings []Finding) error {
	missing := ""
	for _, f := range findings {
		if f.Verdict == Missing {
			missing += fmt.Sprintf("\n  %s: %s; %s", f.Subject, f.Detail, f.Remedy)
		}
	}
	if missing != "" {
		return fmt.Errorf("%w:%s", ErrUnfit, missing)
	}
	return nil
}

// Print writes the findings as a table.
func Print(w io.Writer, findings []Finding) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.Verdict, f.Subject, f.Detail)
		if f.Remedy != "" {
			fmt.Fprintf(table, "\t\t-> %s\n", f.Remedy)
		}
	}
	return table.Flush()
}

func ok(subject, detail string) Finding {
	return Finding{Subject: subject, Verdict: OK, Detail: detail}
}

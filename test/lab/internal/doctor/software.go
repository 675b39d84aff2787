package doctor

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"vnfbench.io/test/lab/internal/command"
)

func checkRoot(context.Context, Machine) Finding {
	if os.Geteuid() == 0 {
		return ok("user", "root")
	}
	return Finding{"user", Missing, fmt.Sprintf("user id %d", os.Geteuid()), "run the command as root"}
}

func checkDebian(context.Context, Machine) Finding {
	const subject = "distribution"
	file, err := os.Open("/etc/os-release")
	if err != nil {
		return Finding{subject, Missing, err.Error(), "use a Debian machine"}
	}
	defer file.Close()
	release := parseRelease(file)
	name := release["PRETTY_NAME"]
	switch {
	case release["ID"] == "debian":
		return ok(subject, name)
	case strings.Contains(release["ID_LIKE"], "debian"):
		return Finding{subject, Warning, name, "tried on Debian only: apt must know a mirror that carries Debian"}
	}
	return Finding{subject, Missing, name, "use a Debian machine: the node's tree comes from its packages"}
}

// parseRelease reads the format of os-release(5).
func parseRelease(r io.Reader) map[string]string {
	values := map[string]string{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if name, value, found := strings.Cut(lines.Text(), "="); found {
			values[name] = strings.Trim(value, `"'`)
		}
	}
	return values
}

// minGo is the minor version of Go 1 that the lab's modules require.
const minGo = 26

func checkGo(ctx context.Context, _ Machine) Finding {
	const subject = "Go"
	remedy := fmt.Sprintf("install Go 1.%d or newer and put it in PATH", minGo)
	version, err := command.Command{Args: []string{"go", "env", "GOVERSION"}}.Output(ctx)
	if err != nil {
		return Finding{subject, Missing, "not found in PATH", remedy}
	}
	version = strings.TrimSpace(version)
	if goMinor(version) < minGo {
		return Finding{subject, Missing, version, remedy}
	}
	return ok(subject, version)
}

// goMinor returns 26 for "go1.26.8", and 0 for what it cannot read.
func goMinor(version string) int {
	fields := strings.FieldsFunc(strings.TrimPrefix(version, "go1."), func(r rune) bool { return r < '0' || r > '9' })
	if !strings.HasPrefix(version, "go1.") || len(fields) == 0 {
		return 0
	}
	minor, _ := strconv.Atoi(fields[0])
	return minor
}

// requirement is a program in the path, or a file, and the Debian package that contains it.
type requirement struct{ what, pkg string }

// requirements returns what the lab uses on this machine.
func (m Machine) requirements() []requirement {
	list := []requirement{{"debootstrap", "debootstrap"}}
	if m.KubeVirt { // parts of it are C
		list = append(list, requirement{"gcc", "gcc"}, requirement{"/usr/include/stdio.h", "libc6-dev"},
			requirement{"/usr/include/linux/kvm.h", "linux-libc-dev"})
	}
	if m.Hardware {
		list = append(list, requirement{"mke2fs", "e2fsprogs"})
	}
	return list
}

func checkPackages(_ context.Context, m Machine) Finding {
	const subject = "Debian packages"
	missing := m.missingPackages()
	if len(missing) == 0 {
		return ok(subject, "all there")
	}
	list := strings.Join(missing, " ")
	return Finding{subject, Missing, "not installed: " + list, "lab up installs them; or: apt-get install " + list}
}

func (m Machine) missingPackages() []string {
	var missing []string
	for _, r := range m.requirements() {
		_, err := exec.LookPath(r.what)
		if strings.HasPrefix(r.what, "/") {
			_, err = os.Stat(r.what)
		}
		if err != nil {
			missing = append(missing, r.pkg)
		}
	}
	return missing
}

// Install installs the Debian packages that are missing.
func (m Machine) Install(ctx context.Context) error {
	missing := m.missingPackages()
	if len(missing) == 0 {
		return nil
	}
	env := append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	// A mirror may fail once, and a new machine may be installing packages by itself.
	patient := slices.Clip([]string{"apt-get", "-o", "Acquire::Retries=3", "-o", "DPkg::Lock::Timeout=600"})
	install := command.Command{
		Args: append(append(patient, "install", "--yes", "--no-install-recommends"), missing...),
		Env:  env,
	}
	if err := install.Run(ctx); err == nil {
		return nil
	}
	// The lists may be absent or old. A failure of some source is not a reason to give up: the
	// installation shows whether it matters.
	_ = command.Command{Args: append(patient, "update"), Env: env}.Run(ctx)
	if err := install.Run(ctx); err != nil {
		return fmt.Errorf("%w: installing Debian packages: %w", ErrUnfit, err)
	}
	return nil
}

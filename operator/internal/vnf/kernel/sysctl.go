//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/vnf"
)

const procSys = "/proc/sys"

// applySysctls writes only wrong parameters: in a pod the tuning CNI plugin has
// already set all of them, and nothing can be written.
func (f *Function) applySysctls(port vnf.Port, link netlink.Link, sysctls []vnf.Sysctl) error {
	iface := link.Attrs().Name
	for _, sysctl := range sysctls {
		value, err := readSysctl(sysctl, iface)
		if err != nil {
			return err
		}
		if value == sysctl.Value {
			continue
		}
		f.log.Info("setting sysctl", "port", port.Name, "sysctl", sysctl.Name(iface), "value", sysctl.Value, "was", value)
		path := filepath.Join(procSys, sysctl.Path(iface))
		if err := os.WriteFile(path, []byte(sysctl.Value), 0o644); err != nil {
			return sysctlError(sysctl, iface, value, fmt.Sprintf("and cannot be written here (%s)", reason(err)))
		}
	}
	return nil
}

// checkSysctls joins an error for each parameter that is wrong.
func checkSysctls(iface string, sysctls []vnf.Sysctl) error {
	var problems []error
	for _, sysctl := range sysctls {
		value, err := readSysctl(sysctl, iface)
		if err == nil && value != sysctl.Value {
			err = sysctlError(sysctl, iface, value, "")
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

func readSysctl(sysctl vnf.Sysctl, iface string) (string, error) {
	data, err := os.ReadFile(filepath.Join(procSys, sysctl.Path(iface)))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no sysctl %s: the kernel lacks or disables its protocol", sysctl.Name(iface))
	}
	if err != nil {
		return "", fmt.Errorf("reading sysctl %s: %w", sysctl.Name(iface), err)
	}
	return strings.TrimSpace(string(data)), nil
}

func sysctlError(sysctl vnf.Sysctl, iface, value, obstacle string) error {
	parts := []string{fmt.Sprintf("sysctl %s is %q, must be %q", sysctl.Name(iface), value, sysctl.Value)}
	if obstacle != "" {
		parts = append(parts, obstacle)
	}
	return fmt.Errorf("%s: let the tuning CNI plugin set %q to %q in the port's NetworkAttachmentDefinition",
		strings.Join(parts, " "), sysctl.Key, sysctl.Value)
}

func reason(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}

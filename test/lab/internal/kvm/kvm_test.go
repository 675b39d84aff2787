package kvm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTry(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	intel := file("intel", "flags\t\t: fpu vme vmx sse\n")
	amd := file("amd", "flags\t\t: fpu vme svm sse\n")
	guest := file("guest", "flags\t\t: fpu hypervisor vmxish\n")
	device := file("kvm", "")
	for name, test := range map[string]struct {
		cpuInfo, device, complaint string
	}{
		"Intel":                        {intel, device, ""},
		"AMD":                          {amd, device, ""},
		"KVM without the processor":    {guest, device, "neither vmx nor svm"},
		"processor without the device": {intel, filepath.Join(dir, "none"), "opening KVM"},
		"unknown processor":            {filepath.Join(dir, "none"), device, "flags"},
	} {
		t.Run(name, func(t *testing.T) {
			err := try(test.cpuInfo, test.device)
			if (err != nil) != (test.complaint != "") || err != nil && !strings.Contains(err.Error(), test.complaint) {
				t.Errorf("got the error %v, want %q", err, test.complaint)
			}
		})
	}
}

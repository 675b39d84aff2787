package docs

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDriversOfStorage checks that the drivers of object storage, which are large and take credentials, are in the results service alone.
func TestDriversOfStorage(t *testing.T) {
	command := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./cmd/...")
	command.Dir = filepath.Join(top, "operator")
	text, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(text)) {
		paths := strings.Fields(line)
		for _, path := range paths[1:] {
			for _, driver := range []string{"gocloud.dev/", "github.com/aws/", "github.com/Azure/azure-sdk-for-go/", "cloud.google.com/go/storage"} {
				if !strings.HasPrefix(path, driver) {
					continue
				}
				if seen++; paths[0] != module+"cmd/results" {
					t.Errorf("%s imports %s", paths[0], path)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d packages of drivers were found", seen)
	}
}

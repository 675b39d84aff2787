// Command lab runs a Kubernetes cluster of one node or two in separate namespaces, made from Go modules and
// Debian packages alone. See README.md.
package main

import (
	"os"

	"vnfbench.io/test/lab/internal/cli"
)

func main() {
	os.Exit(cli.Main())
}

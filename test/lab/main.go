// Command lab runs a one-node Kubernetes cluster in separate namespaces, made from Go modules and
// Debian packages alone. See README.md.
package main

import (
	"os"

	"vnfbench.io/test/lab/internal/cli"
)

func main() {
	os.Exit(cli.Main())
}

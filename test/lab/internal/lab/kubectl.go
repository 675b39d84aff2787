package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"vnfbench.io/test/lab/internal/command"
)

// kubectl runs the lab's own kubectl on this machine.
type kubectl struct{ program, kubeconfig string }

func (l Lab) kubectl(r record) kubectl {
	return kubectl{filepath.Join(r.KubeDir, "kubectl"), l.KubeconfigPath()}
}

func (k kubectl) command(args ...string) command.Command {
	return command.Command{Args: append([]string{k.program, "--kubeconfig", k.kubeconfig}, args...)}
}

// apply applies manifests and owns their fields.
func (k kubectl) apply(ctx context.Context, manifests ...string) error {
	cmd := k.command("apply", "--server-side", "--force-conflicts", "--field-manager=vnfbench-lab", "-f", "-")
	cmd.Stdin = strings.NewReader(strings.Join(manifests, "\n---\n"))
	return cmd.Run(ctx)
}

// get reads objects as JSON.
func (k kubectl) get(ctx context.Context, into any, args ...string) error {
	out, err := k.command(append([]string{"get", "--output=json"}, args...)...).Output(ctx)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		return fmt.Errorf("reading kubectl's output: %w", err)
	}
	return nil
}

// waitTimeout is longer than any step in a healthy lab takes.
const waitTimeout = 6 * time.Minute

// poll repeats ask until there is no error.
func poll(ctx context.Context, interval time.Duration, ask func(context.Context) error) error {
	return pollFor(ctx, waitTimeout, interval, ask)
}

// pollFor polls with a separate timeout. It does not continue for a node that has ended, or a machine that does not start.
func pollFor(ctx context.Context, timeout, interval time.Duration, ask func(context.Context) error) error {
	deadline := time.Now().Add(timeout)
	for {
		err := ask(ctx)
		if err == nil || errors.Is(err, ErrNotUp) || errors.Is(err, errCannotBoot) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("gave up after %s: %w", timeout, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(interval):
		}
	}
}
